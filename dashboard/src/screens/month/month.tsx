import { Alert, Button, Group, Select, SimpleGrid, Skeleton, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { request, withQuery } from '../../api.ts'
import { RequireMerchant } from '../../components/choose-merchant.tsx'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { IconOf } from '../../components/icons.tsx'
import { Page, Section } from '../../components/page.tsx'
import { lastDayOf, shiftMonth, todayInBrasilia } from '../../days.ts'
import { useFilters } from '../../filters.ts'
import { type Format, useFormat } from '../../format.ts'
import { useMay } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import type { PeriodFigures } from '../../types.ts'
import { Schedules } from './schedules.tsx'
import { words } from './text.ts'

type Words = (typeof words)['en']

/** What an accountant needs for one month: its figures, its fees and its files. */
export default function Month() {
  const t = useText(words)
  return <RequireMerchant title={t.title}>{(client) => <MonthOf client={client} />}</RequireMerchant>
}

/** This month, and the twelve before it. */
const monthsShown = 13
const isMonth = /^20\d\d-(?:0[1-9]|1[0-2])$/

function MonthOf({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const { language } = useLanguage()
  const filters = useFilters()
  const months = lastMonths()
  // What the address says may be any text. The default is the previous month, which an accountant closes now.
  const chosen = filters.get('month')
  const month = isMonth.test(chosen) ? chosen : (months[1] ?? '')
  const period = { from: `${month}-01`, until: lastDayOf(month) }
  const by = Object.keys(t.reportDates).find((date) => date === filters.get('by')) ?? 'posted'
  const figures = useQuery({
    queryKey: ['month', client, month],
    queryFn: async () =>
      await request<PeriodFigures>('GET', withQuery('/report/period', { clientId: client, ...period })),
  })
  const linkTo = (file: string, more: Record<string, string> = {}) =>
    withQuery(`/dashboard/api/report/${file}`, { clientId: client, ...period, by, language, ...more })
  const { data } = figures
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        <Group align="flex-end" gap="xs">
          <Select
            label={t.month}
            data={months.map((value) => ({ value, label: format.month(value) }))}
            value={month}
            allowDeselect={false}
            onChange={(chosen) => filters.set({ month: chosen ?? '' })}
            w={200}
          />
          <Button component="a" href={linkTo('month.zip')} download leftSection={<IconOf name="download" size={16} />}>
            {t.all}
          </Button>
        </Group>
      }
    >
      {figures.isError && <ErrorNotice error={figures.error} onRetry={() => void figures.refetch()} />}
      {data && !data.isOver && <Alert color="yellow">{t.notOver}</Alert>}
      <Section
        title={t.files}
        aside={
          <Select
            label={t.by}
            size="xs"
            data={Object.entries(t.reportDates).map(([value, label]) => ({ value, label }))}
            value={by}
            allowDeselect={false}
            onChange={(chosen) => filters.set({ by: chosen ?? '' })}
          />
        }
      >
        <Files linkTo={linkTo} />
        <Text size="xs" c="dimmed" pt="xs">
          {t.allHint}
        </Text>
      </Section>
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
        <Section title={t.summary}>{data ? <Summary of={data} /> : <Skeleton height={260} />}</Section>
        <Section title={t.fees}>{data ? <Fees of={data.fees} /> : <Skeleton height={260} />}</Section>
      </SimpleGrid>
      <Schedules client={client} />
    </Page>
  )
}

const files = [
  { name: 'transactions', permission: 'transaction.read', formats: ['excel', 'csv'] },
  { name: 'withdrawals', permission: 'withdrawal.read', formats: ['excel', 'csv'] },
  { name: 'statement', permission: 'balance.read', formats: ['ofx', 'excel', 'csv'] },
  { name: 'fees', permission: 'balance.read', formats: ['pdf', 'excel', 'csv'] },
] as const

function Files({ linkTo }: { linkTo: (file: string, more: Record<string, string>) => string }) {
  const t = useText(words)
  const may = useMay()
  return (
    <Stack gap={0}>
      {files
        .filter(({ permission }) => may(permission))
        .map(({ name, formats }) => (
          <Group key={name} className="row" py="xs" justify="space-between" gap="xs">
            <div style={{ flex: '1 1 260px' }}>
              <Text size="sm" fw={600}>
                {t.fileNames[name][0]}
              </Text>
              <Text size="xs" c="dimmed">
                {t.fileNames[name][1]}
              </Text>
            </div>
            <Group gap={6}>
              {formats.map((one) => (
                <Button
                  key={one}
                  component="a"
                  href={linkTo(name, { format: one })}
                  download
                  size="xs"
                  variant="default"
                  aria-label={t.downloadAs(t.fileNames[name][0] ?? name, t.formats[one])}
                >
                  {t.formats[one]}
                </Button>
              ))}
            </Group>
          </Group>
        ))}
    </Stack>
  )
}

type GroupName = keyof Words['groups']

/** The line of the summary to which each kind of entry belongs. All other kinds are in the line `others`. */
const groupOf: Record<string, GroupName> = {
  payment: 'payments',
  ...{ fee: 'fees', fee_returned: 'fees', fee_return_reversed: 'fees' },
  ...{ refund_reserved: 'refunds', refund_released: 'refunds' },
  ...{ withdrawal_reserved: 'withdrawals', withdrawal_released: 'withdrawals', withdrawal_returned: 'withdrawals' },
  ...{ infraction_blocked: 'disputes', infraction_returned: 'disputes', infraction_released: 'disputes' },
}

function Summary({ of: { opening, closing, changes } }: { of: PeriodFigures }) {
  const t = useText(words)
  const format = useFormat()
  const lines = (['payments', 'fees', 'refunds', 'withdrawals', 'disputes', 'others'] as const).map((group) => {
    const some = changes.filter(({ kind }) => (groupOf[kind] ?? 'others') === group)
    return {
      name: t.groups[group],
      count: some.reduce((sum, { count }) => sum + count, 0),
      amount: some.reduce((sum, { amount }) => sum + amount, 0),
    }
  })
  return (
    <Table verticalSpacing={8} horizontalSpacing={0} aria-label={t.summary}>
      <Table.Tbody>
        <Line name={t.opening} amount={format.money(opening)} isStrong />
        {lines
          .filter(({ count }) => count > 0)
          .map(({ name, count, amount }) => (
            <Line
              key={name}
              name={name}
              note={t.entries(format.number(count))}
              amount={`${amount > 0 ? '+' : ''}${format.money(amount)}`}
            />
          ))}
        <Line name={t.closing} amount={format.money(closing)} isStrong />
      </Table.Tbody>
    </Table>
  )
}

function Line({ name, note, amount, isStrong }: { name: string; note?: string; amount: string; isStrong?: boolean }) {
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={isStrong ? 600 : 400}>
        {name}
        {note && (
          <Text size="xs" c="dimmed" component="span" display="block">
            {note}
          </Text>
        )}
      </Table.Th>
      <Table.Td ta="right" fw={isStrong ? 600 : 400} style={nowrap}>
        {amount}
      </Table.Td>
    </Table.Tr>
  )
}

const nowrap = { whiteSpace: 'nowrap' } as const

function Fees({ of: { lines, total } }: { of: PeriodFigures['fees'] }) {
  const t = useText(words)
  const format = useFormat()
  if (lines.length === 0) return <Empty icon="ledger" title={t.noFees} />
  return (
    <>
      <Text size="sm" c="dimmed" mb="xs">
        {t.feesLead}
      </Text>
      <Table verticalSpacing={8} horizontalSpacing={0} aria-label={t.fees}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t.operation}</Table.Th>
            <Table.Th ta="right">{t.volume}</Table.Th>
            <Table.Th ta="right" pl="sm">
              {t.fee}
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {lines.map(({ operation, rule, count, volume, fee }) => (
            <Table.Tr key={`${operation} ${JSON.stringify(rule)}`}>
              <Table.Td>
                {t.operations[operation]}
                <Text size="xs" c="dimmed">
                  {[format.number(count), volume === null ? '' : writeRule(rule, t, format)]
                    .filter(Boolean)
                    .join(' · ')}
                </Text>
              </Table.Td>
              <Table.Td ta="right" style={nowrap}>
                {volume === null ? '' : format.money(volume)}
              </Table.Td>
              <Table.Td ta="right" pl="sm" style={nowrap}>
                {format.money(fee)}
              </Table.Td>
            </Table.Tr>
          ))}
          <Table.Tr>
            <Table.Th scope="row" colSpan={2}>
              {t.total}
            </Table.Th>
            <Table.Td ta="right" fw={600} style={nowrap}>
              {format.money(total)}
            </Table.Td>
          </Table.Tr>
        </Table.Tbody>
      </Table>
    </>
  )
}

function writeRule(rule: PeriodFigures['fees']['lines'][number]['rule'], t: Words, format: Format): string {
  if (rule === null) return t.nothing
  const { fixed, basisPoints, minimum, maximum } = rule
  const parts = [fixed > 0 ? format.money(fixed) : '', basisPoints > 0 ? format.share(basisPoints / 10_000) : '']
  return [
    parts.filter(Boolean).join(' + ') || (minimum > 0 ? '' : t.nothing),
    minimum > 0 ? t.atLeast(format.money(minimum)) : '',
    maximum === null ? '' : t.atMost(format.money(maximum)),
  ]
    .filter(Boolean)
    .join(', ')
}

/** This month and those before it, in Brasília: `2026-11`. */
function lastMonths(): string[] {
  const month = todayInBrasilia().slice(0, 7)
  return Array.from({ length: monthsShown }, (_, back) => shiftMonth(month, -back))
}
