import { Alert, Button, Group, Text } from '@mantine/core'
import { codeOf, fieldErrorsOf, requestIdOf, sentenceOf } from '../api.ts'
import { type WrittenError, writeError } from '../error-texts.ts'
import { texts, useLanguage, useText } from '../text.ts'

const words = texts({
  en: { title: 'Something went wrong', retry: 'Try again', request: 'Request', psp: 'The PSP says:' },
  pt: { title: 'Algo deu errado', retry: 'Tentar de novo', request: 'Requisição', psp: 'Resposta do PSP:' },
})

function useWriter(): (error: unknown) => WrittenError {
  const { language } = useLanguage()
  return (error) =>
    writeError({ code: codeOf(error), fields: fieldErrorsOf(error), sentence: sentenceOf(error) }, language)
}

/** Writes the sentence for any thrown error, in the chosen language. */
export function useSentence(): (error: unknown) => string {
  const write = useWriter()
  return (error) => write(error).sentence
}

/** A retry cannot help with these. */
const finalCodes = ['not_found', 'permission_missing', 'validation_failed', 'bad_request']

/** What went wrong, what to do, and the request id with which the operator finds it in the log. */
export function ErrorNotice({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const t = useText(words)
  const code = codeOf(error)
  const { sentence, list } = useWriter()(error)
  const requestId = requestIdOf(error)
  return (
    <Alert color="red" title={t.title} role="alert">
      <Text size="sm">{sentence}</Text>
      {list.map(([name, text]) => (
        <Text key={`${name} ${text}`} size="sm">
          <span className="identifier">{name}</span>: {text}
        </Text>
      ))}
      {code === 'acquirer_refused' && (
        <Text size="xs" c="dimmed" mt={4}>
          {t.psp} {sentenceOf(error)}
        </Text>
      )}
      {requestId && (
        <Text size="xs" c="dimmed" mt={4}>
          {t.request} <span className="identifier">{requestId}</span>
        </Text>
      )}
      {onRetry && !finalCodes.includes(code) && (
        <Group mt="sm">
          <Button size="xs" variant="light" color="red" onClick={onRetry}>
            {t.retry}
          </Button>
        </Group>
      )}
    </Alert>
  )
}
