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
    // Of withdrawals: the receiver sent the money back. In Portuguese the gender differs.
    returned: 'Refunded',
    failed: 'Failed',
    sent: 'Sent',
    to_answer: 'To answer',
    answered: 'Answered',
    won: 'Won',
    lost: 'Lost',
    failing: 'Failing',
    delivered: 'Delivered',
    given_up: 'No longer retried',
    count: 'Records',
    amount: 'Amount',
    fees: 'Fees',
    refunds: 'Refunded',
    sums: 'Sums of this list',
    conversion: 'Conversion',
    conversionHint: 'The share of the matching transactions, of any status, that was paid.',
    tooWide: 'Too many records to add up their fees and refunds: shorten the period.',
  },
  pt: {
    all: 'Todas',
    waiting: 'Aguardando',
    paid: 'Pagas',
    refunded: 'Devolvidas',
    returned: 'Devolvidos',
    disputed: 'Contestadas',
    failed: 'Falharam',
    sent: 'Enviados',
    to_answer: 'A responder',
    answered: 'Respondidas',
    won: 'Ganhas',
    lost: 'Perdidas',
    failing: 'Com falha',
    delivered: 'Entregues',
    given_up: 'Sem novas tentativas',
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

export type Tab = { name: TabName; statuses: string[] }
type TabName =
  | 'waiting'
  | 'paid'
  | 'refunded'
  | 'returned'
  | 'disputed'
  | 'failed'
  | 'sent'
  | 'to_answer'
  | 'answered'
  | 'won'
  | 'lost'
  | 'failing'
  | 'delivered'
  | 'given_up'

/** The value of `status` in the URL that selects the tab of all records, in lists where another tab is the default. */
const allStatuses = 'all'

/**
 * The statuses selected in the URL; an empty list means all records. `first`: the tab selected when the URL has no
 * status.
 */
export function chosenStatuses({ all }: Pick<ReturnType<typeof useFilters>, 'all'>, first?: Tab): string[] {
  const chosen = all('status')
  if (chosen.length === 0) return first?.statuses ?? []
  return chosen.includes(allStatuses) ? [] : chosen
}

/** The statuses of a list as tabs with counts. The selected statuses are in the URL. */
export function StatusTabs({
  tabs,
  summary,
  all,
  first,
}: {
  tabs: Tab[]
  /** `countedMax`: records are counted per tab, up to this number. A tab missing from `counts` shows no number. */
  summary: (Pick<ListSummary, 'counts' | 'isMore'> & { countedMax?: number }) | undefined
  all?: string
  /** The tab selected when the URL has no status; the tab of all records is the last one then. */
  first?: Tab
}) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const chosen = chosenStatuses(filters, first)
  const isOf = ({ statuses }: Tab) => statuses.length === chosen.length && statuses.every((one) => chosen.includes(one))
  const value = chosen.length === 0 ? allStatuses : (tabs.find(isOf)?.name ?? null)
  const count = (statuses: string[] | null) => {
    if (!summary) return ''
    const { countedMax } = summary
    const counted = summary.counts.filter(({ status }) => statuses === null || statuses.includes(status))
    const sum = counted.reduce((total, one) => total + one.count, 0)
    if (countedMax !== undefined) {
      if (statuses === null || counted.length === 0) return ''
      return sum > countedMax ? `${format.number(countedMax)}+` : format.number(sum)
    }
    // If `isMore`, only a part of the records is counted, so no tab has an exact number.
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
  const allTab = <Tabs.Tab value={allStatuses}>{label(all ?? t.all, count(null))}</Tabs.Tab>
  const choose = (name: string | null) => {
    const next = tabs.find((tab) => tab.name === name)
    filters.set({ status: next === first ? [] : (next?.statuses ?? [allStatuses]) })
  }
  return (
    <Tabs value={value} onChange={choose} className="tabs">
      <Tabs.List>
        {!first && allTab}
        {tabs.map(({ name, statuses }) => (
          <Tabs.Tab key={name} value={name}>
            {label(t[name], count(statuses))}
          </Tabs.Tab>
        ))}
        {first && allTab}
      </Tabs.List>
    </Tabs>
  )
}

/**
 * The sums of the matching records. `unpaid`: the statuses of records that were never paid; given only if the list
 * shows a conversion.
 */
export function ListSums({
  summary,
  isOld,
  settledLabel,
  unpaid,
}: {
  summary: ListSummary | undefined
  /** Whether the sums are still those of the previous filters: they are hidden, and only their space is kept. */
  isOld: boolean
  settledLabel: string
  unpaid?: string[]
}) {
  const t = useText(words)
  const format = useFormat()
  if (!summary || summary.count === 0) return null
  const money = (cents: number | null) => (cents === null ? '–' : format.money(cents))
  const values = [
    [t.count, summary.count === null ? `${format.number(20_000)}+` : format.number(summary.count)],
    [t.amount, money(summary.amount)],
    [settledLabel, money(summary.settled)],
    [t.fees, money(summary.fees)],
    [t.refunds, money(summary.refunded)],
    ...(unpaid ? [[t.conversion, writeConversion(summary, unpaid, format), t.conversionHint] as const] : []),
  ] as const
  return (
    <section className="card sums" aria-label={t.sums} style={{ visibility: isOld ? 'hidden' : undefined }}>
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

/** A dash if there are none, or more than are counted. */
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
