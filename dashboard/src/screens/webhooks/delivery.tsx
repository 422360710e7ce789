import { Alert, Button, Code, Drawer, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { guiche, request, withQuery } from '../../api.ts'
import { CopyAction, Copyable } from '../../components/copy.tsx'
import { ErrorBoundary } from '../../components/error-boundary.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useMay } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import type { AttemptErrorCode } from '../../types.ts'
import { DeliveryState } from './state.tsx'
import { AnswerBody } from './test-answer.tsx'
import { words, writeAttemptError } from './text.ts'

/** One delivery: its attempts, its payload, and a button to resend it. */
export function DeliveryDrawer({
  client,
  eventId,
  endpointId,
  onClose,
}: {
  client: string
  /** Empty if no delivery is open. */
  eventId: string
  /** Null: the delivery to the record's own URL, or the first one if there is none. */
  endpointId: string | null
  onClose: () => void
}) {
  const t = useText(words)
  return (
    <Drawer
      opened={eventId !== ''}
      onClose={onClose}
      title={t.delivery}
      position="right"
      size="lg"
      closeButtonProps={{ 'aria-label': t.close }}
    >
      <ErrorBoundary resetKey={`${eventId} ${endpointId}`}>
        {eventId !== '' && <Delivery client={client} eventId={eventId} endpointId={endpointId} />}
      </ErrorBoundary>
    </Drawer>
  )
}

function Delivery({ client, eventId, endpointId }: { client: string; eventId: string; endpointId: string | null }) {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const toLink = useClientLink()
  const queries = useQueryClient()
  const delivery = useQuery({
    queryKey: ['delivery', client, eventId, endpointId],
    queryFn: async () => {
      const { data } = await guiche.deliveries.list({ eventId }).page()
      const found = data.find((one) => one.endpointId === endpointId) ?? (endpointId === null ? data[0] : undefined)
      return found ? { ...found, isOnly: data.length === 1 } : null
    },
    refetchInterval: useRefreshEvery(2_000),
  })
  const resend = useMutation({
    mutationFn: async () => await guiche.deliveries.resend(eventId, { endpointId: endpointId ?? undefined }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['delivery', client, eventId] })
    },
  })
  if (delivery.isLoadingError) return <ErrorNotice error={delivery.error} onRetry={() => void delivery.refetch()} />
  if (delivery.isPending) return <Skeleton height={240} />
  if (delivery.data === null) return <Text size="sm">{t.unknownDelivery}</Text>
  const { type, recordId, url, state, nextAttemptAt, isOnly } = delivery.data
  const recordType = type.startsWith('withdrawal.') ? 'withdrawal' : 'transaction'
  return (
    <Stack>
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Text fw={600}>{type}</Text>
          <Copyable value={eventId} label="webhook-id" />
        </div>
        <DeliveryState of={state} />
      </Group>
      <Text size="sm" className="identifier">
        {url}
      </Text>
      <Text size="xs" c="dimmed">
        {delivery.data.endpointId === null ? t.ownUrl : t.toEndpoint}
      </Text>
      {state === 'pending' && nextAttemptAt !== null && <Text size="sm">{t.next(format.fromNow(nextAttemptAt))}</Text>}
      {state === 'waiting' && <Text size="sm">{t.behind}</Text>}
      <Group>
        {may('webhook.write') && (
          <Button onClick={() => resend.mutate()} loading={resend.isPending}>
            {endpointId === null && !isOnly ? t.resendAll : t.resend}
          </Button>
        )}
        {may(`${recordType}.read`) && (
          <Button variant="default" component={Link} href={toLink(`/${recordType}s/${recordId}`)}>
            {t.openRecord}
          </Button>
        )}
      </Group>
      {resend.isSuccess && (
        <Alert color="teal" role="status">
          {t.resent}
        </Alert>
      )}
      {resend.isError && <ErrorNotice error={resend.error} />}
      <Attempts attempts={delivery.data.attempts} />
      {may(`${recordType}.read`) && <Payload client={client} eventId={eventId} />}
    </Stack>
  )
}

type Attempt = {
  number: number
  startedAt: string
  durationInMilliseconds: number
  status: number | null
  error: string | null
  errorCode: AttemptErrorCode | null
  response: string | null
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  const t = useText(words)
  const { language } = useLanguage()
  const format = useFormat()
  return (
    <section aria-label={t.attempts}>
      <Text fw={600} size="sm">
        {t.attempts}
      </Text>
      {attempts.length === 0 && (
        <Text size="sm" c="dimmed">
          {t.noAttempts}
        </Text>
      )}
      {attempts
        .toReversed()
        .map(({ number, startedAt, durationInMilliseconds, status, error, errorCode, response }) => (
          <div key={number} className="row">
            <Group py={8} justify="space-between" wrap="nowrap" align="flex-start">
              <div>
                <Text size="sm">{t.attempt(format.number(number))}</Text>
                <Text size="xs" c="dimmed">
                  {format.dateTime(startedAt)} · {format.duration(durationInMilliseconds)}
                </Text>
              </div>
              <Text size="sm" ta="right">
                {error === null
                  ? `HTTP ${status ?? t.noAnswer}`
                  : writeAttemptError({ error, errorCode, status }, language)}
              </Text>
            </Group>
            {response !== null && <AnswerBody of={response} />}
          </div>
        ))}
    </section>
  )
}

/** The payload, indented. A resend sends the original bytes again. */
function Payload({ client, eventId }: { client: string; eventId: string }) {
  const t = useText(words)
  const payload = useQuery({
    queryKey: ['payload', client, eventId],
    queryFn: async () => {
      const path = withQuery(`/webhook/delivery/${encodeURIComponent(eventId)}/payload`, { clientId: client })
      return (await request<{ payload: object | null }>('GET', path)).payload
    },
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (payload.isLoadingError) return <ErrorNotice error={payload.error} />
  if (!payload.data) return <Skeleton height={160} />
  const text = JSON.stringify(payload.data, null, 2)
  return (
    <section aria-label={t.payload}>
      <Group justify="space-between" mb={4}>
        <Text fw={600} size="sm">
          {t.payload}
        </Text>
        <CopyAction value={text} label={t.payload} />
      </Group>
      <Code block tabIndex={0} color="light-dark(#f3f6f5, #111615)" style={{ maxHeight: '60vh', overflow: 'auto' }}>
        {text}
      </Code>
    </section>
  )
}
