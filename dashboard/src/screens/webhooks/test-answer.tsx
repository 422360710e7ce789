import type { WebhookTest } from '@guiche/sdk'
import { Alert, Code, Text } from '@mantine/core'
import { useFormat } from '../../format.ts'
import { useLanguage, useText } from '../../text.ts'
import { endpointWords } from './endpoint-text.ts'
import { writeAttemptError } from './text.ts'

/** What a receiver answered to a test. */
export function TestAnswer({ of: answer }: { of: WebhookTest }) {
  const t = useText(endpointWords)
  const { language } = useLanguage()
  const format = useFormat()
  const { delivered, status, errorCode, response } = answer
  const time = format.duration(answer.durationInMilliseconds)
  return (
    <>
      <Alert color={delivered ? 'teal' : 'red'} role="status">
        {delivered
          ? t.testArrived(String(status), time)
          : t.testFailed(writeAttemptError({ error: answer.error ?? '', errorCode, status }, language), time)}
      </Alert>
      <AnswerBody of={response} />
    </>
  )
}

/** The beginning of a receiver's answer. */
export function AnswerBody({ of: body }: { of: string | null }) {
  const t = useText(endpointWords)
  if (body === null)
    return (
      <Text size="xs" c="dimmed">
        {t.noBody}
      </Text>
    )
  return (
    <Code block tabIndex={0} aria-label={t.body} style={{ maxHeight: 200, overflow: 'auto', whiteSpace: 'pre-wrap' }}>
      {body}
    </Code>
  )
}
