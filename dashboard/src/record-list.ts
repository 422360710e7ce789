import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { request } from './api.ts'
import { dayEnd, dayStart } from './days.ts'
import { useFilters } from './filters.ts'
import { useRefreshEvery } from './live.ts'
import { periodOf } from './periods.ts'
import { useClient } from './session.tsx'
import type { ListSummary } from './types.ts'

export type RecordPage<Row> = { next: string | null; previous: string | null; data: Row[] }

/**
 * A page of the transactions or withdrawals that the filters leave, the sums of all of them, and the filters of their
 * export. `textFilters`: the names of filters that the request has under the same name.
 */
export function useRecordList<Row, ExportFilters>(
  record: 'transaction' | 'withdrawal',
  { statuses, textFilters }: { statuses: string[]; textFilters: readonly string[] },
) {
  const clientId = useClient() ?? undefined
  const filters = useFilters()
  const { from, until } = periodOf(filters)
  const get = (name: string) => filters.get(name) || undefined
  const status = statuses.filter((one) => filters.all('status').includes(one))
  const chosen = {
    ...Object.fromEntries(textFilters.map((name) => [name, get(name)])),
    ...Object.fromEntries(['minAmount', 'maxAmount'].map((name) => [name, get(name) && Number(get(name))])),
    ...(status.length > 0 && { status }),
  }
  const query = { ...chosen, clientId, from, until }
  const after = get('after')
  const body = { ...query, sort: get('sort'), after, before: after ? undefined : get('before') }
  const list = useQuery({
    queryKey: [`${record}s`, body],
    queryFn: async () => await request<RecordPage<Row>>('POST', `/list/${record}`, body),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(15_000, `${record}s`),
  })
  const summary = useQuery({
    queryKey: [`${record}s`, 'summary', query],
    queryFn: async () => await request<ListSummary>('POST', `/list/${record}/summary`, query),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(30_000, `${record}s`),
    // The summary is requested once the list is loaded.
    enabled: list.data !== undefined,
  })
  const exportFilters = { ...chosen, startDate: dayStart(from ?? ''), endDate: dayEnd(until ?? '') } as ExportFilters
  return {
    list,
    summary,
    total: summary.isPlaceholderData ? null : summary.data?.count,
    exportFilters,
  }
}
