import type { Db } from '../db/sql.ts'
import { type Column, writeCsv } from '../http/csv.ts'
import { type WithdrawalFilters, walkWithdrawals } from './list-store.ts'
import type { WithdrawalRow } from './store.ts'

const columns: Column<WithdrawalRow>[] = [
  ['id', (row) => row.id],
  ['created_at', (row) => row.created_at],
  ['status', (row) => row.status],
  ['amount_cents', (row) => row.amount],
  ['fee_cents', (row) => row.fee_amount],
  ['amount_withdrawn_cents', (row) => row.amount_withdrawn],
  ['processed_date', (row) => row.processed_date],
  ['pix_key', (row) => row.pix_key],
  ['pix_key_type', (row) => row.pix_key_type],
  ['end_to_end', (row) => row.end_to_end],
  ['end_to_end_refund', (row) => row.end_to_end_refund],
  ['external_code', (row) => row.external_code],
  ['error_message', (row) => row.error_message],
]

/** Writes all matching withdrawals as CSV, newest first, in chunks. */
export function writeWithdrawalsCsv(db: Db, merchantId: string, filters: WithdrawalFilters): AsyncGenerator<string> {
  return writeCsv(columns, walkWithdrawals(db, merchantId, filters))
}
