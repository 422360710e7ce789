import { Select, type SelectProps } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { request } from '../../api.ts'
import { useRefreshEvery } from '../../live.ts'
import { useText } from '../../text.ts'
import type { ReconciliationView } from '../../types.ts'
import { words } from './text.ts'

export function useSummary() {
  return useQuery({
    queryKey: ['reconciliation', 'summary'],
    queryFn: async () => await request<ReconciliationView>('GET', '/reconciliation'),
    refetchInterval: useRefreshEvery(10_000),
  })
}

/** Hidden if there is only one PSP. */
export function AcquirerSelect({ names, ...input }: { names: string[] } & SelectProps) {
  const t = useText(words)
  if (names.length < 2) return null
  return <Select {...input} label={t.acquirer} data={names} allowDeselect={false} />
}
