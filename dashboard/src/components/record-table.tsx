import { Group, Pagination, Skeleton, Stack, Table, Text } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { KeyboardEvent, ReactNode } from 'react'
import { useLocation } from 'wouter'
import { useFormat } from '../format.ts'
import { texts, useText } from '../text.ts'
import { ErrorBoundary } from './error-boundary.tsx'
import { ErrorNotice } from './error-notice.tsx'
import { type LiveList, LivePill, useChangedRows } from './live-list.tsx'

const words = texts({
  en: { total: (count: string) => `${count} in all`, page: 'Page', previous: 'Previous page', next: 'Next page' },
  pt: {
    total: (count: string) => `${count} no total`,
    page: 'Página',
    previous: 'Página anterior',
    next: 'Próxima página',
  },
})

export type Column<Row> = {
  name: string
  cell: (row: Row) => ReactNode
  /** Amounts are aligned to the right. */
  isAmount?: boolean
  /** Hidden on a phone. */
  isMinor?: boolean
}

type Props<Row> = {
  columns: Column<Row>[]
  /** Undefined while they are loading. */
  rows: readonly Row[] | undefined
  keyOf: (row: Row) => string
  linkOf?: (row: Row) => string
  /** What a phone shows instead of the columns, which do not fit side by side. */
  phoneOf?: (row: Row) => ReactNode
  label: string
  empty: ReactNode
}

/** A list of records. A row links to its record, also by keyboard. */
export function RecordTable<Row>(props: Props<Row>) {
  return (
    <ErrorBoundary>
      <Rows {...props} />
    </ErrorBoundary>
  )
}

function Rows<Row>({ columns, rows, keyOf, linkOf, phoneOf, label, empty }: Props<Row>) {
  const [, navigate] = useLocation()
  const changed = useChangedRows(rows, keyOf)
  const isPhone = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false })
  const isShort = isPhone && phoneOf !== undefined
  const shown: Column<Row>[] = isShort ? [{ name: label, cell: phoneOf }] : columns
  if (rows?.length === 0) return <div className="card">{empty}</div>
  return (
    <Table.ScrollContainer minWidth={0} className="card" type="native" tabIndex={0} role="region" aria-label={label}>
      <Table className="records" verticalSpacing="sm" horizontalSpacing="md" aria-busy={rows === undefined}>
        <Table.Thead className={isShort ? 'unseen' : undefined}>
          <Table.Tr>
            {shown.map(({ name, isAmount, isMinor }) => (
              <Table.Th key={name} ta={isAmount ? 'right' : 'left'} visibleFrom={isMinor ? 'sm' : undefined}>
                <Text size="xs" fw={600} c="dimmed" component="span">
                  {name}
                </Text>
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows === undefined
            ? Array.from({ length: 8 }, (_, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the placeholder rows are identical
                <Table.Tr key={index}>
                  {shown.map(({ name, isMinor }) => (
                    <Table.Td key={name} visibleFrom={isMinor ? 'sm' : undefined}>
                      <Skeleton height={16} />
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))
            : rows.map((row) => (
                <Table.Tr
                  key={keyOf(row)}
                  data-changed={changed.has(keyOf(row)) || undefined}
                  {...(linkOf && linkProps(() => navigate(linkOf(row))))}
                >
                  {shown.map(({ name, cell, isAmount, isMinor }) => (
                    <Table.Td key={name} ta={isAmount ? 'right' : 'left'} visibleFrom={isMinor ? 'sm' : undefined}>
                      {cell(row)}
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function linkProps(go: () => void) {
  return {
    className: 'link',
    tabIndex: 0,
    onClick: () => {
      // A user who selects text to copy it does not want to navigate.
      if (getSelection()?.toString() === '') go()
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key === 'Enter') go()
    },
  }
}

/** The amount of a record, in a list or in a row. */
export function Amount({ of }: { of: number }) {
  return (
    <Text size="sm" fw={600} style={{ whiteSpace: 'nowrap' }}>
      {useFormat().money(of)}
    </Text>
  )
}

/** The lines of a row on a phone: on the left what the row is about, on the right the amount or the status. */
export function PhoneRow({ lines }: { lines: [left: ReactNode, right: ReactNode][] }) {
  return (
    <Stack gap={4}>
      {lines.map(([left, right], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the lines is fixed
        <Group key={index} justify="space-between" wrap="nowrap" gap="sm">
          <Text size="sm" component="div" style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
            {left}
          </Text>
          <div style={{ flexShrink: 0 }}>{right}</div>
        </Group>
      ))}
    </Stack>
  )
}

type ListProps<Row> = Omit<Props<Row>, 'rows'> & {
  list: {
    data: { total: number; totalPages: number; data: readonly Row[] } | undefined
    error: Error | null
    refetch: () => unknown
  }
  filters: { page: number; goTo: (page: number) => void }
  /** What the list follows, if its rows change without a reload. */
  live?: LiveList
}

/** A page of a list of records: the table and links to the other pages, or what went wrong. */
export function RecordList<Row>({ list, filters, live, ...table }: ListProps<Row>) {
  if (list.error) return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  return (
    <Stack gap="sm">
      {live && (
        <LivePill
          of={live}
          page={filters.page}
          onLoad={() => (filters.page === 1 ? list.refetch() : filters.goTo(1))}
        />
      )}
      <RecordTable {...table} rows={list.data?.data} />
      {list.data && list.data.total > 0 && (
        <Pages total={list.data.total} totalPages={list.data.totalPages} page={filters.page} onPage={filters.goTo} />
      )}
    </Stack>
  )
}

/** The total count, and links to the other pages. */
export function Pages({
  total,
  totalPages,
  page,
  onPage,
}: {
  total: number
  totalPages: number
  page: number
  onPage: (page: number) => void
}) {
  const t = useText(words)
  const format = useFormat()
  return (
    <Group justify="space-between">
      <Text size="sm" c="dimmed">
        {t.total(format.number(total))}
      </Text>
      {totalPages > 1 && (
        <Pagination
          total={totalPages}
          value={page}
          onChange={onPage}
          size="sm"
          siblings={1}
          getControlProps={(control) => ({ 'aria-label': control === 'previous' ? t.previous : t.next })}
          getItemProps={(item) => ({ 'aria-label': `${t.page} ${item}` })}
        />
      )}
    </Group>
  )
}
