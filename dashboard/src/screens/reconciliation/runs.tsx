import { Badge, Select, SimpleGrid, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { request, withQuery } from '../../api.ts'
import { Empty } from '../../components/empty.tsx'
import { ReasonText } from '../../components/reason.tsx'
import { RecordList } from '../../components/record-table.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { ReconciliationView, RunView } from '../../types.ts'
import { words } from './text.ts'

const kinds = ['rolling', 'daily', 'manual'] as const
const colors = { running: 'blue', complete: 'teal', interrupted: 'orange' }

/** The reconciliation runs: start, period, records compared and result. */
export function Runs({ summary }: { summary: ReconciliationView | undefined }) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const kind = filters.get('kind')
  const runs = useQuery({
    queryKey: ['reconciliation', 'runs', kind, filters.page],
    queryFn: async () =>
      await request<{ total: number; totalPages: number; data: RunView[] }>(
        'GET',
        withQuery('/reconciliation/run', { kind, page: filters.page }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  })
  return (
    <Stack>
      <LastRuns summary={summary} />
      <Select
        label={t.kind}
        placeholder={t.anyKind}
        clearable
        data={kinds.map((value) => ({ value, label: t.kinds[value] ?? value }))}
        value={kind === '' ? null : kind}
        onChange={(value) => filters.set({ kind: value ?? '' })}
        w={220}
      />
      <RecordList
        list={runs}
        filters={filters}
        label={t.runs}
        keyOf={({ id }) => id}
        empty={
          <Empty icon="reconciliation" title={t.noRuns} guide="reconciliation">
            {t.noRunsHint}
          </Empty>
        }
        columns={[
          {
            name: t.when,
            cell: (run) => (
              <>
                <Text size="sm">{format.dateTime(run.startedAt)}</Text>
                <Text size="xs" c="dimmed">
                  {run.acquirer} · {t.kinds[run.kind]}
                </Text>
              </>
            ),
          },
          {
            name: t.window,
            isHiddenOnPhone: true,
            cell: ({ from, to }) => (
              <Text size="sm">
                {format.dateTime(from)} – {format.dateTime(to)}
              </Text>
            ),
          },
          {
            name: t.compared,
            isAmount: true,
            isHiddenOnPhone: true,
            // Not known while it runs.
            cell: ({ compared }) =>
              compared ? format.number(compared.payment + compared.return + compared.payout) : '–',
          },
          { name: t.result, cell: (run) => <Result run={run} /> },
        ]}
      />
    </Stack>
  )
}

function Result({ run }: { run: RunView }) {
  const t = useText(words)
  const format = useFormat()
  const all = Object.values(run.counts).reduce((sum, count) => sum + count, 0)
  return (
    <>
      <Badge variant="light" color={colors[run.state]} tt="none" radius="sm" style={{ minWidth: 'max-content' }}>
        {t.runStates[run.state]}
      </Badge>
      <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {run.state === 'interrupted'
          ? run.error && <ReasonText of={run.error} />
          : run.state === 'complete' &&
            (all === 0 ? t.agree : t.differ(format.number(all), format.number(run.newCount)))}
      </Text>
    </>
  )
}

/** The last run of each kind for each PSP. */
function LastRuns({ summary }: { summary: ReconciliationView | undefined }) {
  const t = useText(words)
  const format = useFormat()
  const names = { rolling: t.lastRolling, daily: t.lastDaily, manual: t.lastManual }
  return summary?.acquirers.map((acquirer) => (
    <SimpleGrid key={acquirer} cols={{ base: 1, xs: 3 }} spacing="sm">
      {kinds.map((kind) => {
        const run = summary.runs.find((one) => one.acquirer === acquirer && one.kind === kind)
        return (
          <div key={kind} className="card" style={{ padding: 'var(--mantine-spacing-sm)' }}>
            <Text size="xs" c="dimmed">
              {acquirer} · {names[kind]}
            </Text>
            <Text size="sm" fw={600}>
              {run ? format.fromNow(run.startedAt) : t.never}
            </Text>
          </div>
        )
      })}
    </SimpleGrid>
  ))
}
