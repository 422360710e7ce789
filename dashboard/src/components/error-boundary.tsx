import { Alert, Button, CopyButton, Group, Text } from '@mantine/core'
import { notifyManager, useMutation, useQueryClient } from '@tanstack/react-query'
import { Component, type ErrorInfo, type ReactNode } from 'react'
import { texts, useText } from '../text.ts'

const words = texts({
  en: {
    title: 'This part could not be shown',
    lead: 'The rest still works. Try again or reload the page; if the error persists, send the details to the operator.',
    again: 'Try again',
    reload: 'Reload the page',
    copy: 'Copy details',
    copied: 'Copied',
  },
  pt: {
    title: 'Não foi possível mostrar esta parte',
    lead: 'O resto continua funcionando. Tente de novo ou recarregue a página; se o erro continuar, envie os detalhes ao operador.',
    again: 'Tentar de novo',
    reload: 'Recarregar a página',
    copy: 'Copiar detalhes',
    copied: 'Copiado',
  },
})

/** React unmounts the whole page if a component throws. Inside this boundary only that part is lost. */
export class ErrorBoundary extends Component<
  {
    children: ReactNode
    /** When this value changes, the part is rendered again. */
    resetKey?: string
  },
  { error: Error | null; components: string }
> {
  override state = { error: null, components: '' }

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override componentDidCatch(_: unknown, { componentStack }: ErrorInfo) {
    this.setState({ components: componentStack ?? '' })
  }

  override componentDidUpdate({ resetKey }: { resetKey?: string }) {
    if (resetKey !== this.props.resetKey && this.state.error) this.reset()
  }

  reset = () => this.setState({ error: null, components: '' })

  override render() {
    const { error, components } = this.state
    if (error === null) return this.props.children
    return <Broken error={error} components={components} onRetry={this.reset} />
  }
}

function Broken({ error, components, onRetry }: { error: Error; components: string; onRetry: () => void }) {
  const t = useText(words)
  const queries = useQueryClient()
  // The cause may be a response that the part shows. If a component outside the part requested it, it is requested again
  // before the part is rendered. If the part itself did, it is forgotten, so that the part requests it again.
  const again = useMutation({
    mutationFn: async () => {
      queries.removeQueries({ predicate: (query) => query.getObserversCount() === 0 })
      await queries.refetchQueries({ type: 'active' })
    },
    // The components receive the new response in the next task. A retry before that would render the old one, and fail
    // again.
    onSettled: () => notifyManager.schedule(onRetry),
  })
  // The query is left out because it may contain personal data.
  const details = `${new Date().toISOString()} ${location.pathname}\n${error.stack ?? error.message}\n${components}`
  return (
    <Alert color="red" title={t.title} role="alert">
      <Text size="sm">{t.lead}</Text>
      <Group mt="sm" gap="xs">
        <Button size="xs" variant="light" color="red" loading={again.isPending} onClick={() => again.mutate()}>
          {t.again}
        </Button>
        <Button size="xs" variant="default" onClick={() => location.reload()}>
          {t.reload}
        </Button>
        <CopyButton value={details}>
          {({ copied, copy }) => (
            <Button size="xs" variant="default" onClick={copy}>
              {copied ? t.copied : t.copy}
            </Button>
          )}
        </CopyButton>
      </Group>
    </Alert>
  )
}
