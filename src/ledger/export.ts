import type { Db } from '../db/sql.ts'
import { type Column, writeCsv } from '../http/csv.ts'
import { listStatementBefore, type StatementFilters, type StatementRow } from './store.ts'
import { describeEntry } from './view.ts'

const rowsAtOnce = 1000

const columns: Column<StatementRow>[] = [
  ['id', (row) => row.id],
  ['created_at', (row) => row.created_at],
  ['kind', (row) => row.kind],
  ['amount_cents', (row) => row.amount],
  ['balance_cents', (row) => row.balance],
  ['record_type', (row) => row.record_type],
  ['record_id', (row) => row.record_id],
  ['transaction_id', (row) => row.transaction_id],
  ['description', describeEntry],
]

/** Writes all entries of a statement as CSV, newest first, in chunks. */
export function writeStatementCsv(db: Db, merchantId: string, filters: StatementFilters): AsyncGenerator<string> {
  return writeCsv(columns, walkStatement(db, merchantId, filters))
}

async function* walkStatement(db: Db, merchantId: string, filters: StatementFilters): AsyncGenerator<StatementRow[]> {
  for (let beforeId: number | null = null; ; ) {
    const rows = await listStatementBefore(db, merchantId, filters, { beforeId, limit: rowsAtOnce })
    yield rows
    if (rows.length < rowsAtOnce) return
    beforeId = rows.at(-1)?.id ?? null
  }
}
