import type { Reads } from '../db/sql.ts'
import { type Column, writeCsv } from '../http/csv.ts'
import { type ActionSearch, findIdAt, findRange, type NamedAction, searchActions } from './audit-store.ts'

/** The most entries that one filtered read examines, in about 10 ms. The next read continues where it ended. */
const readMax = 20_000
/** Entries that are written at the same time get ids in another order than times; clocks of nodes differ as well. */
export const idOrderToleranceMs = 60 * 60_000
const rowsAtOnce = 1_000

/**
 * The next matching entries before an id, and the id to continue before; null at the end. With filters there may be
 * none among those read.
 */
export async function readActions(
  reads: Reads,
  filters: ActionSearch,
  { before: requested, limit }: { before: number | null; limit: number },
): Promise<{ rows: NamedAction[]; next: number | null }> {
  const { from, until } = filters
  const isSearch = Object.values(filters).some((filter) => filter !== null)
  const after = from === null ? 0 : await findIdAt(reads, new Date(from.getTime() - idOrderToleranceMs))
  const end = until === null ? null : await findIdAt(reads, new Date(until.getTime() + idOrderToleranceMs))
  const before = requested !== null && end !== null ? Math.min(requested, end) : (requested ?? end)
  const rangeMax = isSearch ? readMax : limit
  const { oldest, count } = await findRange(reads, { before, after, limit: rangeMax })
  if (oldest === null) return { rows: [], next: null }
  const rows = await searchActions(reads, filters, { before, oldest, limit })
  const isFull = rows.length === limit
  const lastRead = isFull ? (rows.at(-1)?.id ?? null) : oldest
  return { rows, next: isFull || count === rangeMax ? lastRead : null }
}

const columns: Column<NamedAction>[] = [
  ['id', (row) => row.id],
  ['created_at', (row) => row.at],
  ['actor', (row) => row.actor],
  ['actor_name', (row) => row.actor_name],
  ['action', (row) => row.action],
  ['client_id', (row) => row.client_id],
  ['client_name', (row) => row.client_name],
  ['record_id', (row) => row.record_id],
  ['user_name', (row) => row.user_name],
  ['amount_cents', (row) => row.amount],
  ['details', (row) => row.details && JSON.stringify(row.details)],
]

/** All matching entries as CSV, newest first, in pieces. */
export function writeActionsCsv(reads: Reads, filters: ActionSearch): AsyncGenerator<string> {
  return writeCsv(columns, walkActions(reads, filters))
}

async function* walkActions(reads: Reads, filters: ActionSearch): AsyncGenerator<NamedAction[]> {
  for (let before: number | null = null; ; ) {
    const { rows, next } = await readActions(reads, filters, { before, limit: rowsAtOnce })
    yield rows
    if (next === null) return
    before = next
  }
}
