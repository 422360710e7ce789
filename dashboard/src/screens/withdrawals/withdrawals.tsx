import type { WithdrawalFilters, WithdrawalStatus } from '@guiche/sdk'
import { Group, Text } from '@mantine/core'
import { guiche } from '../../api.ts'
import { EmptyList } from '../../components/empty.tsx'
import { ExportButton } from '../../components/export-button.tsx'
import { ListSums, StatusTabs, type Tab } from '../../components/list-tabs.tsx'
import { Page } from '../../components/page.tsx'
import { RecordFilters } from '../../components/record-filters.tsx'
import { Amount, CursorList, merchantLine, OneLine, PhoneRow } from '../../components/record-table.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { Status } from '../../components/status.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useRecordLink } from '../../links.ts'
import { type RecordPage, useRecordList } from '../../record-list.ts'
import { useClient, useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { ListedWithdrawal } from '../../types.ts'
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

const tabs: Tab[] = [
  { name: 'waiting', statuses: ['PENDING', 'PROCESSING'] },
  { name: 'sent', statuses: ['PROCESSED'] },
  { name: 'returned', statuses: ['REFUNDED'] },
  { name: 'failed', statuses: ['FAILED', 'CANCELED', 'REJECTED'] },
]

const textFilters = ['pixKey', 'externalCode', 'endToEnd', 'endToEndRefund', 'id'] as const

/** Withdrawals that are pending review, and the withdrawals of a merchant, or of all merchants for the operator. */
export default function Withdrawals() {
  const t = useText(words)
  const client = useClient()
  const may = useMay()
  const { list, summary, total, exportFilters } = useRecordList<ListedWithdrawal, WithdrawalFilters>('withdrawal', {
    statuses,
    textFilters,
  })
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        <>
          <SavedViews
            screen="withdrawals"
            builtIn={[
              { name: t.sentToday, query: 'status=PROCESSED&period=today' },
              { name: t.failedThisMonth, query: 'status=FAILED&status=CANCELED&status=REJECTED&period=month' },
            ]}
          />
          {client !== null && (
            <ExportButton name="withdrawals" download={async () => await guiche.withdrawals.export(exportFilters)} />
          )}
          {client !== null && may('withdrawal.write') && <RequestButton client={client} />}
        </>
      }
    >
      <PendingReview client={client} />
      <RecordFilters statuses={statuses} textFilters={textFilters} words={t} />
      <StatusTabs tabs={tabs} summary={summary.data} all={t.all} />
      <ListSums summary={summary.data} isOld={summary.isPlaceholderData} settledLabel={t.sent} />
      <List list={list} total={total} showsMerchant={client === null} />
      {client !== null && <Limits client={client} />}
    </Page>
  )
}

function List({
  list,
  total,
  showsMerchant,
}: {
  total: number | null | undefined
  list: { data: RecordPage<ListedWithdrawal> | undefined; error: Error | null; refetch: () => unknown }
  showsMerchant: boolean
}) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const toRecord = useRecordLink()
  const when = (at: string) => (format.isToday(at) ? format.time(at) : format.dateTime(at))
  return (
    <CursorList
      list={list}
      filters={filters}
      total={total}
      live={{ root: 'withdrawals', kind: 'withdrawal' }}
      sorting={{ sort: filters.get('sort') || 'newest', choose: (sort) => filters.set({ sort }) }}
      label={t.title}
      keyOf={({ id }) => id}
      hrefOf={({ id, clientId }) => toRecord(`/withdrawals/${id}`, clientId)}
      phoneRowOf={({ createdAt, pixKey, receiverName, clientName, amount, status, hold }) => (
        <PhoneRow
          lines={[
            [receiverName ?? pixKey, <Amount key="amount" of={amount} />],
            [
              <Text key="at" size="xs" c="dimmed" component="span">
                {when(createdAt)}
              </Text>,
              // A withdrawal that is pending review shows the reason instead of its status.
              hold ? <ReviewBadge key="hold" hold={hold} /> : <Status key="status" of={status} />,
            ],
            ...(showsMerchant ? [merchantLine(clientName)] : []),
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
          ? [{ name: t.merchant, cell: ({ clientName }: ListedWithdrawal) => <OneLine text={clientName} /> }]
          : []),
        {
          name: t.receiver,
          isHiddenOnPhone: true,
          cell: ({ receiverName }) => <OneLine text={receiverName ?? '–'} />,
        },
        { name: t.pixKey, isHiddenOnPhone: true, cell: ({ pixKey }) => <OneLine text={pixKey} /> },
        {
          name: t.externalCode,
          isHiddenOnPhone: true,
          cell: ({ externalCode }) => <OneLine text={externalCode ?? '–'} isIdentifier />,
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
        { name: t.amount, isAmount: true, cell: ({ amount }) => <Amount of={amount} /> },
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
  )
}
