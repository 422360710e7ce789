import { Group, Tabs, Text, Tooltip, UnstyledButton } from '@mantine/core'
import { useFilters } from '../filters.ts'
import { type Format, useFormat } from '../format.ts'
import { texts, useText } from '../text.ts'
import type { ListSummary } from '../types.ts'

const words = texts({
  en: {
    all: 'All',
    waiting: 'Waiting',
    paid: 'Paid',
    refunded: 'Refunded',
    disputed: 'Disputed',
    failed: 'Failed',
    sent: 'Sent',
    count: 'Records',
    amount: 'Amount',
    fees: 'Fees',
    refunds: 'Refunded',
    sums: 'Sums of this list',
    conversion: 'Conversion',
    conversionHint: 'Of the transactions that these filters leave, whatever their status: the part that was paid.',
    tooWide: 'Too many records to add up their fees and refunds: shorten the period.',
  },
  pt: {
    all: 'Todas',
    waiting: 'Aguardando',
    paid: 'Pagas',
    refunded: 'Devolvidas',
    disputed: 'Contestadas',
    failed: 'Falharam',
    sent: 'Enviados',
    count: 'Registros',
    amount: 'Valor',
    fees: 'Tarifas',
    refunds: 'Devolvido',
    sums: 'Totais desta lista',
    conversion: 'Conversão',
    conversionHint: 'Das transações destes filtros, em qualquer situação: a parte que foi paga.',
    tooWide: 'São registros demais para somar tarifas e devoluções: escolha um período menor.',
  },
})

export type Tab = { name: 'waiting' | 'paid' | 'refunded' | 'disputed' | 'failed' | 'sent'; statuses: string[] }

/** The statuses of a list as tabs with counts. The chosen statuses are in the address. */
export function StatusTabs({ tabs, summary, all }: { tabs: Tab[]; summary: ListSummary | undefined; all?: string }) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const chosen = filters.all('status')
  const isOf = ({ statuses }: Tab) => statuses.length === chosen.length && statuses.every((one) => chosen.includes(one))
  const value = chosen.length === 0 ? 'all' : (tabs.find(isOf)?.name ?? null)
  const count = (statuses: string[] | null) => {
    if (!summary) return ''
    const sum = summary.counts
      .filter(({ status }) => statuses === null || statuses.includes(status))
      .reduce((total, one) => total + one.count, 0)
    // Of more records only a part is counted, so no tab has an exact number.
    return summary.isMore ? (statuses === null ? `${format.number(10_000)}+` : '') : format.number(sum)
  }
  const label = (name: string, number: string) => (
    <>
      {name}{' '}
      {number !== '' && (
        <Text span size="xs" c="dimmed">
          {number}
        </Text>
      )}
    </>
  )
  return (
    <Tabs
      value={value}
      onChange={(next) => filters.set({ status: tabs.find(({ name }) => name === next)?.statuses ?? [] })}
      className="tabs"
    >
      <Tabs.List>
        <Tabs.Tab value="all">{label(all ?? t.all, count(null))}</Tabs.Tab>
        {tabs.map(({ name, statuses }) => (
          <Tabs.Tab key={name} value={name}>
            {label(t[name], count(statuses))}
          </Tabs.Tab>
        ))}
      </Tabs.List>
    </Tabs>
  )
}

/** The sums of what the filters leave. `unpaid`: the statuses that were never paid, if the list has a conversion. */
export function ListSums({
  summary,
  settled,
  unpaid,
}: {
  summary: ListSummary | undefined
  settled: string
  unpaid?: string[]
}) {
  const t = useText(words)
  const format = useFormat()
  if (!summary || summary.count === 0) return null
  const money = (cents: number | null) => (cents === null ? '–' : format.money(cents))
  const values = [
    [t.count, summary.count === null ? `${format.number(20_000)}+` : format.number(summary.count)],
    [t.amount, money(summary.amount)],
    [settled, money(summary.settled)],
    [t.fees, money(summary.fees)],
    [t.refunds, money(summary.refunded)],
    ...(unpaid ? [[t.conversion, writeConversion(summary, unpaid, format), t.conversionHint] as const] : []),
  ] as const
  return (
    <section className="card sums" aria-label={t.sums}>
      <Group component="dl" gap="xl" m={0} style={{ rowGap: 8 }}>
        {values.map(([name, value, hint]) => (
          <div key={name}>
            <Text size="xs" c="dimmed" component="dt">
              {hint === undefined ? name : <Defined name={name} hint={hint} />}
            </Text>
            <Text size="sm" fw={650} component="dd" m={0} style={{ whiteSpace: 'nowrap' }}>
              {value}
            </Text>
          </div>
        ))}
      </Group>
      {summary.fees === null && (
        <Text size="xs" c="dimmed" mt={6}>
          {t.tooWide}
        </Text>
      )}
    </section>
  )
}

/** Unknown if there are more records than are counted. */
function writeConversion({ counts, isMore }: ListSummary, unpaid: string[], format: Format): string {
  const sum = (some: ListSummary['counts']) => some.reduce((total, { count }) => total + count, 0)
  if (isMore || sum(counts) === 0) return '–'
  return format.percent(sum(counts.filter(({ status }) => !unpaid.includes(status))) / sum(counts))
}

/** A name whose definition appears when it is pointed at, focused or touched. */
function Defined({ name, hint }: { name: string; hint: string }) {
  return (
    <Tooltip label={hint} multiline w={260} events={{ hover: true, focus: true, touch: true }}>
      <UnstyledButton fz="inherit" c="inherit" style={{ textDecoration: 'underline dotted', textUnderlineOffset: 3 }}>
        {name}
      </UnstyledButton>
    </Tooltip>
  )
}
