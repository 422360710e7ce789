import { Alert, Anchor, Button, Group, Loader, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { request } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { ReasonText } from '../../components/reason.tsx'
import { dayInBrasilia } from '../../days.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useText } from '../../text.ts'
import type { RequestedRunView, RunView } from '../../types.ts'
import { words } from './text.ts'

/** The progress of a requested comparison: waiting, running, ended, and its result. */
export function RequestedRunNotice({ id, onClose }: { id: string; onClose: () => void }) {
  const t = useText(words)
  const queries = useQueryClient()
  const requested = useQuery({
    queryKey: ['reconciliation-requested', id],
    queryFn: async () => await request<RequestedRunView>('GET', `/reconciliation/requested/${id}`),
    // Not after a failed first read: the notice has a button to try again, unless that cannot help.
    refetchInterval: ({ state }) => ((state.data ? state.data.isUnderWay : state.status === 'pending') ? 1_000 : false),
  })
  const isDone = requested.data?.isUnderWay === false
  useEffect(() => {
    if (isDone) void queries.invalidateQueries({ queryKey: ['reconciliation'] })
  }, [isDone, queries])
  if (requested.isLoadingError) return <ErrorNotice error={requested.error} onRetry={() => void requested.refetch()} />
  const { data } = requested
  if (!data || data.isUnderWay) {
    return (
      <Alert color="blue" title={data?.run ? t.running : t.waiting} role="status" icon={<Loader size={18} />}>
        <Text size="sm">{t.runningLead}</Text>
      </Alert>
    )
  }
  const isComplete = data.run?.state === 'complete'
  return (
    <Alert color={isComplete ? 'teal' : 'red'} title={isComplete ? t.done : t.interrupted} role="status">
      {data.run && isComplete ? (
        <Found run={data.run} version={data.version} />
      ) : (
        <Interrupted error={data.run?.error ?? null} />
      )}
      <Group mt="xs">
        <Button size="compact-sm" variant="default" onClick={onClose}>
          {t.dismissNotice}
        </Button>
      </Group>
    </Alert>
  )
}

function Found({ run, version }: { run: RunView; version: number | null }) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const { payment = 0, return: returns = 0, payout = 0 } = run.compared ?? {}
  const all = Object.values(run.counts).reduce((sum, count) => sum + count, 0)
  const isDay = run.kind === 'daily'
  return (
    <Text size="sm">
      {t.doneLead(format.number(payment), format.number(returns), format.number(payout))}{' '}
      {all === 0 ? t.agree : t.differ(format.number(all), format.number(run.newCount))}{' '}
      {isDay && (version === null ? t.unchanged : t.signed(format.number(version)))}{' '}
      {isDay && (
        <Anchor
          component={Link}
          href={toLink(`/reconciliation/days/${run.acquirer}/${dayInBrasilia(run.from)}`)}
          size="sm"
          c="inherit"
          td="underline"
        >
          {t.seeDay}
        </Anchor>
      )}
    </Text>
  )
}

function Interrupted({ error }: { error: RunView['error'] }) {
  const t = useText(words)
  return (
    <>
      <Text size="sm">{t.interruptedLead}</Text>
      {error && (
        <Text size="xs" style={{ overflowWrap: 'anywhere' }}>
          <ReasonText of={error} />
        </Text>
      )}
    </>
  )
}
