import { Anchor, Badge, Button, Group, Progress, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useFormat } from '../../format.ts'
import { useMay, useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { DisputeView } from '../../types.ts'
import { words } from './text.ts'

const hourMs = 60 * 60_000

/** An open dispute, the time left, and the buttons to decide. */
export function OpenDispute({ dispute, aheadMs }: { dispute: DisputeView; aheadMs: number }) {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const { merchant } = useUser()
  const [decision, setDecision] = useState<'accept' | 'reject' | null>(null)
  const { transactionId, clientId, clientName, amount, blocked, returned, reason, state, openedAt } = dispute
  const { isReportedByAcquirer, unknownStatus } = dispute
  const path = `/transactions/${transactionId}`
  return (
    <Group className="row" py="md" justify="space-between" align="center" gap="md" component="article">
      <div style={{ flex: '1 1 300px', minWidth: 0 }}>
        <Group gap={8}>
          <Anchor
            component={Link}
            href={merchant ? path : `${path}?${new URLSearchParams({ client: clientId })}`}
            fw={650}
            c="inherit"
          >
            {format.money(amount)}
          </Anchor>
          {!merchant && <Text size="sm">{clientName}</Text>}
          <Badge variant="light" color="orange" tt="none" radius="sm">
            {t.states[state]}
          </Badge>
        </Group>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {t.blocked} {format.money(blocked)}
          {returned > 0 ? ` · ${t.returned(format.money(returned))}` : ''} · {t.openedAt(format.dateTime(openedAt))} ·{' '}
          {isReportedByAcquirer ? t.byAcquirer : t.byHand}
          {reason ? ` · ${reason}` : ''}
        </Text>
        {unknownStatus !== null && (
          <Text size="xs" fw={600} c="var(--mantine-color-red-light-color)">
            {t.unknownStatus(unknownStatus)}
          </Text>
        )}
      </div>
      <Deadline dispute={dispute} aheadMs={aheadMs} />
      {may('infraction.decide') && (
        <Group gap="xs">
          <Button variant="default" onClick={() => setDecision('reject')}>
            {t.reject}
          </Button>
          {state === 'open' && (
            <Button variant="default" onClick={() => setDecision('accept')}>
              {t.accept}
            </Button>
          )}
        </Group>
      )}
      {decision && <Decide dispute={dispute} decision={decision} onClose={() => setDecision(null)} />}
    </Group>
  )
}

/** Counts down seven days for the decision, then the rest of eleven days for the return. */
function Deadline({
  dispute: { state, openedAt, analysisEndsAt, endsAt },
  aheadMs,
}: {
  dispute: DisputeView
  aheadMs: number
}) {
  const t = useText(words)
  const format = useFormat()
  const now = useNow() + aheadMs
  const end = Date.parse(state === 'open' ? analysisEndsAt : endsAt)
  const whole = end - Date.parse(openedAt)
  const left = end - now
  const color = left > 48 * hourMs ? 'brand' : left > 0 ? 'orange' : 'red'
  const text =
    left <= 0
      ? t.overdue(format.duration(-left))
      : (state === 'open' ? t.analysisLeft : t.returnLeft)(format.duration(left))
  return (
    <div style={{ flex: '0 1 260px', minWidth: 200 }}>
      <Text size="sm" fw={600} {...(left <= 48 * hourMs && { c: `var(--mantine-color-${color}-light-color)` })}>
        {text}
      </Text>
      <Progress
        value={Math.min(100, Math.max(0, (100 * (whole - left)) / whole))}
        color={color}
        size="sm"
        my={4}
        aria-label={text}
      />
      <Text size="xs" c="dimmed">
        {t.until(format.dateTime(new Date(end)))}
      </Text>
    </div>
  )
}

function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 15_000)
    return () => clearInterval(timer)
  }, [])
  return now
}

function Decide({
  dispute: { id, transactionId, amount, blocked, clientName },
  decision,
  onClose,
}: {
  dispute: DisputeView
  decision: 'accept' | 'reject'
  onClose: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const deciding = useMutation({
    mutationFn: async () => await request('POST', `/infraction/${id}/decision`, { transactionId, decision }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      onClose()
    },
  })
  const isAccepted = decision === 'accept'
  return (
    <Confirm
      title={isAccepted ? t.acceptTitle : t.rejectTitle}
      isOpen
      onClose={onClose}
      confirm={isAccepted ? t.accept : t.reject}
      isDangerous
      action={deciding}
    >
      <Text size="sm">
        {isAccepted ? t.acceptText(format.money(amount), clientName) : t.rejectText(format.money(blocked), clientName)}
      </Text>
      <Text size="sm" c="dimmed">
        {t.atBank}
      </Text>
    </Confirm>
  )
}
