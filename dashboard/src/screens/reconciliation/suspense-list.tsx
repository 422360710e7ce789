import { Badge, SegmentedControl, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { request, withQuery } from '../../api.ts'
import { Empty } from '../../components/empty.tsx'
import { Amount, RecordList } from '../../components/record-table.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useText } from '../../text.ts'
import type { ListedPaymentView, SuspenseStatus } from '../../types.ts'
import { words } from './suspense-text.ts'
import { words as reconciliationWords } from './text.ts'

/** Payments that are or were in the suspense account. */
export function SuspenseList() {
  const t = useText(words)
  const title = useText(reconciliationWords).suspense
  const format = useFormat()
  const toLink = useClientLink()
  const filters = useFilters()
  const isOpen = filters.get('state') !== 'all'
  const list = useQuery({
    queryKey: ['reconciliation', 'suspense', isOpen, filters.page],
    queryFn: async () =>
      await request<{ total: number; totalPages: number; data: ListedPaymentView[] }>(
        'GET',
        withQuery('/suspense', { isOpen, page: filters.page }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(10_000),
  })
  return (
    <Stack>
      <Text size="sm" c="dimmed" maw={640}>
        {t.lead}
      </Text>
      <SegmentedControl
        aria-label={t.which}
        value={isOpen ? 'open' : 'all'}
        onChange={(value) => filters.set({ state: value === 'all' ? 'all' : '' })}
        data={[
          { value: 'open', label: t.waiting },
          { value: 'all', label: t.all },
        ]}
        style={{ alignSelf: 'flex-start' }}
      />
      <RecordList
        list={list}
        filters={filters}
        label={title}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => toLink(`/reconciliation/suspense/${id}`)}
        empty={
          <Empty icon="check" title={isOpen ? t.none : t.noneAll} guide="suspense">
            {t.noneHint}
          </Empty>
        }
        columns={[
          {
            name: t.payer,
            cell: ({ payerName, paidAt, kind, clientName }) => (
              <>
                <Text size="sm" fw={600}>
                  {payerName ?? t.unknownPayer}
                </Text>
                <Text size="xs" c="dimmed">
                  {format.dateTime(paidAt)} · {t.kinds[kind]}
                  {clientName && ` · ${clientName}`}
                </Text>
              </>
            ),
          },
          { name: t.acquirer, isHiddenOnPhone: true, cell: ({ acquirer }) => acquirer },
          {
            name: t.amount,
            isAmount: true,
            cell: ({ amount }) => <Amount of={amount} />,
          },
          { name: t.state, cell: ({ status }) => <SuspenseStatusBadge of={status} /> },
        ]}
      />
    </Stack>
  )
}

const colors: Record<SuspenseStatus, string> = {
  held: 'orange',
  matched: 'teal',
  returning: 'yellow',
  returned: 'grape',
}

export function SuspenseStatusBadge({ of: status }: { of: SuspenseStatus }) {
  const t = useText(words)
  return (
    <Badge variant="light" color={colors[status]} tt="none" radius="sm" style={{ minWidth: 'max-content' }}>
      {t.statuses[status]}
    </Badge>
  )
}
