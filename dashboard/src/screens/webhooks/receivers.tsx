import { Anchor, Badge, Group, Progress, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useLanguage, useText } from '../../text.ts'
import type { ReceiverHealth, Receivers as ReceiversAnswer } from '../../types.ts'
import { words, writeAttemptError } from './text.ts'

/** The health of each receiver: deliveries that arrived, that fail, and the oldest that waits. */
export function Receivers({ client }: { client: string }) {
  const t = useText(words)
  const receivers = useQuery({
    queryKey: ['receivers', client],
    queryFn: async () => await request<ReceiversAnswer>('GET', withQuery('/webhook/receiver', { clientId: client })),
    refetchInterval: useRefreshEvery(5_000),
  })
  const format = useFormat()
  const { data: all = [], newestMax = 0 } = receivers.data ?? {}
  const isCut = newestMax > 0 && all.reduce((sum, { deliveries }) => sum + deliveries, 0) >= newestMax
  if (receivers.isLoadingError) return <ErrorNotice error={receivers.error} onRetry={() => void receivers.refetch()} />
  return (
    <Section
      title={t.receivers}
      aside={
        <Text size="xs" c="dimmed">
          {isCut ? t.receiversNewest(format.number(newestMax)) : t.receiversLead}
        </Text>
      }
    >
      {receivers.data && all.length === 0 && (
        <Text size="sm" c="dimmed">
          {t.noReceivers}
        </Text>
      )}
      <Stack gap={0}>
        {all.map((health) => (
          <Receiver key={health.receiver} health={health} />
        ))}
      </Stack>
    </Section>
  )
}

function Receiver({ health }: { health: ReceiverHealth }) {
  const { receiver, delivered, givenUp, waiting, failing, oldestWaitingAt } = health
  const t = useText(words)
  const format = useFormat()
  const idle = givenUp > 0 ? t.nothingWaits : t.allArrived
  const counts = [
    { count: delivered, text: t.delivered, color: 'teal' },
    { count: waiting - failing, text: t.waiting, color: 'gray' },
    { count: failing, text: t.failing, color: 'orange' },
    { count: givenUp, text: t.givenUp, color: 'red' },
  ]
  return (
    <Stack className="row" py={8} gap={6}>
      <Group justify="space-between" gap="xs">
        <div>
          <ReceiverLink receiver={receiver}>{receiver}</ReceiverLink>
          <Text size="xs" c="dimmed">
            {oldestWaitingAt === null ? idle : t.oldest(format.dateTime(oldestWaitingAt))}
          </Text>
        </div>
        <Group gap={6}>
          {counts
            .filter(({ count }) => count > 0)
            .map(({ count, text, color }) => (
              <Badge key={color} variant="light" color={color} tt="none" radius="sm">
                {text(format.number(count))}
              </Badge>
            ))}
        </Group>
      </Group>
      {health.tried > 0 && <Success of={health} />}
      {health.lastError !== null && <LastError of={health} />}
    </Stack>
  )
}

/** The share of attempted deliveries that arrived, and how fast the receiver answers. */
function Success({ of: { deliveries, tried, delivered, givenUp, p95Ms } }: { of: ReceiverHealth }) {
  const t = useText(words)
  const format = useFormat()
  // Rounded down, so that 100 % is shown only when every delivery that was tried has arrived.
  const success = format.percent(Math.floor((1_000 * delivered) / tried) / 1_000)
  const share = (part: number) => (100 * part) / tried
  return (
    <div>
      <Progress.Root size="sm" aria-hidden>
        <Progress.Section value={share(delivered)} color="teal" withAria={false} />
        <Progress.Section value={share(tried - delivered - givenUp)} color="orange" withAria={false} />
        <Progress.Section value={share(givenUp)} color="red" withAria={false} />
      </Progress.Root>
      <Text size="xs" c="dimmed" mt={4}>
        {[
          t.deliveryCount(deliveries, format.number(deliveries)),
          t.success(success),
          ...(p95Ms === null ? [] : [t.p95(format.duration(p95Ms))]),
        ].join(' · ')}
      </Text>
    </div>
  )
}

/** Such as "HTTP 500 since 02:21, next attempt 03:40". */
function LastError({ of: { lastError, lastErrorCode, lastStatus, failedAt, nextAttemptAt } }: { of: ReceiverHealth }) {
  const t = useText(words)
  const { language } = useLanguage()
  const format = useFormat()
  const at = (time: string | null) => time && (format.isToday(time) ? format.time(time) : format.dateTime(time))
  const error =
    lastErrorCode === null && lastStatus !== null
      ? `HTTP ${lastStatus}`
      : writeAttemptError({ error: lastError ?? '', errorCode: lastErrorCode, status: lastStatus }, language)
  return (
    <Text size="xs" fw={600} style={{ overflowWrap: 'anywhere' }}>
      {nextAttemptAt === null
        ? t.lastError(error, at(failedAt))
        : t.failsSince(error, at(failedAt), at(nextAttemptAt) ?? '')}
    </Text>
  )
}

/** Shows only the deliveries to one receiver. */
export function ReceiverLink({ receiver, children }: { receiver: string; children: ReactNode }) {
  const toLink = useClientLink()
  return (
    <Anchor
      component={Link}
      href={toLink('/webhooks', { receiver })}
      size="sm"
      fw={600}
      c="inherit"
      className="identifier"
    >
      {children}
    </Anchor>
  )
}
