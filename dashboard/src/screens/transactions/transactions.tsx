import type { TransactionFilters, TransactionStatus } from '@guiche/sdk'
import { MultiSelect, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { guiche } from '../../api.ts'
import { RequireClient } from '../../components/choose-client.tsx'
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
import { useText } from '../../text.ts'
import { words } from './text.ts'

const statuses: TransactionStatus[] = [
  'PENDING',
  'PIX_QRCODE_GENERATED',
  'PAID',
  'FAILED',
  'PROCESSING_REFUND',
  'REFUNDED',
  'BLOCKED',
  'PROCESSING_INFRACTION',
  'INFRACTION',
]

const textFilters = [
  'customerName',
  'customerDocument',
  'customerEmail',
  'customerPhone',
  'externalCode',
  'endToEnd',
] as const

/** The transactions of a merchant, with all filters of the API. */
export default function Transactions() {
  const t = useText(words)
  return <RequireClient title={t.title}>{(client) => <List client={client} />}</RequireClient>
}

function List({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const nameOf = useStatusName()
  const toLink = useClientLink()
  const filters = useFilters()
  const query = toQuery(filters)
  const list = useQuery({
    queryKey: ['transactions', client, query, filters.page],
    queryFn: async () => await guiche.transactions.list({ ...query, page: filters.page }).page(),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(15_000),
  })
  return (
    <Page
      title={t.title}
      actions={<ExportButton name="transactions" download={async () => await guiche.transactions.export(query)} />}
    >
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
        live={{ root: 'transactions', kind: 'transaction' }}
        label={t.title}
        keyOf={({ id }) => id}
        linkOf={({ id }) => toLink(`/transactions/${id}`)}
        phoneOf={({ createdAt, customer, externalCode, amount, status }) => (
          <PhoneRow
            lines={[
              [customer?.name ?? externalCode ?? '–', <Amount key="amount" of={amount} />],
              [
                <Text key="at" size="xs" c="dimmed" component="span">
                  {format.dateTime(createdAt)}
                </Text>,
                <Status key="status" of={status} />,
              ],
            ]}
          />
        )}
        columns={[
          { name: t.created, cell: ({ createdAt }) => <Text size="sm">{format.dateTime(createdAt)}</Text> },
          {
            name: t.customer,
            isMinor: true,
            cell: ({ customer, externalCode }) => (
              <>
                <Text size="sm">{customer?.name ?? '–'}</Text>
                {externalCode && (
                  <Text size="xs" c="dimmed" className="identifier">
                    {externalCode}
                  </Text>
                )}
              </>
            ),
          },
          { name: t.status, cell: ({ status }) => <Status of={status} /> },
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
            icon="transactions"
            title={t.none}
            action="charge"
            guide="money"
          >
            {t.noneHint}
          </EmptyList>
        }
      />
    </Page>
  )
}

function toQuery({ get, all }: ReturnType<typeof useFilters>): TransactionFilters {
  const status = statuses.filter((one) => all('status').includes(one))
  const amount = (name: string) => (get(name) === '' ? undefined : Number(get(name)))
  const texts = textFilters.flatMap((name) => (get(name) === '' ? [] : [[name, get(name)]]))
  return {
    ...(Object.fromEntries(texts) as TransactionFilters),
    ...(status.length > 0 && { status }),
    ...defined({
      startDate: dayStart(get('from')),
      endDate: dayEnd(get('until')),
      minAmount: amount('minAmount'),
      maxAmount: amount('maxAmount'),
    }),
  }
}

function defined<Values extends object>(values: Values): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Values]?: Exclude<Values[Name], undefined>
  }
}
