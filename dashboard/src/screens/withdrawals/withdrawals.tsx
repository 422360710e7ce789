import type { WithdrawalFilters, WithdrawalStatus } from '@guiche/sdk'
import { Group, MultiSelect, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { guiche } from '../../api.ts'
import { ChooseClient } from '../../components/choose-client.tsx'
import { EmptyList } from '../../components/empty.tsx'
import { ExportButton } from '../../components/export-button.tsx'
import { FilterBar } from '../../components/filter-bar.tsx'
import { DayInput, MoneyFilter, TextFilter } from '../../components/filter-inputs.tsx'
import { Page } from '../../components/page.tsx'
import { Amount, PhoneRow, RecordList } from '../../components/record-table.tsx'
import { Status, useStatusName } from '../../components/status.tsx'
import { dayEnd, dayStart, useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useClient, useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import { Limits } from './limits.tsx'
import { PendingReview, ReviewBadge } from './pending-review.tsx'
import { RequestButton } from './request.tsx'
import { words } from './text.ts'

const statuses: WithdrawalStatus[] = [
  'PENDING',
  'PROCESSING',
  'PROCESSED',
  'FAILED',
  'CANCELED',
  'REJECTED',
  'REFUNDED',
]

const textFilters = ['pixKey', 'externalCode', 'endToEnd', 'endToEndRefund', 'id'] as const

/** Withdrawals that are pending review, and a merchant's withdrawals with all filters of the API. */
export default function Withdrawals() {
  const t = useText(words)
  const client = useClient()
  const may = useMay()
  const filters = useFilters()
  const query = toQuery(filters)
  if (client === null) {
    return (
      <Page title={t.title} lead={t.lead}>
        <PendingReview client={null} />
        <ChooseClient selectsOnlyClient />
      </Page>
    )
  }
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        <>
          <ExportButton name="withdrawals" download={async () => await guiche.withdrawals.export(query)} />
          {may('withdrawal.write') && <RequestButton client={client} />}
        </>
      }
    >
      <PendingReview client={client} />
      <List client={client} query={query} />
      <Limits client={client} />
    </Page>
  )
}

function List({ client, query }: { client: string; query: WithdrawalFilters }) {
  const t = useText(words)
  const format = useFormat()
  const nameOf = useStatusName()
  const toLink = useClientLink()
  const filters = useFilters()
  const list = useQuery({
    queryKey: ['withdrawals', client, query, filters.page],
    queryFn: async () => await guiche.withdrawals.list({ ...query, page: filters.page }).page(),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(15_000),
  })
  return (
    <>
      <FilterBar
        count={filters.count}
        onClear={filters.clear}
        common={
          <>
            <MultiSelect
              label={t.status}
              placeholder={query.status ? undefined : t.anyStatus}
              data={statuses.map((value) => ({ value, label: nameOf(value) }))}
              value={filters.all('status')}
              onChange={(value) => filters.set({ status: value })}
              clearable
              w={{ base: '100%', xs: 260 }}
            />
            <DayInput label={t.from} name="from" />
            <DayInput label={t.until} name="until" />
          </>
        }
        more={
          <>
            <MoneyFilter label={t.minAmount} name="minAmount" />
            <MoneyFilter label={t.maxAmount} name="maxAmount" />
            {textFilters.map((name) => (
              <TextFilter key={name} label={t[name]} name={name} />
            ))}
          </>
        }
      />
      <RecordList
        list={list}
        filters={filters}
        live={{ root: 'withdrawals', kind: 'withdrawal' }}
        label={t.title}
        keyOf={({ id }) => id}
        linkOf={({ id }) => toLink(`/withdrawals/${id}`)}
        phoneOf={({ createdAt, pixKey, amount, status, hold }) => (
          <PhoneRow
            lines={[
              [pixKey?.key ?? '–', <Amount key="amount" of={amount} />],
              [
                <Text key="at" size="xs" c="dimmed" component="span">
                  {format.dateTime(createdAt)}
                </Text>,
                // A withdrawal that is pending review shows the reason instead of its status.
                hold ? <ReviewBadge key="hold" hold={hold} /> : <Status key="status" of={status} />,
              ],
            ]}
          />
        )}
        columns={[
          { name: t.created, cell: ({ createdAt }) => <Text size="sm">{format.dateTime(createdAt)}</Text> },
          {
            name: t.pixKey,
            isMinor: true,
            cell: ({ pixKey, externalCode }) => (
              <>
                <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {pixKey?.key ?? '–'}
                </Text>
                {externalCode && (
                  <Text size="xs" c="dimmed" className="identifier">
                    {externalCode}
                  </Text>
                )}
              </>
            ),
          },
          {
            name: t.status,
            cell: ({ status, hold }) => (
              <Group gap={6}>
                <Status of={status} />
                {hold && <ReviewBadge hold={hold} />}
              </Group>
            ),
          },
          {
            name: t.amount,
            isAmount: true,
            cell: ({ amount }) => <Amount of={amount} />,
          },
        ]}
        empty={
          <EmptyList
            isFiltered={filters.count > 0}
            noneFound={t.noneFound}
            icon="withdrawals"
            title={t.none}
            guide="withdrawals"
          >
            {t.noneHint}
          </EmptyList>
        }
      />
    </>
  )
}

function toQuery({ get, all }: ReturnType<typeof useFilters>): WithdrawalFilters {
  const status = statuses.filter((one) => all('status').includes(one))
  const startDate = dayStart(get('from'))
  const endDate = dayEnd(get('until'))
  const texts = textFilters.flatMap((name) => (get(name) === '' ? [] : [[name, get(name)]]))
  const amounts = ['minAmount', 'maxAmount'].flatMap((name) => (get(name) === '' ? [] : [[name, Number(get(name))]]))
  return {
    ...(Object.fromEntries([...texts, ...amounts]) as WithdrawalFilters),
    ...(status.length > 0 && { status }),
    ...(startDate !== undefined && { startDate }),
    ...(endDate !== undefined && { endDate }),
  }
}
