import { ActionIcon, Button, Group, Pagination, Skeleton, Stack, Table, Text, UnstyledButton } from '@mantine/core'
import { useLocalStorage, useMediaQuery } from '@mantine/hooks'
import { createContext, type MouseEvent, type ReactNode, useContext, useEffect } from 'react'
import { Link } from 'wouter'
import { useExistingPage } from '../filters.ts'
import { useFormat } from '../format.ts'
import { texts, useText } from '../text.ts'
import { ErrorBoundary } from './error-boundary.tsx'
import { ErrorNotice } from './error-notice.tsx'
import { IconOf } from './icons.tsx'
import { type LiveList, LivePill, useChangedRows } from './live-list.tsx'
import { SelectAll, type Selection, SelectOne } from './selection.tsx'

const words = texts({
  en: {
    total: (count: string) => `${count} in all`,
    page: 'Page',
    previous: 'Previous page',
    next: 'Next page',
    dense: 'Dense rows',
    selection: 'Selection',
  },
  pt: {
    total: (count: string) => `${count} no total`,
    page: 'Página',
    previous: 'Página anterior',
    next: 'Próxima página',
    dense: 'Linhas compactas',
    selection: 'Seleção',
  },
})

export type Column<Row> = {
  name: string
  cell: (row: Row) => ReactNode
  /** Amounts are aligned to the right. */
  isAmount?: boolean
  isHiddenOnPhone?: boolean
  /** The descending and the ascending sort, between which its head switches. */
  sorts?: readonly [string, string]
}

/** The sort of a list, and a way to choose another. */
export type Sorting = { sort: string; choose: (sort: string) => void }

/** Whether the user wants dense rows, in this browser. */
export function useDensity() {
  return useLocalStorage({ key: 'guiche-dense-rows', defaultValue: false, getInitialValueInEffect: false })
}

/** Switches between comfortable and dense rows, in all lists. */
export function DensitySwitch() {
  const t = useText(words)
  const [isDense, setDense] = useDensity()
  return (
    <ActionIcon
      variant={isDense ? 'light' : 'default'}
      size={36}
      aria-label={t.dense}
      aria-pressed={isDense}
      title={t.dense}
      onClick={() => setDense(!isDense)}
      visibleFrom="sm"
    >
      <IconOf name="dense" size={16} />
    </ActionIcon>
  )
}

type Props<Row> = {
  columns: Column<Row>[]
  /** Undefined while they are loading. */
  rows: readonly Row[] | undefined
  keyOf: (row: Row) => string
  /** Null: the row has no link. */
  hrefOf?: (row: Row) => string | null
  /** What a phone shows instead of the columns, which do not fit side by side. */
  phoneRowOf?: (row: Row) => ReactNode
  label: string
  empty: ReactNode
  sorting?: Sorting
  /** Each row that can be selected gets a checkbox. */
  selection?: Selection<Row> & { nameOf: (row: Row) => string }
}

/** A list of records. A row links to its record. */
export function RecordTable<Row>(props: Props<Row>) {
  return (
    <ErrorBoundary>
      <Rows {...props} />
    </ErrorBoundary>
  )
}

function Rows<Row>({ columns, rows, keyOf, hrefOf, phoneRowOf, label, empty, sorting, selection }: Props<Row>) {
  const t = useText(words)
  const [isDense] = useDensity()
  const changed = useChangedRows(rows, keyOf)
  const isPhone = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false })
  const isShort = isPhone && phoneRowOf !== undefined
  const shown: Column<Row>[] = isShort ? [{ name: label, cell: phoneRowOf }] : columns
  const select = selection && selection.selectable.length > 0 ? selection : null
  if (rows?.length === 0) return <div className="card">{empty}</div>
  return (
    <Table.ScrollContainer
      minWidth={0}
      className="card list"
      type="native"
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <Table
        className="records"
        verticalSpacing={isDense ? 4 : 'sm'}
        horizontalSpacing={shown.length > 6 ? 'sm' : 'md'}
        aria-busy={rows === undefined}
      >
        <Table.Thead className={isShort ? 'unseen' : undefined}>
          <Table.Tr>
            {select && <Table.Th className="select">{isShort ? t.selection : <SelectAll of={select} />}</Table.Th>}
            {shown.map(({ name, isAmount, isHiddenOnPhone, sorts }) => (
              <Table.Th
                key={name}
                ta={isAmount ? 'right' : 'left'}
                visibleFrom={isHiddenOnPhone ? 'sm' : undefined}
                aria-sort={sorts && sorting ? ariaSort(sorts, sorting.sort) : undefined}
              >
                {sorts && sorting ? (
                  <SortButton name={name} sorts={sorts} sorting={sorting} />
                ) : (
                  <Text size="xs" fw={600} c="dimmed" component="span">
                    {name}
                  </Text>
                )}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows === undefined
            ? Array.from({ length: 8 }, (_, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the placeholder rows are identical
                <Table.Tr key={index}>
                  {shown.map(({ name, isHiddenOnPhone }) => (
                    <Table.Td key={name} visibleFrom={isHiddenOnPhone ? 'sm' : undefined}>
                      <Skeleton height={16} />
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))
            : rows.map((row) => (
                <Table.Tr
                  key={keyOf(row)}
                  data-changed={changed.has(keyOf(row)) || undefined}
                  className={hrefOf?.(row) ? 'link' : undefined}
                >
                  {select && (
                    <Table.Td className="select">
                      {select.selectable.includes(row) && (
                        // biome-ignore lint/a11y/noLabelWithoutControl: the checkbox has a name
                        <label>
                          <SelectOne of={select} row={row} label={select.nameOf(row)} />
                        </label>
                      )}
                    </Table.Td>
                  )}
                  {shown.map(({ name, cell, isAmount, isHiddenOnPhone: isHidden }, index) => (
                    <Table.Td key={name} ta={isAmount ? 'right' : 'left'} visibleFrom={isHidden ? 'sm' : undefined}>
                      <HrefOfRow.Provider value={hrefOf?.(row) ?? null}>
                        {index === 0 && !isShort ? <RowLink>{cell(row)}</RowLink> : cell(row)}
                      </HrefOfRow.Provider>
                    </Table.Td>
                  ))}
                </Table.Tr>
              ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function ariaSort(sorts: readonly [string, string], sort: string) {
  return sort === sorts[0] ? 'descending' : sort === sorts[1] ? 'ascending' : 'none'
}

function SortButton({ name, sorts, sorting }: { name: string; sorts: readonly [string, string]; sorting: Sorting }) {
  const arrow = sorting.sort === sorts[0] ? ' ↓' : sorting.sort === sorts[1] ? ' ↑' : ''
  return (
    <UnstyledButton
      className="sort"
      onClick={() => sorting.choose(sorting.sort === sorts[0] ? sorts[1] : sorts[0])}
      fz="xs"
      fw={600}
      c="dimmed"
    >
      {name}
      <span aria-hidden>{arrow}</span>
    </UnstyledButton>
  )
}

const HrefOfRow = createContext<string | null>(null)

/** The link of a row. In style.css it covers the whole row, below what can be clicked in it. */
function RowLink({ children }: { children: ReactNode }) {
  const href = useContext(HrefOfRow)
  if (href === null) return children
  return (
    <Link href={href} className="row-link" onMouseMove={showTitle}>
      {children}
    </Link>
  )
}

/** Shows the title of the text below the mouse, which the link covers. */
function showTitle({ currentTarget, clientX, clientY }: MouseEvent<HTMLElement>) {
  const titled = document
    .elementsFromPoint(clientX, clientY)
    .find((one) => one !== currentTarget && one.matches('[title]'))
  currentTarget.title = titled?.getAttribute('title') ?? ''
}

/** A text that is cut to its column; the whole text, or `title`, is shown on hover. */
export function OneLine({ text, title, isIdentifier }: { text: string; title?: string; isIdentifier?: boolean }) {
  return (
    <Text
      size="sm"
      component="span"
      className={isIdentifier ? 'one-line identifier' : 'one-line'}
      title={title ?? text}
    >
      {text}
    </Text>
  )
}

/** The amount of a record, in a list or in a row. */
export function Amount({ of }: { of: number }) {
  return (
    <Text size="sm" fw={600} style={{ whiteSpace: 'nowrap' }}>
      {useFormat().money(of)}
    </Text>
  )
}

/**
 * The lines of a row on a phone: on the left what the row is about, on the right the amount or the status. The first
 * text is the row's link.
 */
export function PhoneRow({ lines }: { lines: [left: ReactNode, right: ReactNode][] }) {
  return (
    <Stack gap={4}>
      {lines.map(([left, right], index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the order of the lines is fixed
        <Group key={index} justify="space-between" wrap="nowrap" gap="sm">
          <Text size="sm" component="div" style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
            {index === 0 ? <RowLink>{left}</RowLink> : left}
          </Text>
          <div style={{ flexShrink: 0 }}>{right}</div>
        </Group>
      ))}
    </Stack>
  )
}

/** The last line of a row on a phone: whose record it is. */
export function merchantLine(name: string): [ReactNode, ReactNode] {
  return [
    <Text key="merchant" size="xs" c="dimmed" component="div">
      {name}
    </Text>,
    null,
  ]
}

type ListProps<Row> = Omit<Props<Row>, 'rows'> & {
  list: {
    data: { total: number; totalPages: number; data: readonly Row[] } | undefined
    error: Error | null
    refetch: () => unknown
  }
  filters: Parameters<typeof useExistingPage>[1]
}

/** A page of a list of records: the table and links to the other pages, or what went wrong. */
export function RecordList<Row>({ list, filters, ...table }: ListProps<Row>) {
  const isPastEnd = useExistingPage(list.data, filters)
  if (list.error && !list.data) return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  return (
    <Stack gap="sm">
      <RecordTable {...table} rows={isPastEnd ? undefined : list.data?.data} />
      {list.data && list.data.total > 0 && (
        <Pages total={list.data.total} totalPages={list.data.totalPages} page={filters.page} onPage={filters.goTo} />
      )}
    </Stack>
  )
}

type CursorListProps<Row> = Omit<Props<Row>, 'rows'> & {
  list: {
    data: { next: string | null; previous: string | null; data: readonly Row[] } | undefined
    error: Error | null
    refetch: () => unknown
  }
  filters: {
    get: (name: string) => string
    moveTo: (to: { after: string } | { before: string } | Record<string, never>, options?: { replace: boolean }) => void
  }
  live: LiveList
  /** How many records match, once it is known. */
  total: number | null | undefined
}

/** The same for a list with cursors instead of page numbers: any page of a million rows loads as fast as the first. */
export function CursorList<Row>({ list, filters, live, total, ...table }: CursorListProps<Row>) {
  const t = useText(words)
  const format = useFormat()
  const isFirst = filters.get('after') === '' && filters.get('before') === ''
  const isEmptied = !isFirst && list.data?.data.length === 0
  // Nothing is left of this page, and it has no neighbours. The first one has what matches.
  useEffect(() => {
    if (isEmptied) filters.moveTo({}, { replace: true })
  })
  if (list.error && !list.data) return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  const { next = null, previous = null } = list.data ?? {}
  return (
    <Stack gap="sm">
      <LivePill of={live} page={isFirst ? 1 : 2} onLoad={() => (isFirst ? list.refetch() : filters.moveTo({}))} />
      <RecordTable {...table} rows={isEmptied ? undefined : list.data?.data} />
      <Group justify="space-between" mih={30}>
        <Text size="sm" c="dimmed">
          {total ? t.total(format.number(total)) : ''}
        </Text>
        {(next !== null || previous !== null) && (
          <Group gap="xs">
            <Button
              variant="default"
              size="xs"
              disabled={previous === null}
              onClick={() => previous !== null && filters.moveTo({ before: previous })}
            >
              {t.previous}
            </Button>
            <Button
              variant="default"
              size="xs"
              disabled={next === null}
              onClick={() => next !== null && filters.moveTo({ after: next })}
            >
              {t.next}
            </Button>
          </Group>
        )}
      </Group>
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
