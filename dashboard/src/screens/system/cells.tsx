import { Badge, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { request } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { texts, useText } from '../../text.ts'
import type { CellSummary, CellsView } from '../../types.ts'

const words = texts({
  en: {
    title: 'Cells',
    states: {
      ok: 'answers',
      unreachable: 'does not answer',
      refused: 'refuses METRICS_TOKEN',
      other: 'the address is another cell’s',
    },
    frozen: 'payouts frozen',
    suspense: 'in suspense',
    differences: 'discrepancies',
    jobs: 'jobs no longer retried',
    others: 'payments of other cells',
    oldest: (time: string) => `oldest webhook: ${time}`,
    between: (from: string, to: string) => `${from} → ${to}`,
    moved: (out: string, into: string) => `${out} left, ${into} arrived`,
    onTheWay: 'on the way',
  },
  pt: {
    title: 'Células',
    states: {
      ok: 'responde',
      unreachable: 'não responde',
      refused: 'recusa o METRICS_TOKEN',
      other: 'o endereço é de outra célula',
    },
    frozen: 'saídas bloqueadas',
    suspense: 'na conta transitória',
    differences: 'divergências',
    jobs: 'tarefas sem novas tentativas',
    others: 'pagamentos de outras células',
    oldest: (time: string) => `webhook mais antigo: ${time}`,
    between: (from: string, to: string) => `${from} → ${to}`,
    moved: (out: string, into: string) => `${out} saíram, ${into} chegaram`,
    onTheWay: 'a caminho',
  },
})

/** All cells, as their metrics describe them. Nothing without CELLS. */
export function Cells() {
  const t = useText(words)
  const cells = useQuery({
    queryKey: ['cells'],
    queryFn: async () => (await request<CellsView>('GET', '/cells')).data,
    refetchInterval: 15_000,
  })
  if (cells.isLoadingError) return <ErrorNotice error={cells.error} onRetry={() => void cells.refetch()} />
  if (!cells.data || cells.data.length === 0) return null
  return (
    <Section title={t.title}>
      <Stack gap={0}>
        {cells.data.map((one) => (
          <OneCell key={one.cell} cell={one} />
        ))}
        <Moves cells={cells.data} />
      </Stack>
    </Section>
  )
}

function OneCell({ cell: { cell, address, state, figures } }: { cell: CellSummary }) {
  const t = useText(words)
  const format = useFormat()
  const counts = figures
    ? ([
        [figures.suspense, t.suspense, 'orange'],
        [figures.differences, t.differences, 'orange'],
        [figures.jobsGivenUp, t.jobs, 'red'],
        [figures.otherCellPayments, t.others, 'red'],
      ] as const)
    : []
  const oldest = figures && figures.oldestDeliverySeconds > 0 && format.duration(figures.oldestDeliverySeconds * 1000)
  return (
    <Group className="row" py={8} justify="space-between">
      <div style={{ minWidth: 0 }}>
        <Text size="sm" fw={600}>
          {cell}
        </Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {[address, figures?.version, oldest && t.oldest(oldest)].filter(Boolean).join(' · ')}
        </Text>
      </div>
      <Group gap={6}>
        {counts.map(
          ([count, name, color]) =>
            count > 0 && (
              <Badge key={name} variant="light" color={color} tt="none" radius="sm">
                {format.number(count)} {name}
              </Badge>
            ),
        )}
        {figures?.arePayoutsFrozen && (
          <Badge variant="light" color="red" tt="none" radius="sm">
            {t.frozen}
          </Badge>
        )}
        <Badge variant="light" color={state === 'ok' ? 'teal' : 'red'} tt="none" radius="sm">
          {t.states[state]}
        </Badge>
      </Group>
    </Group>
  )
}

/** Money moved from one cell to another: what has not arrived is on the way. Shown only if both cells answered. */
function Moves({ cells }: { cells: CellSummary[] }) {
  const t = useText(words)
  const format = useFormat()
  const figuresOf = (name: string) => cells.find(({ cell }) => cell === name)?.figures
  const pairs = cells.flatMap(({ cell: from, figures }) =>
    (figures?.moves ?? []).flatMap(({ direction, cell: to, cents: out }) => {
      const other = figuresOf(to)
      if (direction !== 'out' || !other) return []
      const into = other.moves.find((one) => one.direction === 'in' && one.cell === from)?.cents ?? 0
      return [{ from, to, out, into }]
    }),
  )
  return pairs.map(({ from, to, out, into }) => (
    <Group key={`${from} ${to}`} className="row" py={8} justify="space-between">
      <div>
        <Text size="sm">{t.between(from, to)}</Text>
        <Text size="xs" c="dimmed">
          {t.moved(format.money(out), format.money(into))}
        </Text>
      </div>
      {out !== into && (
        <Badge variant="light" color="orange" tt="none" radius="sm">
          {format.money(out - into)} {t.onTheWay}
        </Badge>
      )}
    </Group>
  ))
}
