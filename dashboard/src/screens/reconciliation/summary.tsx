import { Select } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { ask } from '../../api.ts'
import { useText } from '../../text.ts'
import type { ReconciliationView } from '../../types.ts'
import { words } from './text.ts'

export function useSummary() {
  return useQuery({
    queryKey: ['reconciliation', 'summary'],
    queryFn: async () => await ask<ReconciliationView>('GET', '/reconciliation'),
    refetchInterval: 10_000,
  })
}

/** Hidden if there is only one PSP. */
export function AcquirerSelect({
  names,
  value,
  onChange,
}: {
  names: string[]
  value: string
  onChange: (name: string) => void
}) {
  const t = useText(words)
  if (names.length < 2) return null
  return (
    <Select
      label={t.acquirer}
      data={names}
      value={value}
      allowDeselect={false}
      onChange={(name) => name !== null && onChange(name)}
    />
  )
}
