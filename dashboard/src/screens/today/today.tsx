import { Anchor, Code, Group, SimpleGrid, Skeleton, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { NeedsAttention } from '../../components/attention.tsx'
import { DaysSection } from '../../components/days-section.tsx'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { ListLink } from '../../components/list-link.tsx'
import { Notices } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Plot } from '../../components/plot.tsx'
import { WaitingProposals } from '../../components/proposals.tsx'
import { Sparkline } from '../../components/sparkline.tsx'
import { Tile } from '../../components/tile.tsx'
import { presetPersonalFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useClient, useMay, useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { Figures, Overview } from '../../types.ts'
import { useAccountNames } from '../ledger/text.ts'
import { FirstStepsCard } from './first-steps.tsx'
import { words } from './text.ts'

const refreshMs = 10_000

/** The figures of today and of the last days. */
export default function Today() {
  const t = useText(words)
  const client = useClient()
  const may = useMay()
  const [span, setSpan] = useState('30')
  const overview = useQuery({
    queryKey: ['overview', client, span],
    queryFn: async () => await request<Overview>('GET', withQuery('/overview', { clientId: client, days: span })),
    refetchInterval: useRefreshEvery(refreshMs),
    placeholderData: (before) => before,
  })
  if (overview.isLoadingError) return <ErrorNotice error={overview.error} onRetry={() => void overview.refetch()} />
  const { data } = overview
  const balances = data?.balances
  return (
    <Page title={t.title} lead={t.lead}>
      <NeedsAttention />
      <Notices />
      <FirstStepsCard />
      <WaitingProposals />
      {data ? <Tiles overview={data} /> : <Skeleton height={110} />}
      {data?.days.every(({ created }) => created === 0) ? (
        <Section title={t.days}>
          <Empty icon="today" title={t.nothing} action="charge" guide="dashboard">
            {t.nothingHint} <Code>POST /transaction</Code>
          </Empty>
        </Section>
      ) : (
        <Stack gap="lg">
          <DaysSection title={t.days} choices={['7', '30', '90']} days={span} onChoose={setSpan}>
            {data ? <Days overview={data} /> : <Skeleton height={220} />}
          </DaysSection>
          {data?.merchants && data.merchants.length > 1 && <Ranking merchants={data.merchants} />}
          <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
            <Section title={t.hours}>{data ? <Hours overview={data} /> : <Skeleton height={220} />}</Section>
            {may('balance.read') && (
              <Section title={t.balances}>
                {balances ? <BalanceList balances={balances} /> : <Skeleton height={220} />}
              </Section>
            )}
          </SimpleGrid>
        </Stack>
      )}
    </Page>
  )
}

function Tiles({ overview: { today, sameTime, until, timeToPay } }: { overview: Overview }) {
  const t = useText(words)
  const format = useFormat()
  const conversion = (figures: Figures) => (figures.conversion === null ? '–' : format.percent(figures.conversion))
  const at = format.time(until).slice(0, 5)
  const [yesterday, lastWeek] = [sameTime?.at(-1), sameTime?.[0]]
  const trend = (name: string, values: (number | null)[], write: (value: number) => string) => (
    <Sparkline
      values={values}
      label={t.trend(name, values.map((value) => (value === null ? '–' : write(value))).join(', '))}
    />
  )
  const ofDays = (read: (figures: Figures) => number | null) =>
    sameTime === null ? [] : [...sameTime.map(read), read(today)]
  const compared = (read: (figures: Figures) => number | null, write: (figures: Figures) => string, isShare = false) =>
    yesterday && (
      <>
        <Change
          now={read(today)}
          before={read(yesterday)}
          shown={t.ofYesterday(at, write(yesterday))}
          isShare={isShare}
        />
        {lastWeek && <div>{t.ofLastWeek(write(lastWeek))}</div>}
      </>
    )
  const pay = timeToPay.medianSeconds
  const slow = timeToPay.p90Seconds
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
      <Tile
        label={t.paid}
        value={format.money(today.paidAmount)}
        trend={trend(
          t.paid,
          ofDays(({ paidAmount }) => paidAmount),
          format.money,
        )}
        note={compared(
          ({ paidAmount }) => paidAmount,
          ({ paidAmount }) => format.money(paidAmount),
        )}
      />
      <Tile
        label={t.conversion}
        value={conversion(today)}
        trend={trend(
          t.converted,
          ofDays((figures) => figures.conversion),
          format.percent,
        )}
        note={
          <>
            {t.paidOf(format.number(today.paid), format.number(today.created))}
            <div>{compared((figures) => figures.conversion, conversion, true)}</div>
          </>
        }
      />
      <Tile
        label={t.timeToPay}
        value={pay === null ? '–' : format.duration(pay * 1000)}
        trend={trend(
          t.timeToPay,
          timeToPay.days.map(({ medianSeconds }) => medianSeconds),
          (seconds) => format.duration(seconds * 1000),
        )}
        note={slow === null ? t.noPayments : t.p90(format.duration(slow * 1000))}
      />
      <Tile
        label={t.failed}
        value={format.number(today.failed)}
        trend={trend(
          t.failed,
          ofDays(({ failed }) => failed),
          format.number,
        )}
        note={compared(
          ({ failed }) => failed,
          ({ failed }) => format.number(failed),
        )}
      />
    </SimpleGrid>
  )
}

/** ▲ 12% · yesterday until 02:37: R$ 1.234,00. Shares change by percentage points. */
function Change({
  now,
  before,
  shown,
  isShare = false,
}: {
  now: number | null
  before: number | null
  shown: string
  isShare?: boolean
}) {
  const t = useText(words)
  const format = useFormat()
  const by =
    now === null || before === null || (!isShare && before === 0) ? null : (now - before) / (isShare ? 1 : before)
  return (
    <>
      {by !== null && by !== 0 && (
        <Text span inherit fw={600}>
          <span aria-hidden="true">{by > 0 ? '▲' : '▼'} </span>
          <span className="unseen">{by > 0 ? t.up : t.down} </span>
          {isShare ? t.points(format.number(Math.round(Math.abs(by) * 1000) / 10)) : format.percent(Math.abs(by))}
          {shown && ' · '}
        </Text>
      )}
      {shown}
    </>
  )
}

function Ranking({ merchants }: { merchants: NonNullable<Overview['merchants']> }) {
  const t = useText(words)
  const format = useFormat()
  return (
    <Section title={t.ranking}>
      <Table.ScrollContainer minWidth={560}>
        <Table aria-label={t.ranking}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t.merchant}</Table.Th>
              <Table.Th ta="right">{t.paid}</Table.Th>
              <Table.Th ta="right">{t.charges}</Table.Th>
              <Table.Th ta="right">{t.converted}</Table.Th>
              <Table.Th ta="right">{t.change}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {merchants.map((one) => (
              <Table.Tr key={one.clientId}>
                <Table.Td miw={150} style={{ overflowWrap: 'anywhere' }}>
                  <ListLink to={withQuery('/transactions', { client: one.clientId, period: 'today' })}>
                    {one.name}
                  </ListLink>
                </Table.Td>
                <Table.Td ta="right">{format.money(one.paidAmount)}</Table.Td>
                <Table.Td ta="right">{t.paidOf(format.number(one.paid), format.number(one.created))}</Table.Td>
                <Table.Td ta="right">{one.conversion === null ? '–' : format.percent(one.conversion)}</Table.Td>
                <Table.Td ta="right">
                  {one.yesterday?.paidAmount ? (
                    <Change now={one.paidAmount} before={one.yesterday.paidAmount} shown="" />
                  ) : (
                    '–'
                  )}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  )
}

function Days({ overview: { days } }: { overview: Overview }) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const [, navigate] = useLocation()
  const mayList = useMay()('transaction.read')
  const names = useMemo(() => days.map(({ day }) => format.day(day)), [days, format])
  const series = useMemo(
    () => [
      { label: t.paid, values: days.map(({ paidAmount }) => paidAmount), color: '#179d88', kind: 'bars' as const },
    ],
    [days, t],
  )
  const details = (index: number) => {
    const day = days[index]
    if (!day) return []
    const paidOf = t.paidOf(format.number(day.paid), format.number(day.created))
    const conversion = day.conversion === null ? [] : [`${t.converted}: ${format.percent(day.conversion)}`]
    return [`${t.paid}: ${format.money(day.paidAmount)}`, `${t.charges}: ${paidOf}`, ...conversion]
  }
  const open = (index: number) => {
    const day = days[index]?.day
    if (day === undefined) return
    const address = toLink('/transactions', { from: day, until: day })
    presetPersonalFilters(address)
    navigate(address)
  }
  return (
    <Plot
      names={names}
      series={series}
      format={format.money}
      formatAxis={format.shortMoney}
      label={`${t.days}: ${t.paid}`}
      partial={days.length - 1}
      details={details}
      {...(mayList && { onPick: open })}
    />
  )
}

const hourMs = 3_600_000

function Hours({ overview: { hours } }: { overview: Overview }) {
  const t = useText(words)
  const format = useFormat()
  const names = useMemo(() => {
    const midnight = Date.parse(hours[0]?.hour ?? '')
    const count = Math.max(24, hours.length)
    return Array.from({ length: count }, (_, index) => format.time(new Date(midnight + index * hourMs)).slice(0, 5))
  }, [hours, format])
  const series = useMemo(() => {
    const ofDay = (field: 'created' | 'paid') => names.map((_, index) => hours[index]?.[field] ?? null)
    return [
      { label: t.created, values: ofDay('created'), color: '#8fa3b5', kind: 'bars' as const },
      { label: t.paidCount, values: ofDay('paid'), color: '#179d88', kind: 'bars' as const },
    ]
  }, [hours, names, t])
  const details = (index: number) => {
    const hour = hours[index]
    if (!hour) return []
    const conversion = hour.created === 0 ? [] : [`${t.converted}: ${format.percent(hour.paid / hour.created)}`]
    return [
      ...[`${t.created}: ${format.number(hour.created)}`, `${t.paidCount}: ${format.number(hour.paid)}`],
      ...[`${t.paid}: ${format.money(hour.paidAmount)}`, ...conversion],
    ]
  }
  if (hours.every(({ created }) => created === 0)) return <Empty icon="today" title={t.nothingToday} />
  return (
    <>
      <Plot
        names={names}
        series={series}
        format={format.number}
        label={t.hours}
        partial={hours.length - 1}
        labelsFrom="first"
        details={details}
      />
      <Group gap="md" mt={4}>
        {series.map(({ label, color }) => (
          <Group key={label} gap={6}>
            <span style={{ width: 10, height: 10, borderRadius: 3, background: color }} />
            <Text size="xs" c="dimmed">
              {label}
            </Text>
          </Group>
        ))}
      </Group>
    </>
  )
}

const shownBalances = ['available', 'reserved', 'blocked', 'fees', 'suspense', 'debt'] as const
/** Fees and suspense are the operator's. */
const shownToMerchants = ['available', 'reserved', 'blocked', 'debt'] as const

function BalanceList({ balances }: { balances: NonNullable<Overview['balances']> }) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const names = useAccountNames()
  const isOwn = useUser().merchant !== null
  const shown = isOwn ? shownToMerchants.filter((one) => one !== 'debt' || balances.debt !== 0) : shownBalances
  return (
    <Stack gap={0}>
      {shown.map((account) => (
        <Group key={account} justify="space-between" py={8} wrap="nowrap" className="row">
          <div>
            <Text size="sm" fw={account === 'available' ? 600 : 400}>
              {isOwn ? names[account][0] : t.accounts[account]}
            </Text>
            <Text size="xs" c="dimmed">
              {isOwn ? names[account][1] : t.accountHints[account]}
            </Text>
          </div>
          <Text size="sm" fw={account === 'available' ? 700 : 500} c={(balances[account] ?? 0) < 0 ? 'red' : undefined}>
            {format.money(balances[account] ?? 0)}
          </Text>
        </Group>
      ))}
      <Group gap="md" mt="xs">
        <Anchor component={Link} href={toLink('/transactions')} size="sm">
          {t.toTransactions}
        </Anchor>
        <Anchor component={Link} href={toLink('/ledger')} size="sm">
          {isOwn ? t.toStatement : t.toLedger}
        </Anchor>
        <Anchor component={Link} href={toLink('/month')} size="sm">
          {t.toMonth}
        </Anchor>
      </Group>
    </Stack>
  )
}
