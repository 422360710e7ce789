import { rowsParam } from '../db/rows-param.ts'
import { empty, raw, type Sql, sql } from '../db/sql.ts'

export type RecordKey = { merchantId: string; id: string }

/** The records to verify; null for all. */
export type RecordFilter = RecordKey[] | null

/**
 * From one moment until before another. `to` null: no end, which includes transfers that a fast clock has dated in
 * the future.
 */
export type Window = { from: Date; to: Date | null }

const keysParam = rowsParam<RecordKey>({ merchantId: 'uuid', id: 'uuid' })

/** Whether a row belongs to one of the records, by the columns with their merchant and their id. */
export function matchesFilter(filter: RecordFilter, merchantId: string, id: string): Sql {
  if (filter === null) return sql`true`
  return sql`(${raw(merchantId)}, ${raw(id)}) in (select "merchantId", id from ${keysParam(filter)})`
}

/** The records as a table `merchant_id`, `id`. */
export function tableOf(records: RecordKey[]): Sql {
  return sql`select "merchantId" as merchant_id, id from ${keysParam(records)}`
}

export function isWithin(window: Window, column: string): Sql {
  return sql`${raw(column)} >= ${window.from} ${window.to ? sql`and ${raw(column)} < ${window.to}` : empty}`
}

/**
 * `ledger_transfers` with the account names of transfers.ts: every clearing account is `acquirer`. Other checks verify
 * which acquirer it is.
 */
export const transfersByAccountType = sql`(
    select merchant_id, id, event_key, position, kind, split_part(debit, ':', 1) as debit, split_part(credit, ':', 1) as credit, amount,
      debit_balance, credit_balance, record_type, record_id, created_at
    from ledger_transfers
  ) transfers`
