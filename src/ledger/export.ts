import type { Db } from '../db/sql.ts'
import { listStatementBefore, type StatementFilters } from './store.ts'

const rowsAtOnce = 1000
/** Amounts stay in cents: a spreadsheet that guesses at decimals guesses wrong somewhere. */
const header = 'id,created_at,kind,amount_cents,balance_cents,record_type,record_id\r\n'

/** All entries of a statement as CSV (RFC 4180), the last booked first, piece by piece. No field needs quotes: none is free text. */
export async function* writeStatementCsv(
  db: Db,
  merchantId: string,
  filters: StatementFilters,
): AsyncGenerator<string> {
  yield header
  for (let beforeId: number | null = null; ; ) {
    const rows = await listStatementBefore(db, merchantId, filters, { beforeId, limit: rowsAtOnce })
    if (rows.length > 0) {
      yield rows
        .map((row) =>
          [
            row.id,
            row.created_at.toISOString(),
            row.kind,
            row.amount,
            row.balance,
            row.record_type,
            row.record_id,
          ].join(','),
        )
        .join('\r\n')
        .concat('\r\n')
    }
    if (rows.length < rowsAtOnce) return
    beforeId = rows.at(-1)?.id ?? null
  }
}
