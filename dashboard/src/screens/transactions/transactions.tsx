import type { TransactionFilters, TransactionStatus } from '@guiche/sdk'
import { Anchor, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { guiche, request } from '../../api.ts'
import { EmptyList } from '../../components/empty.tsx'
import { ExportButton } from '../../components/export-button.tsx'
import { ListSums, StatusTabs, type Tab } from '../../components/list-tabs.tsx'
import { Page } from '../../components/page.tsx'
import { RecordFilters } from '../../components/record-filters.tsx'
import { Amount, CursorList, merchantLine, OneLine, PhoneRow } from '../../components/record-table.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { useSelection } from '../../components/selection.tsx'
import { TransactionStatus as TransactionState } from '../../components/status.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink, useRecordLink } from '../../links.ts'
import { type RecordPage, useRecordList } from '../../record-list.ts'
import { useClient, useMay, useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { LinkDetailResponse, ListedTransaction } from '../../types.ts'
import { leftToRefund, RefundMany } from './refund-many.tsx'
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

const tabs: Tab[] = [
  { name: 'waiting', statuses: ['PENDING', 'PIX_QRCODE_GENERATED'] },
  { name: 'paid', statuses: ['PAID'] },
  { name: 'refunded', statuses: ['PROCESSING_REFUND', 'REFUNDED'] },
  { name: 'disputed', statuses: ['BLOCKED', 'PROCESSING_INFRACTION', 'INFRACTION'] },
  { name: 'failed', statuses: ['FAILED'] },
]

const textFilters = [
  'customerName',
  'customerDocument',
  'customerEmail',
  'customerPhone',
  'externalCode',
  'endToEnd',
] as const

/** The transactions of a merchant, or of all merchants for the operator. */
export default function Transactions() {
  const t = useText(words)
  const client = useClient()
  const { merchant } = useUser()
  const filters = useFilters()
  const { list, summary, total, exportFilters } = useRecordList<ListedTransaction, TransactionFilters>('transaction', {
    statuses,
    textFilters: [...textFilters, 'linkId'],
  })
  return (
    <Page
      title={t.title}
      actions={
        <>
          <SavedViews
            screen="transactions"
            builtIn={[
              { name: t.paidToday, query: 'status=PAID&period=today' },
              { name: t.refundedThisMonth, query: 'status=PROCESSING_REFUND&status=REFUNDED&period=month' },
              { name: t.failedYesterday, query: 'status=FAILED&period=yesterday' },
            ]}
          />
          {/* The export cannot filter by payment link, so the button is hidden then. */}
          {client !== null && filters.get('linkId') === '' && (
            <ExportButton name="transactions" download={async () => await guiche.transactions.export(exportFilters)} />
          )}
        </>
      }
    >
      <RecordFilters
        statuses={statuses}
        // The search by customer name needs one merchant.
        textFilters={textFilters.filter((name) => client !== null || name !== 'customerName')}
        words={t}
      />
      {filters.get('linkId') !== '' && <OfLink id={filters.get('linkId')} />}
      <StatusTabs tabs={tabs} summary={summary.data} />
      <ListSums
        summary={summary.data}
        isOld={summary.isPlaceholderData}
        settledLabel={t.paid}
        unpaid={['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED']}
      />
      <List list={list} total={total} showsMerchant={merchant === null && client === null} isSorted={client !== null} />
    </Page>
  )
}

/** Names the payment link whose payments are listed. */
function OfLink({ id }: { id: string }) {
  const t = useText(words)
  const toLink = useClientLink()
  const link = useQuery({
    queryKey: ['link', id],
    queryFn: async () => await request<LinkDetailResponse>('GET', `/link/${id}`),
  })
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {t.ofLink}{' '}
      <Anchor component={Link} href={toLink(`/links/${id}`)} size="sm" underline="always">
        {link.data?.title ?? id}
      </Anchor>
    </Text>
  )
}

function List({
  list,
  total,
  showsMerchant,
  isSorted,
}: {
  total: number | null | undefined
  list: { data: RecordPage<ListedTransaction> | undefined; error: Error | null; refetch: () => unknown }
  showsMerchant: boolean
  isSorted: boolean
}) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const toRecord = useRecordLink()
  const may = useMay()
  const refundable = may('refund.write') ? (list.data?.data ?? []).filter((row) => leftToRefund(row) > 0) : []
  const selection = useSelection(refundable, ({ id }) => id)
  const when = (at: string) => (format.isToday(at) ? format.time(at) : format.dateTime(at))
  const rows = (
    <CursorList
      list={list}
      filters={filters}
      total={total}
      live={{ root: 'transactions', kind: 'transaction' }}
      sorting={{ sort: filters.get('sort') || 'newest', choose: (sort) => filters.set({ sort }) }}
      label={t.title}
      keyOf={({ id }) => id}
      hrefOf={({ id, clientId }) => toRecord(`/transactions/${id}`, clientId)}
      phoneRowOf={(row) => (
        <PhoneRow
          lines={[
            [
              row.customerName ?? row.payerName ?? row.externalCode ?? '–',
              <Amount key="amount" of={row.amountPaid ?? row.amount} />,
            ],
            [
              <Text key="at" size="xs" c="dimmed" component="span">
                {format.isToday(row.createdAt) ? format.time(row.createdAt) : format.minute(row.createdAt)}
              </Text>,
              <Badge key="status" of={row} />,
            ],
            ...(showsMerchant ? [merchantLine(row.clientName)] : []),
          ]}
        />
      )}
      columns={[
        {
          name: t.created,
          sorts: ['newest', 'oldest'],
          cell: ({ createdAt }) => <OneLine text={when(createdAt)} title={format.dateTime(createdAt)} />,
        },
        ...(showsMerchant
          ? [{ name: t.merchant, cell: ({ clientName }: ListedTransaction) => <OneLine text={clientName} /> }]
          : []),
        {
          name: t.customer,
          isHiddenOnPhone: true,
          cell: ({ customerName, payerName }) => <OneLine text={customerName ?? payerName ?? '–'} />,
        },
        {
          name: t.externalCode,
          isHiddenOnPhone: true,
          cell: ({ externalCode }) => <OneLine text={externalCode ?? '–'} isIdentifier />,
        },
        {
          name: t.paidAt,
          isHiddenOnPhone: true,
          cell: ({ createdAt, paidAt }) =>
            paidAt === null ? (
              '–'
            ) : (
              <OneLine
                text={format.date(paidAt) === format.date(createdAt) ? format.time(paidAt) : when(paidAt)}
                title={format.dateTime(paidAt)}
              />
            ),
        },
        { name: t.status, cell: (row) => <Badge of={row} /> },
        {
          name: t.amount,
          isAmount: true,
          ...(isSorted && { sorts: ['highest', 'lowest'] as const }),
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
      selection={{
        ...selection,
        nameOf: (row) =>
          t.select(format.money(leftToRefund(row)), row.customerName ?? row.payerName ?? row.externalCode ?? row.id),
      }}
    />
  )
  return (
    <>
      {rows}
      <RefundMany selection={selection} />
    </>
  )
}

function Badge({ of: { status, amountPaid, refunded } }: { of: ListedTransaction }) {
  return <TransactionState of={{ status, amountPaid: amountPaid ?? 0, amountRefunded: refunded }} />
}
