import { Anchor, Badge, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useLanguage, useText } from '../../text.ts'
import type { AlertsView } from '../../types.ts'
import { words } from './text.ts'

/** The open alerts, and those that ended recently. */
export function Alerts() {
  const t = useText(words)
  const { language } = useLanguage()
  const alerts = useQuery({
    queryKey: ['alerts', language],
    queryFn: async () => (await request<AlertsView>('GET', withQuery('/alerts', { language }))).data,
    refetchInterval: 30_000,
  })
  if (alerts.isLoadingError) return <ErrorNotice error={alerts.error} onRetry={() => void alerts.refetch()} />
  return (
    <Section title={t.alerts}>
      {alerts.data === undefined && <Skeleton height={60} />}
      {alerts.data?.length === 0 && (
        <Text size="sm" c="dimmed">
          {t.noAlerts}
        </Text>
      )}
      <Stack gap={0}>
        {alerts.data?.map((alert) => (
          <OneAlert key={alert.id} alert={alert} />
        ))}
      </Stack>
    </Section>
  )
}

function OneAlert({
  alert: { severity, title, fact, advice, screen, beganAt, endedAt },
}: {
  alert: AlertsView['data'][number]
}) {
  const t = useText(words)
  const format = useFormat()
  const times = endedAt === null ? t.alertSince(format.dateTime(beganAt)) : t.alertEnded(format.fromNow(endedAt))
  return (
    <Group className="row" py={8} justify="space-between" wrap="nowrap" align="flex-start">
      <div style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
        <Anchor component={Link} href={screen} size="sm" fw={600} c="inherit">
          {title}
        </Anchor>
        {endedAt === null && <Text size="sm">{[fact, advice].filter(Boolean).join('. ')}</Text>}
        <Text size="xs" c="dimmed">
          {times}
        </Text>
      </div>
      {endedAt === null ? (
        <Badge
          variant="light"
          color={severity === 'critical' ? 'red' : 'orange'}
          tt="none"
          radius="sm"
          miw="max-content"
        >
          {t.severities[severity]}
        </Badge>
      ) : (
        <Badge variant="light" color="gray" tt="none" radius="sm" miw="max-content">
          {t.resolved}
        </Badge>
      )}
    </Group>
  )
}
