import { Group, SegmentedControl, Select, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { request, withQuery } from '../../api.ts'
import { EmptyList } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Pages } from '../../components/record-table.tsx'
import { useExistingPage, useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { DiscrepancyView, ReconciliationView } from '../../types.ts'
import { DiscrepancyCard } from './discrepancy-card.tsx'
import { words } from './text.ts'

const states = ['open', 'decided', 'resolved'] as const

/** Discrepancies by class: both sides, the proposed action, and the buttons to decide. */
export function Discrepancies({ summary }: { summary: ReconciliationView | undefined }) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const one = filters.get('difference')
  const state = states.find((name) => name === filters.get('state')) ?? 'open'
  const [name, acquirer] = [filters.get('class'), filters.get('acquirer')]
  const list = useQuery({
    queryKey: ['reconciliation', 'differences', one, state, name, acquirer, filters.page],
    queryFn: async () => {
      if (one !== '') {
        const found = await request<DiscrepancyView>('GET', `/reconciliation/difference/${one}`)
        return { total: 1, totalPages: 1, data: [found] }
      }
      const query = { state, class: name, acquirer, page: filters.page }
      return await request<{ total: number; totalPages: number; data: DiscrepancyView[] }>(
        'GET',
        withQuery('/reconciliation/difference', query),
      )
    },
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })
  const isPastEnd = useExistingPage(list.data, filters)
  const countOf = (wanted: string) =>
    summary?.open
      .filter((row) => row.class === wanted && (acquirer === '' || row.acquirer === acquirer))
      .reduce((sum, { count }) => sum + count, 0) ?? 0
  return (
    <Stack>
      <Group align="flex-end" gap="sm">
        <SegmentedControl
          aria-label={t.state}
          value={one === '' ? state : ''}
          onChange={(value) => filters.set({ state: value === 'open' ? '' : value, difference: '' })}
          data={states.map((value) => ({ value, label: t[value] }))}
        />
        <Select
          aria-label={t.class}
          placeholder={`${t.class}: ${t.anyClass}`}
          clearable
          data={Object.entries(t.classes).map(([value, [label]]) => ({
            value,
            label: state === 'open' && countOf(value) > 0 ? `${label} (${format.number(countOf(value))})` : label,
          }))}
          value={name === '' ? null : name}
          onChange={(value) => filters.set({ class: value ?? '', difference: '' })}
          w={230}
        />
        {summary && summary.acquirers.length > 1 && (
          <Select
            aria-label={t.acquirer}
            placeholder={`${t.acquirer}: ${t.anyAcquirer}`}
            clearable
            data={summary.acquirers}
            value={acquirer === '' ? null : acquirer}
            onChange={(value) => filters.set({ acquirer: value ?? '', difference: '' })}
            w={230}
          />
        )}
      </Group>
      {list.isError && <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />}
      {list.data?.data.length === 0 && !isPastEnd && (
        <div className="card">
          <EmptyList
            isFiltered={state !== 'open' || name !== '' || acquirer !== ''}
            noneFound={t.noneFound}
            icon="check"
            title={t.noneOpen}
          >
            <Text size="sm">{t.noneOpenHint}</Text>
          </EmptyList>
        </div>
      )}
      {list.data?.data.map((difference) => (
        <DiscrepancyCard key={difference.id} difference={difference} />
      ))}
      {list.data && list.data.total > 1 && (
        <Pages total={list.data.total} totalPages={list.data.totalPages} page={filters.page} onPage={filters.goTo} />
      )}
    </Stack>
  )
}
