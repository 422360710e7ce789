import { Anchor, Badge, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode, SyntheticEvent } from 'react'
import { Link } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useText } from '../../text.ts'
import type { ReceiverHealth } from '../../types.ts'
import { words } from './text.ts'

/** The health of each receiver: deliveries that arrived, that fail, and the oldest that waits. */
export function Receivers({ client }: { client: string }) {
  const t = useText(words)
  const receivers = useQuery({
    queryKey: ['receivers', client],
    queryFn: async () =>
      (await request<{ data: ReceiverHealth[] }>('GET', withQuery('/webhook/receiver', { clientId: client }))).data,
    refetchInterval: useRefreshEvery(5_000),
  })
  if (receivers.isError) return <ErrorNotice error={receivers.error} onRetry={() => void receivers.refetch()} />
  return (
    <Section
      title={t.receivers}
      aside={
        <Text size="xs" c="dimmed">
          {t.receiversLead}
        </Text>
      }
    >
      {receivers.data?.length === 0 && (
        <Text size="sm" c="dimmed">
          {t.noReceivers}
        </Text>
      )}
      <Stack gap={0}>
        {receivers.data?.map((health) => (
          <Receiver key={health.receiver} health={health} />
        ))}
      </Stack>
    </Section>
  )
}

function Receiver({
  health: { receiver, delivered, givenUp, waiting, failing, oldestWaitingAt },
}: {
  health: ReceiverHealth
}) {
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
    <Group className="row" py={8} justify="space-between" gap="xs">
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
  )
}

const stop = (event: SyntheticEvent) => event.stopPropagation()

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
      // The row around it opens the delivery.
      onClick={stop}
      onKeyDown={stop}
    >
      {children}
    </Anchor>
  )
}
