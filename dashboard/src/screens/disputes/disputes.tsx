import { Anchor, Badge, Button, Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Amount, Pages, RecordList } from '../../components/record-table.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useRefreshEvery } from '../../live.ts'
import { useClient, useMay, useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { Disputes as DisputesPage, DisputeView, UnattributedView } from '../../types.ts'
import { EnterDispute } from './enter.tsx'
import { OpenDispute } from './open.tsx'
import { words } from './text.ts'

/** Open disputes with their deadlines, and closed disputes with their outcomes. */
export default function Disputes() {
  const t = useText(words)
  const may = useMay()
  const [isEntering, setEntering] = useState(false)
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={may('infraction.decide') && <Button onClick={() => setEntering(true)}>{t.enter}</Button>}
    >
      <OpenDisputes />
      <ClosedDisputes />
      {isEntering && <EnterDispute onClose={() => setEntering(false)} />}
    </Page>
  )
}

function useDisputes(isOpen: boolean, page: number) {
  const clientId = useClient()
  return useQuery({
    queryKey: ['disputes', clientId, isOpen, page],
    queryFn: async () => {
      const answer = await request<DisputesPage>('GET', withQuery('/infraction', { clientId, isOpen, page }))
      return { ...answer, aheadMs: Date.parse(answer.now) - Date.now() }
    },
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(15_000),
  })
}

function OpenDisputes() {
  const t = useText(words)
  const [page, setPage] = useState(1)
  const disputes = useDisputes(true, page)
  if (disputes.isError) return <ErrorNotice error={disputes.error} onRetry={() => void disputes.refetch()} />
  const { data } = disputes
  return (
    <Section title={t.open}>
      {data === undefined && <Skeleton height={90} />}
      {data?.total === 0 && (
        <Empty icon="disputes" title={t.none} action="sandbox" guide="money">
          {t.noneHint}
        </Empty>
      )}
      <Stack gap={0}>
        {data?.data.map((dispute) => (
          <OpenDispute key={dispute.id} dispute={dispute} aheadMs={data.aheadMs} />
        ))}
      </Stack>
      {data?.unattributed.map((dispute) => (
        <Unattributed key={dispute.reference} dispute={dispute} />
      ))}
      {data && data.total > 1 && <Pages total={data.total} totalPages={data.totalPages} page={page} onPage={setPage} />}
    </Section>
  )
}

/**
 * A dispute of a payment without a transaction. It blocks no merchant's money, but the operator has to know about it
 * before the payment is attributed.
 */
function Unattributed({ dispute }: { dispute: UnattributedView }) {
  const t = useText(words)
  const format = useFormat()
  const { amount, acquirer, endToEnd, openedAt, deadline, reason, suspenseId } = dispute
  return (
    <div className="row" style={{ padding: 'var(--mantine-spacing-md) 0' }}>
      <Group gap={8}>
        {suspenseId === null ? (
          <Text fw={650}>{format.money(amount)}</Text>
        ) : (
          <Anchor component={Link} href={`/reconciliation/suspense/${suspenseId}`} fw={650} c="inherit">
            {format.money(amount)}
          </Anchor>
        )}
        <Badge variant="light" color="orange" tt="none" radius="sm">
          {suspenseId === null ? t.noPayment : t.inSuspense}
        </Badge>
      </Group>
      <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
        {acquirer} · {endToEnd} · {t.openedAt(format.dateTime(openedAt))}
        {deadline ? ` · ${t.until(format.dateTime(deadline))}` : ''}
        {reason ? ` · ${reason}` : ''}
      </Text>
    </div>
  )
}

const stateColors = { open: 'orange', accepted: 'orange', returned: 'grape', rejected: 'teal', canceled: 'gray' }

function ClosedDisputes() {
  const t = useText(words)
  const format = useFormat()
  const { merchant } = useUser()
  const filters = useFilters()
  const disputes = useDisputes(false, filters.page)
  return (
    <section aria-label={t.ended}>
      <Title order={2} mb="sm">
        {t.ended}
      </Title>
      <RecordList
        list={disputes}
        filters={filters}
        label={t.ended}
        keyOf={({ id }) => id}
        linkOf={(dispute) => linkOf(dispute, merchant === null)}
        empty={
          <Empty icon="disputes" title={t.noneEnded} guide="money">
            {t.noneEndedHint}
          </Empty>
        }
        columns={[
          {
            name: t.endedAt,
            cell: ({ finishedAt }) => <Text size="sm">{finishedAt && format.dateTime(finishedAt)}</Text>,
          },
          { name: t.merchant, isMinor: true, cell: ({ clientName }) => <Text size="sm">{clientName}</Text> },
          {
            name: t.opened,
            isMinor: true,
            cell: ({ openedAt, reason }) => (
              <>
                <Text size="sm">{format.dateTime(openedAt)}</Text>
                {reason && (
                  <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                    {reason}
                  </Text>
                )}
              </>
            ),
          },
          {
            name: t.state,
            cell: ({ state }) => (
              <Badge
                variant="light"
                color={stateColors[state]}
                tt="none"
                radius="sm"
                style={{ flexShrink: 0, minWidth: 'max-content' }}
              >
                {t.states[state]}
              </Badge>
            ),
          },
          {
            name: t.amount,
            isAmount: true,
            cell: ({ amount }) => <Amount of={amount} />,
          },
        ]}
      />
    </section>
  )
}

function linkOf({ transactionId, clientId }: DisputeView, isOperator: boolean): string {
  const path = `/transactions/${transactionId}`
  return isOperator ? `${path}?${new URLSearchParams({ client: clientId })}` : path
}
