import { SegmentedControl, SimpleGrid, Skeleton, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useParams } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page } from '../../components/page.tsx'
import { Amount, PhoneRow, RecordList } from '../../components/record-table.tsx'
import { Status } from '../../components/status.tsx'
import { Tile } from '../../components/tile.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useText } from '../../text.ts'
import type { CustomerView } from '../../types.ts'
import { words } from './text.ts'

/** The customer whom a transaction names, with all transactions of the same document or e-mail address. */
export default function Customer() {
  const t = useText(words)
  const format = useFormat()
  const { id } = useParams<{ id: string }>()
  const filters = useFilters()
  const by = filters.get('by') === 'email' ? 'email' : 'document'
  const customer = useQuery({
    queryKey: ['customer', id, by, filters.page],
    queryFn: async () =>
      await request<CustomerView>('GET', withQuery(`/customer/${encodeURIComponent(id)}`, { by, page: filters.page })),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })
  if (customer.isLoadingError) return <ErrorNotice error={customer.error} onRetry={() => void customer.refetch()} />
  const { data } = customer
  return (
    <Page
      title={data?.name ?? (data?.isErased ? t.erased : t.title)}
      lead={
        [data?.document && format.document(data.document), data?.email].filter((part) => part).join(' · ') || t.lead
      }
      actions={
        // An erased customer has no e-mail address, but the address of this page may still have `by=email`.
        (data?.email || (data && by === 'email')) && (
          <SegmentedControl
            size="xs"
            aria-label={t.by}
            value={by}
            onChange={(next) => filters.set({ by: next === 'email' ? 'email' : '' })}
            data={[
              { value: 'document', label: t.document },
              { value: 'email', label: t.email },
            ]}
          />
        )
      }
    >
      {data?.totals ? <Totals customer={data} totals={data.totals} /> : !data && <Skeleton height={110} />}
      <Transactions customer={customer} by={by} />
    </Page>
  )
}

type Totals = NonNullable<CustomerView['totals']>

function Totals({ customer, totals }: { customer: CustomerView; totals: Totals }) {
  const t = useText(words)
  const format = useFormat()
  const { paid, amountPaid, amountRefunded, amountReturned, firstAt, lastAt, coversOnlyNewest } = totals
  const date = (at: string | null) => (at === null ? '–' : format.date(at))
  const ago = (at: string | null) => (at === null ? '' : format.fromNow(at))
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
        <Tile
          label={t.paid}
          value={format.money(amountPaid)}
          note={t.paidOf(format.number(paid), format.number(customer.total))}
        />
        <Tile
          label={t.refunded}
          value={format.money(amountRefunded)}
          note={amountReturned === 0 ? t.noneReturned : t.returned(format.money(amountReturned))}
        />
        <Tile label={t.first} value={date(firstAt)} note={ago(firstAt)} />
        <Tile label={t.last} value={date(lastAt)} note={ago(lastAt)} />
      </SimpleGrid>
      {coversOnlyNewest && (
        <Text size="xs" c="dimmed">
          {t.ofNewest}
        </Text>
      )}
    </>
  )
}

type List = { data: CustomerView | undefined; error: Error | null; refetch: () => unknown }

function Transactions({ customer, by }: { customer: List; by: 'document' | 'email' }) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const filters = useFilters()
  const { data } = customer
  const isWithoutEmail = by === 'email' && (data?.document !== null || data.isErased)
  return (
    <RecordList
      list={customer}
      filters={filters}
      label={t.transactions}
      keyOf={({ id }) => id}
      hrefOf={({ id }) => toLink(`/transactions/${id}`)}
      empty={
        <Empty icon="account" title={isWithoutEmail ? t.noneByEmail : t.none}>
          {isWithoutEmail ? t.noneByEmailHint : t.noneHint}
        </Empty>
      }
      phoneRowOf={({ createdAt, externalCode, amount, status }) => (
        <PhoneRow
          lines={[
            [externalCode ?? '–', <Amount key="amount" of={amount} />],
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
        { name: t.code, cell: ({ externalCode }) => <Text size="sm">{externalCode ?? '–'}</Text> },
        { name: t.amount, isAmount: true, cell: ({ amount }) => <Amount of={amount} /> },
        { name: t.status, cell: ({ status }) => <Status of={status} /> },
      ]}
    />
  )
}
