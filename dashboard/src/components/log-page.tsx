import { Button, Center } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { request, withQuery } from '../api.ts'
import { useFilters } from '../filters.ts'
import { texts, useText } from '../text.ts'
import { ErrorNotice } from './error-notice.tsx'
import { FilterBar } from './filter-bar.tsx'
import { Page } from './page.tsx'
import { type Column, RecordTable } from './record-table.tsx'

const words = texts({
  en: { more: 'Load earlier entries' },
  pt: { more: 'Ver anteriores' },
})

type LogAnswer<Entry> = { data: Entry[]; next: string | number | null }

/** The entries of a log, the newest first. `name` begins the key of its query. */
export function useLog<Entry>(name: string, path: string, query: Parameters<typeof withQuery>[1]) {
  return useInfiniteQuery({
    queryKey: [name, query],
    queryFn: async ({ pageParam }) =>
      await request<LogAnswer<Entry>>('GET', withQuery(path, { ...query, before: pageParam })),
    initialPageParam: null as string | number | null,
    getNextPageParam: ({ next }) => next,
  })
}

/** The screen of a log: its filters, its entries, and a button to load earlier ones. */
export function LogPage<Entry extends { id: string | number }>({
  title,
  lead,
  actions,
  filters,
  log,
  children,
  ...table
}: {
  title: string
  lead: string
  actions?: ReactNode
  filters: ReactNode
  log: ReturnType<typeof useLog<Entry>>
  columns: Column<Entry>[]
  phoneRowOf: (entry: Entry) => ReactNode
  empty: ReactNode
  children?: ReactNode
}) {
  const t = useText(words)
  const { count, clear } = useFilters()
  return (
    <Page title={title} lead={lead} actions={actions}>
      <FilterBar count={count} onClear={clear} common={filters} />
      {log.isLoadingError ? (
        <ErrorNotice error={log.error} onRetry={() => void log.refetch()} />
      ) : (
        <RecordTable
          {...table}
          label={title}
          rows={log.data?.pages.flatMap(({ data }) => data)}
          keyOf={({ id }) => String(id)}
        />
      )}
      {log.isFetchNextPageError && <ErrorNotice error={log.error} />}
      {log.hasNextPage && (
        <Center>
          <Button variant="default" loading={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            {t.more}
          </Button>
        </Center>
      )}
      {children}
    </Page>
  )
}
