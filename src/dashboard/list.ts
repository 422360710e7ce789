import type { Reads } from '../db/sql.ts'
import { windowOf } from '../lib/brasilia.ts'
import { invalidField } from '../lib/errors.ts'
import {
  type Cursor,
  countedMax,
  findPositions,
  type ListPosition,
  type Matching,
  type Order,
  type StatusCount,
  type Sums,
  sortsByAmount,
} from './list-store.ts'

const perPage = 20

export type PageQuery = { sort?: Order; after?: string; before?: string }

/**
 * One page of a list of the dashboard, with the cursors of its neighbours.
 *
 * @throws {AppError} `validation_failed` if no index serves the sort
 */
export async function readPage<Row extends { id: string }>(
  db: Reads,
  matching: Matching,
  { sort = 'newest', after, before }: PageQuery,
  find: (db: Reads, positions: ListPosition[]) => Promise<Row[]>,
): Promise<{ next: string | null; previous: string | null; items: Row[] }> {
  if (sortsByAmount(sort) && (matching.merchantId === null || matching.table === 'withdrawals'))
    throw invalidField(
      'sort',
      'invalid',
      'is not possible here: only the transactions of one merchant can be sorted by amount',
    )
  const cursor = readCursor(after, false) ?? readCursor(before, true)
  const found = await findPositions(db, matching, { sort, cursor, limit: perPage + 1 })
  const isMore = found.length > perPage
  const positions = found.slice(0, perPage)
  if (cursor?.isBefore) positions.reverse()
  const rows = new Map((positions.length === 0 ? [] : await find(db, positions)).map((row) => [row.id, row]))
  const write = (position: ListPosition | undefined) => (position ? `${Number(position.value)}_${position.id}` : null)
  return {
    next: isMore || cursor?.isBefore ? write(positions.at(-1)) : null,
    previous: cursor && (!cursor.isBefore || isMore) ? write(positions[0]) : null,
    items: positions.flatMap(({ id }) => rows.get(id) ?? []),
  }
}

/** What a cursor looks like. */
export const cursorPattern = '^[0-9]{1,15}_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'

export function readCursor(text: string | undefined, isBefore: boolean): Cursor | null {
  if (text === undefined) return null
  const [value = '', id = ''] = text.split('_')
  return { value: Number(value), id, isBefore }
}

/** Whole days in Brazil (yyyy-mm-dd), both included, as a filter of moments. */
export function toDates({ from, until }: { from?: string; until?: string }): { startDate?: Date; endDate?: Date } {
  return {
    ...(from !== undefined && { startDate: windowOf(from).from }),
    ...(until !== undefined && { endDate: new Date(windowOf(until).to.getTime() - 1) }),
  }
}

type Summary = {
  counts: { status: string; count: number }[]
  isMore: boolean
  count: number | null
  amount: number | null
  settled: number | null
  fees: number | null
  refunded: number | null
}

/**
 * The counts of the tabs, and the sums of the chosen statuses. `counted`: the same sums by the daily counts, which are
 * exact for any number of rows, but do not include fees and refunds.
 */
export function toSummary(
  counts: StatusCount[],
  sums: Sums | null,
  counted: Omit<Sums, 'fees' | 'refunded'> | null,
): Summary {
  const known = sums ?? counted
  return {
    counts: counts.map(({ status, count }) => ({ status, count })),
    isMore: counted === null && counts.reduce((total, { count }) => total + count, 0) > countedMax,
    count: known?.count ?? null,
    amount: known?.amount ?? null,
    settled: known?.settled ?? null,
    fees: sums?.fees ?? null,
    refunded: sums?.refunded ?? null,
  }
}
