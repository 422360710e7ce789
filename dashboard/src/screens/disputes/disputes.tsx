import { Anchor, Button, Group, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import { request } from '../../api.ts'
import { DefenceBadge } from '../../components/defence-badge.tsx'
import { EmptyList } from '../../components/empty.tsx'
import { chosenStatuses, StatusTabs, type Tab } from '../../components/list-tabs.tsx'
import { Page, Section } from '../../components/page.tsx'
import { ListFilters } from '../../components/record-filters.tsx'
import { Amount, CursorList, merchantLine, OneLine, PhoneRow } from '../../components/record-table.tsx'
import { StatusBadge } from '../../components/status.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { newUuid, useKeyUntilSuccess } from '../../idempotency.ts'
import { useRecordLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { periodOf } from '../../periods.ts'
import { useClient, useMay, useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { Disputes as DisputesPage, ListedDispute, UnattributedView } from '../../types.ts'
import { Deadline } from './deadline.tsx'
import { DecideButton } from './decide.tsx'
import { EnterDispute } from './enter.tsx'
import { words } from './text.ts'

const toAnswer: Tab = { name: 'to_answer', statuses: ['to_answer'] }
const tabs: Tab[] = [
  toAnswer,
  { name: 'answered', statuses: ['answered'] },
  { name: 'won', statuses: ['won'] },
  { name: 'lost', statuses: ['lost'] },
]

/** The disputes of a merchant, or of all merchants for the operator. */
export default function Disputes() {
  const t = useText(words)
  const may = useMay()
  const [isEntering, setEntering] = useState(false)
  const [newId, renewId] = useKeyUntilSuccess(newUuid)
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={may('infraction.decide') && <Button onClick={() => setEntering(true)}>{t.enter}</Button>}
    >
      <List />
      {isEntering && <EnterDispute newId={newId} onEntered={renewId} onClose={() => setEntering(false)} />}
    </Page>
  )
}

function useDisputes() {
  const clientId = useClient()
  const filters = useFilters()
  const { from, until } = periodOf(filters)
  const [tab] = chosenStatuses(filters, toAnswer)
  const [after, before] = [filters.get('after'), filters.get('before')]
  const body = {
    ...(clientId !== null && { clientId }),
    ...(tab !== undefined && { tab }),
    ...(from && { from }),
    ...(until && { until }),
    ...(filters.get('due') === 'soon' && { isDueSoon: true }),
    ...(after && { after }),
    ...(!after && before && { before }),
  }
  const list = useQuery({
    queryKey: ['disputes', body],
    queryFn: async () => {
      const answer = await request<DisputesPage>('POST', '/list/dispute', body)
      return { ...answer, aheadMs: Date.parse(answer.now) - Date.now() }
    },
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(15_000, 'disputes'),
  })
  return { list, filters, tab }
}

function List() {
  const t = useText(words)
  const { list, filters, tab } = useDisputes()
  const isDueSoon = filters.get('due') === 'soon'
  return (
    <>
      <ListFilters>
        <Button
          variant={isDueSoon ? 'light' : 'default'}
          aria-pressed={isDueSoon}
          onClick={() => filters.set({ due: isDueSoon ? '' : 'soon' })}
        >
          {t.dueSoon}
        </Button>
      </ListFilters>
      <StatusTabs tabs={tabs} summary={list.data} first={toAnswer} />
      <Rows list={list} filters={filters} isOpenTab={tab === 'to_answer' || tab === 'answered'} />
      <Unattributed disputes={list.data?.unattributed ?? []} />
    </>
  )
}

function Rows({
  list,
  filters,
  isOpenTab,
}: Pick<ReturnType<typeof useDisputes>, 'list' | 'filters'> & { isOpenTab: boolean }) {
  const t = useText(words)
  const format = useFormat()
  const client = useClient()
  const mayDecide = useMay()('infraction.decide')
  const toRecord = useRecordLink()
  const { merchant } = useUser()
  const showsMerchant = merchant === null && client === null
  const aheadMs = list.data?.aheadMs ?? 0
  const [tab] = chosenStatuses(filters, toAnswer)
  const counts = (list.data?.counts ?? []).filter(({ status }) => tab === undefined || status === tab)
  const decide = (row: ListedDispute) =>
    mayDecide && row.finishedAt === null && <DecideButton key="decide" dispute={row} />
  const lastLine = (row: ListedDispute): [ReactNode, ReactNode][] => {
    const [name] = merchantLine(row.clientName)
    return showsMerchant || decide(row) ? [[showsMerchant && name, decide(row)]] : []
  }
  return (
    <CursorList
      list={list}
      filters={filters}
      total={list.data?.isMore ? null : counts.reduce((sum, { count }) => sum + count, 0)}
      live={{ root: 'disputes', kind: 'dispute' }}
      label={t.title}
      keyOf={({ id }) => id}
      hrefOf={({ transactionId, clientId }) => toRecord(`/transactions/${transactionId}`, clientId)}
      phoneRowOf={(row) => (
        <PhoneRow
          lines={[
            [row.payerName ?? row.reason ?? '–', <Amount key="amount" of={row.amount} />],
            [<Deadline key="due" dispute={row} aheadMs={aheadMs} />, <Badges key="state" of={row} />],
            ...lastLine(row),
          ]}
        />
      )}
      columns={[
        {
          name: isOpenTab ? t.deadline : t.deadlineOrEnd,
          cell: (row) => (
            <>
              <Deadline dispute={row} aheadMs={aheadMs} />
              {!isOpenTab && (
                <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
                  {t.openedAt(format.date(row.openedAt))}
                </Text>
              )}
            </>
          ),
        },
        ...(showsMerchant
          ? [{ name: t.merchant, cell: ({ clientName }: ListedDispute) => <OneLine text={clientName} /> }]
          : []),
        { name: t.payer, isHiddenOnPhone: true, cell: (row) => <Claim of={row} /> },
        {
          name: t.defence,
          cell: ({ defence, state }) =>
            defence === null && state !== 'open' ? '–' : <DefenceBadge of={defence ?? 'none'} />,
        },
        { name: t.state, cell: (row) => <State of={row} /> },
        { name: t.amount, isAmount: true, cell: (row) => <Amounts of={row} /> },
        ...(mayDecide
          ? [
              {
                name: t.decision,
                isAmount: true,
                cell: decide,
              },
            ]
          : []),
      ]}
      empty={
        <EmptyList
          isFiltered={filters.count > 0}
          noneFound={t.noneFound}
          icon="disputes"
          title={t.none}
          action="sandbox"
          guide="money"
        >
          {t.noneHint}
        </EmptyList>
      }
    />
  )
}

/** The payer, and the reason that the payer's bank gave. */
function Claim({ of: { payerName, reason } }: { of: ListedDispute }) {
  return (
    <>
      <OneLine text={payerName ?? '–'} />
      {reason && (
        <Text size="xs" c="dimmed" className="one-line" title={reason}>
          {reason}
        </Text>
      )}
    </>
  )
}

/** The disputed amount, and below it the part that was returned, or the part that is blocked if it is not all. */
function Amounts({ of: { amount, blocked, returned, state } }: { of: ListedDispute }) {
  const t = useText(words)
  const format = useFormat()
  const isOpen = state === 'open' || state === 'accepted'
  return (
    <>
      <Amount of={amount} />
      {(returned > 0 || (isOpen && blocked < amount)) && (
        <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
          {returned > 0 ? t.returned(format.money(returned)) : t.blocked(format.money(blocked))}
        </Text>
      )}
    </>
  )
}

const stateColors = { open: 'orange', accepted: 'orange', returned: 'grape', rejected: 'teal', canceled: 'gray' }

function State({ of: { state, unknownStatus, openedAt, isReportedByAcquirer } }: { of: ListedDispute }) {
  const t = useText(words)
  const format = useFormat()
  const origin = `${t.openedAt(format.dateTime(openedAt))}, ${isReportedByAcquirer ? t.byAcquirer : t.byHand}`
  return unknownStatus === null ? (
    <StatusBadge color={stateColors[state]} title={origin}>
      {t.states[state]}
    </StatusBadge>
  ) : (
    <StatusBadge color="red" title={t.unknownStatus(unknownStatus)}>
      {t.unknown}
    </StatusBadge>
  )
}

function Badges({ of }: { of: ListedDispute }) {
  return of.state === 'open' && of.unknownStatus === null ? (
    <DefenceBadge of={of.defence ?? 'none'} />
  ) : (
    <State of={of} />
  )
}

/**
 * Disputes of payments without a transaction. They block no merchant's money, but the operator has to know about them
 * before the payment is attributed.
 */
function Unattributed({ disputes }: { disputes: UnattributedView[] }) {
  const t = useText(words)
  const format = useFormat()
  if (disputes.length === 0) return null
  return (
    <Section title={t.unattributed}>
      {disputes.map(({ amount, acquirer, endToEnd, openedAt, deadline, reason, suspenseId, reference }) => (
        <div key={reference} className="row" style={{ padding: 'var(--mantine-spacing-md) 0' }}>
          <Group gap={8}>
            {suspenseId === null ? (
              <Text fw={650}>{format.money(amount)}</Text>
            ) : (
              <Anchor component={Link} href={`/reconciliation/suspense/${suspenseId}`} fw={650} c="inherit">
                {format.money(amount)}
              </Anchor>
            )}
            <StatusBadge color="orange">{suspenseId === null ? t.noPayment : t.inSuspense}</StatusBadge>
          </Group>
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {acquirer} · {endToEnd} · {t.openedAt(format.dateTime(openedAt))}
            {deadline ? ` · ${t.until(format.dateTime(deadline))}` : ''}
            {reason ? ` · ${reason}` : ''}
          </Text>
        </div>
      ))}
    </Section>
  )
}
