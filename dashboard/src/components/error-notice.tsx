import { Alert, Button, Group, Text } from '@mantine/core'
import { Refused, sentenceOf } from '../api.ts'
import { texts, useText } from '../text.ts'

const words = texts({
  en: { title: 'That did not work', retry: 'Try again', request: 'Request' },
  pt: { title: 'Não deu certo', retry: 'Tentar de novo', request: 'Requisição' },
})

/** What went wrong and what to do, and the number by which the operator finds it in the log. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useText(words)
  const requestId = error instanceof Refused ? error.requestId : null
  return (
    <Alert color="red" title={t.title} role="alert">
      <Text size="sm">{sentenceOf(error)}</Text>
      {requestId && (
        <Text size="xs" c="dimmed" mt={4}>
          {t.request} <span className="identifier">{requestId}</span>
        </Text>
      )}
      {onRetry && (
        <Group mt="sm">
          <Button size="xs" variant="light" color="red" onClick={onRetry}>
            {t.retry}
          </Button>
        </Group>
      )}
    </Alert>
  )
}
