import type { Db } from '../../db/sql.ts'
import { type Column, writeCsv } from '../../http/csv.ts'
import { type ExportedTransaction, type TransactionFilters, walkTransactions } from './store.ts'

const columns: Column<ExportedTransaction>[] = [
  ['id', (row) => row.id],
  ['created_at', (row) => row.created_at],
  ['status', (row) => row.status],
  ['amount_cents', (row) => row.amount],
  ['amount_paid_cents', (row) => row.amount_paid],
  ['amount_refunded_cents', (row) => row.amount_refunded],
  ['fee_cents', (row) => row.fee_amount],
  ['payment_date', (row) => row.payment_date],
  ['end_to_end', (row) => row.end_to_end],
  ['external_code', (row) => row.external_code],
  ['customer_name', (row) => row.customer_name],
  ['customer_document', (row) => row.customer_document],
  ['customer_email', (row) => row.customer_email],
  ['error_message', (row) => row.error_message],
]

/** Writes all matching transactions as CSV, newest first, in chunks. */
export function writeTransactionsCsv(db: Db, merchantId: string, filters: TransactionFilters): AsyncGenerator<string> {
  return writeCsv(columns, walkTransactions(db, merchantId, filters))
}
