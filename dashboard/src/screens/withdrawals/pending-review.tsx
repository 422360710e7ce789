import { Anchor, Badge, Group, Skeleton, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Section } from '../../components/page.tsx'
import { Pages } from '../../components/record-table.tsx'
import { SelectAll, type Selection, SelectOne, useSelection } from '../../components/selection.tsx'
import { Status } from '../../components/status.tsx'
import { useFormat } from '../../format.ts'
import { useRecordLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useMay, useUser } from '../../session.tsx'
import { useActorName, useText } from '../../text.ts'
import type { WithdrawalView } from '../../types.ts'
import { BulkDecisions } from './bulk.tsx'
import { Decisions } from './decide.tsx'
import { ReceiverHistory, ReviewFlags } from './receiver.tsx'
import { words } from './text.ts'

type Answer = { total: number; totalPages: number; data: WithdrawalView[] }

/**
 * Withdrawals that are pending review, of all merchants or of one. The section of one merchant is hidden while it has
 * no such withdrawal.
 */
export function PendingReview({ client }: { client: string | null }) {
  const t = useText(words)
  const may = useMay()
  const [page, setPage] = useState(1)
  const pending = useQuery({
    queryKey: ['pending-review', client, page],
    queryFn: async () =>
      await request<Answer>('GET', withQuery('/withdrawal/pending-review', { clientId: client, page })),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(10_000),
  })
  const decidable = (pending.data?.data ?? []).filter(
    ({ obstacle, hold }) => may('withdrawal.approve') && obstacle === null && hold !== null,
  )
  const selection = useSelection(decidable, ({ id }) => id)
  // The last withdrawal of the last page was decided.
  const lastPage = Math.max(1, pending.data?.totalPages ?? page)
  if (!pending.isPlaceholderData && page > lastPage) setPage(lastPage)
  if (pending.isLoadingError) return <ErrorNotice error={pending.error} onRetry={() => void pending.refetch()} />
  const isHidden = client !== null && !pending.data?.total
  return (
    <>
      {!isHidden && (
        <Section title={t.waiting} aside={decidable.length > 1 && <SelectAll of={selection} label />}>
          {pending.data === undefined && <Skeleton height={80} />}
          {pending.data?.total === 0 && (
            <Empty icon="check" title={t.nothingWaits}>
              {t.nothingWaitsHint}
            </Empty>
          )}
          <Stack gap={0}>
            {pending.data?.data.map((withdrawal) => (
              <WithdrawalRow
                key={withdrawal.id}
                withdrawal={withdrawal}
                {...(decidable.length > 1 && decidable.includes(withdrawal) && { selection })}
              />
            ))}
          </Stack>
          {pending.data && pending.data.total > 1 && (
            <Pages
              total={pending.data.total}
              totalPages={pending.data.totalPages}
              page={page}
              onPage={(next) => {
                setPage(next)
                selection.choose([])
              }}
            />
          )}
        </Section>
      )}
      {/* The result of a decision stays when no withdrawal is left. */}
      <BulkDecisions selection={selection} />
    </>
  )
}

function WithdrawalRow({
  withdrawal,
  selection,
}: {
  withdrawal: WithdrawalView
  selection?: Selection<WithdrawalView>
}) {
  const t = useText(words)
  const format = useFormat()
  const { id, clientId, clientName, amount, pixKey, receiver } = withdrawal
  const { merchant } = useUser()
  const toRecord = useRecordLink()
  const toLink = (one: string) => toRecord(`/withdrawals/${one}`, clientId)
  return (
    <Group className="row" py="sm" justify="space-between" align="center" gap="sm" component="article">
      {selection && <SelectOne of={selection} row={withdrawal} label={t.select(format.money(amount), pixKey.key)} />}
      <div style={{ flex: '1 1 240px', minWidth: 0 }}>
        <Group gap={8}>
          <Anchor component={Link} href={toLink(id)} fw={650} c="inherit">
            {format.money(amount)}
          </Anchor>
          {!merchant && <Text size="sm">{clientName}</Text>}
          <ReviewFlags withdrawal={withdrawal} />
        </Group>
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {pixKey.key}{' '}
          <Text span size="xs" c="dimmed">
            {t.keyTypes[pixKey.type]}
          </Text>
        </Text>
        <ReceiverHistory of={receiver} />
        <WhyPending withdrawal={withdrawal} toLink={toLink} />
      </div>
      <Decisions withdrawal={withdrawal} />
    </Group>
  )
}

/** Why a withdrawal is pending review, who requested it, and the earlier withdrawal that it may duplicate. */
export function WhyPending({
  withdrawal: { hold, approvalAbove, requestedBy, isOperators, isThroughOperators, createdAt, earlier },
  toLink,
}: {
  withdrawal: WithdrawalView
  toLink: (id: string) => string
}) {
  const t = useText(words)
  const format = useFormat()
  const nameOf = useActorName()
  const at = format.dateTime(createdAt)
  const limit = approvalAbove === null ? null : format.money(approvalAbove)
  const approval =
    isThroughOperators && approvalAbove === 0
      ? t.reviewReasons[isOperators ? 'operators' : 'operatorMadeAccess']
      : t.reviewReasons.approval(limit)
  return (
    <>
      <Text size="xs" c="dimmed">
        {hold === 'approval' && `${approval}. `}
        {hold === 'duplicate' && `${t.reviewReasons.duplicate}. `}
        {requestedBy === null ? t.requestedByMerchant(at) : t.requestedBy(nameOf(requestedBy), at)}
      </Text>
      {earlier && (
        <Group gap={8} mt={4}>
          <Anchor component={Link} href={toLink(earlier.id)} size="xs">
            {t.earlier(format.duration(Date.parse(createdAt) - Date.parse(earlier.createdAt)))}
          </Anchor>
          <Status of={earlier.status} />
        </Group>
      )}
    </>
  )
}

export function ReviewBadge({ hold }: { hold: 'approval' | 'duplicate' }) {
  const t = useText(words)
  return (
    <Badge variant="light" color="orange" tt="none" radius="sm" style={{ flexShrink: 0, minWidth: 'max-content' }}>
      {t.reviewBadges[hold]}
    </Badge>
  )
}
