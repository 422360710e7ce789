import type { StatementEntry } from '@guiche/sdk'
import { Anchor, Group, MultiSelect, Stack, Text, Title } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { guiche, request, withQuery } from '../../api.ts'
import { DateRange } from '../../components/date-range.tsx'
import { EmptyList } from '../../components/empty.tsx'
import { ExportButton } from '../../components/export-button.tsx'
import { FilterBar } from '../../components/filter-bar.tsx'
import { PhoneRow, RecordList } from '../../components/record-table.tsx'
import { dayEnd, dayStart, shiftDay, todayInBrasilia } from '../../days.ts'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { periodOf } from '../../periods.ts'
import { useMay, useUser } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import { correctionTexts } from '../../types.ts'
import { words } from './text.ts'

type Kind = StatementEntry['kind']

/** The kinds of transfers that can change the available balance. */
const kinds: Kind[] = [
  'payment',
  'fee',
  'refund_reserved',
  'refund_released',
  'fee_returned',
  'fee_return_reversed',
  'withdrawal_reserved',
  'withdrawal_released',
  'withdrawal_returned',
  'infraction_blocked',
  'infraction_released',
  'infraction_returned',
  'debt_repaid',
  'match_undone',
  'correction',
  'pay_in',
  'manual',
  'moved_out',
  'moved_in',
]

/** The changes of a merchant's available balance. The filters are kept in the address. */
export function Statement({ client }: { client: string }) {
  const t = useText(words)
  const isOwn = useUser().merchant !== null
  const format = useFormat()
  const filters = useFilters()
  const query = toQuery(filters)
  const { language } = useLanguage()
  const period = toPeriod(filters)
  const list = useQuery({
    queryKey: ['statement', client, query, filters.page],
    queryFn: async () => await guiche.statement.list({ ...query, page: filters.page }).page(),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(15_000),
  })
  const hrefOf = useEntryLink(client, list.data?.data ?? [])
  return (
    <Stack gap="sm" component="section" aria-label={t.statement}>
      <Group justify="space-between" align="flex-end">
        <div>
          <Title order={2}>{isOwn ? t.entries : t.statement}</Title>
          <Text size="sm" c="dimmed">
            {t.statementLead}
          </Text>
        </div>
        <ExportButton
          name="statement"
          download={async () => await guiche.statement.export(query)}
          files={[
            {
              label: t.ofx(format.day(period.from), format.day(period.until)),
              href: withQuery('/dashboard/api/report/statement', {
                clientId: client,
                ...period,
                ...{ format: 'ofx', language },
              }),
            },
          ]}
        />
      </Group>
      <FilterBar
        count={filters.count}
        onClear={filters.clear}
        common={
          <>
            <DateRange />
            <MultiSelect
              label={t.kind}
              placeholder={filters.all('kind').length === 0 ? t.anyKind : ''}
              data={kinds.map((kind) => ({ value: kind, label: t.kinds[kind] }))}
              value={filters.all('kind')}
              onChange={(chosen) => filters.set({ kind: chosen })}
              searchable
              w={{ base: '100%', xs: 340 }}
            />
          </>
        }
      />
      <RecordList
        list={list}
        filters={filters}
        label={t.statement}
        keyOf={({ id }) => String(id)}
        phoneRowOf={(entry) => (
          <PhoneRow
            lines={[
              [
                <EntryName key="name" entry={entry} href={hrefOf(entry)} />,
                <SignedAmount key="amount" of={entry.amount} />,
              ],
              [
                <Text key="at" size="xs" c="dimmed" component="span">
                  {format.dateTime(entry.createdAt)}
                </Text>,
                <Text key="after" size="xs" c="dimmed" component="span" style={nowrap} title={t.after}>
                  {t.balance}: {format.money(entry.balance)}
                </Text>,
              ],
            ]}
          />
        )}
        empty={
          <EmptyList
            isFiltered={filters.count > 0}
            noneFound={t.noneFound}
            icon="ledger"
            title={t.none}
            action="charge"
            guide="money"
          >
            {t.noneHint}
          </EmptyList>
        }
        columns={[
          {
            name: t.kind,
            cell: (entry) => <EntryName entry={entry} href={hrefOf(entry)} />,
          },
          {
            name: t.when,
            isHiddenOnPhone: true,
            cell: ({ createdAt }) => (
              <Text size="sm" style={nowrap}>
                {format.dateTime(createdAt)}
              </Text>
            ),
          },
          {
            name: t.amount,
            isAmount: true,
            cell: ({ amount }) => <SignedAmount of={amount} />,
          },
          {
            name: t.after,
            isAmount: true,
            cell: ({ balance }) => (
              <Text size="sm" style={nowrap}>
                {format.money(balance)}
              </Text>
            ),
          },
        ]}
      />
    </Stack>
  )
}

const nowrap = { whiteSpace: 'nowrap' } as const

function SignedAmount({ of: amount }: { of: number }) {
  const format = useFormat()
  return (
    <Text size="sm" fw={600} c={amount < 0 ? undefined : 'var(--mantine-color-teal-light-color)'} style={nowrap}>
      {amount > 0 ? '+' : ''}
      {format.money(amount)}
    </Text>
  )
}

function EntryName({ entry, href }: { entry: StatementEntry; href: string | null }) {
  const t = useText(words)
  const { language } = useLanguage()
  const { kind, id, correctedSubject: subject, correctedReference: reference } = entry
  const description = subject && reference ? correctionTexts[language][subject](reference) : entry.description
  if (href === null)
    return (
      <Text size="sm" title={description ?? undefined}>
        {t.kinds[kind]}
        {description && (
          <Text size="xs" c="dimmed" component="span" display="block">
            {description}
          </Text>
        )}
      </Text>
    )
  return (
    <Anchor component={Link} href={href} size="sm" aria-label={`${t.kinds[kind]}, ${t.entry(String(id))}`}>
      {t.kinds[kind]}
    </Anchor>
  )
}

/** Links an entry to its record. Refunds and disputes are shown with their transaction, which is looked up first. */
function useEntryLink(client: string, entries: StatementEntry[]): (entry: StatementEntry) => string | null {
  const toLink = useClientLink()
  const may = useMay()
  const ids = [
    ...new Set(
      entries
        .filter(({ recordType }) => recordType === 'refund' || recordType === 'infraction')
        .map(({ recordId }) => recordId),
    ),
  ]
  const found = useQuery({
    queryKey: ['statement-transactions', client, ids],
    queryFn: async () => {
      const query = new URLSearchParams([['clientId', client], ...ids.map((id) => ['id', id])])
      return (await request<{ data: { id: string; transactionId: string }[] }>('GET', `/ledger/transactions?${query}`))
        .data
    },
    enabled: ids.length > 0,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return ({ recordType, recordId }) => {
    switch (recordType) {
      case 'transaction':
        return may('transaction.read') ? toLink(`/transactions/${recordId}`) : null
      case 'withdrawal':
        return may('withdrawal.read') ? toLink(`/withdrawals/${recordId}`) : null
      case 'correction':
        return may('reconciliation.read') ? toLink('/reconciliation', { difference: recordId }) : null
      default: {
        const transactionId = found.data?.find(({ id }) => id === recordId)?.transactionId
        return transactionId === undefined ? null : toLink(`/transactions/${transactionId}`)
      }
    }
  }
}

/** The first and the last day of the OFX file, which needs both. If the filters have no first day, it has 31 days. */
function toPeriod(filters: ReturnType<typeof useFilters>): { from: string; until: string } {
  const chosen = periodOf(filters)
  const until = chosen.until ?? todayInBrasilia()
  return { from: chosen.from ?? shiftDay(until, -30), until }
}

function toQuery(filters: ReturnType<typeof useFilters>) {
  const chosen = filters.all('kind').filter((kind): kind is Kind => kinds.some((known) => known === kind))
  const [startDate, endDate] = [dayStart(periodOf(filters).from ?? ''), dayEnd(periodOf(filters).until ?? '')]
  return {
    ...(startDate !== undefined && { startDate }),
    ...(endDate !== undefined && { endDate }),
    ...(chosen.length > 0 && { kind: chosen }),
  }
}
