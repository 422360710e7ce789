import { Skeleton, Stack, Text, UnstyledButton } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { useClient } from '../session.tsx'
import { texts, useText } from '../text.ts'
import { Empty } from './empty.tsx'
import { ErrorNotice } from './error-notice.tsx'
import { useMerchants } from './merchant-switch.tsx'
import { Page } from './page.tsx'

const words = texts({
  en: {
    title: 'Choose a merchant',
    hint: 'This screen shows one merchant. Choose one here or above, or press “/” to find any record by its id.',
  },
  pt: {
    title: 'Escolha um lojista',
    hint: 'Esta tela mostra um lojista. Escolha um aqui ou acima, ou tecle “/” para buscar qualquer registro pelo id.',
  },
})

const shownMax = 12

/** Shows a screen for one merchant, or the list of merchants while none is chosen. */
export function RequireMerchant({ title, children }: { title: string; children: (clientId: string) => ReactNode }) {
  const client = useClient()
  if (client !== null) return children(client)
  return (
    <Page title={title}>
      <ChooseMerchant selectsSoleMerchant />
    </Page>
  )
}

/**
 * Lists the merchants, so that the user can choose one for the current screen.
 *
 * @param selectsSoleMerchant chooses the merchant automatically if there is only one, because the screen needs one
 */
export function ChooseMerchant({ selectsSoleMerchant = false }: { selectsSoleMerchant?: boolean }) {
  const t = useText(words)
  const clients = useMerchants()
  const [location, navigate] = useLocation()
  const [, setQuery] = useSearchParams()
  const only = selectsSoleMerchant && clients.data?.length === 1 ? clients.data[0]?.clientId : undefined
  useEffect(() => {
    if (only === undefined) return
    setQuery(
      (query) => {
        query.set('client', only)
        return query
      },
      { replace: true },
    )
  }, [only, setQuery])
  if (clients.isLoadingError) return <ErrorNotice error={clients.error} onRetry={() => void clients.refetch()} />
  if (clients.isPending || only !== undefined) return <Skeleton height={240} />
  return (
    <div className="card">
      <Empty icon="search" title={t.title}>
        <Text size="sm" mb="md">
          {t.hint}
        </Text>
        <Stack gap={6}>
          {clients.data?.slice(0, shownMax).map(({ clientId, name }) => (
            <UnstyledButton
              key={clientId}
              className="card choice"
              onClick={() => navigate(`${location}?${new URLSearchParams({ client: clientId })}`)}
            >
              <Text size="sm" fw={600}>
                {name}
              </Text>
              <Text size="xs" c="dimmed" className="identifier">
                {clientId}
              </Text>
            </UnstyledButton>
          ))}
        </Stack>
      </Empty>
    </div>
  )
}
