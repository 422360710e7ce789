import { rowsParam } from '../db/rows-param.ts'
import { empty, raw, type Sql, sql } from '../db/sql.ts'

export type RecordKey = { merchantId: string; id: string }

/** The records to verify; null for all. */
export type RecordFilter = RecordKey[] | null

/**
 * From `from` until before `to`. `to` null: no end, so that rows that a machine with a fast clock has dated in the
 * future are included.
 */
export type Window = { from: Date; to: Date | null }

const keysParam = rowsParam<RecordKey>({ merchantId: 'uuid', id: 'uuid' })

/** A condition: the row belongs to one of the records, whose merchant and id are in these columns. */
export function matchesFilter(filter: RecordFilter, merchantIdColumn: string, idColumn: string): Sql {
  if (filter === null) return sql`true`
  return sql`(${raw(merchantIdColumn)}, ${raw(idColumn)}) in (select "merchantId", id from ${keysParam(filter)})`
}

/** The records as a table `merchant_id`, `id`. */
export function tableOf(records: RecordKey[]): Sql {
  return sql`select "merchantId" as merchant_id, id from ${keysParam(records)}`
}

export function isWithin(window: Window, column: string): Sql {
  return sql`${raw(column)} >= ${window.from} ${window.to ? sql`and ${raw(column)} < ${window.to}` : empty}`
}

/**
 * `ledger_transfers` with each account name cut at the colon, as ledger/transfers.ts names the accounts: the clearing
 * account `acquirer:<name>` becomes `acquirer`. Other checks verify which acquirer it is.
 */
export const transfersByAccountType = sql`(
    select merchant_id, id, event_key, position, kind, split_part(debit, ':', 1) as debit, split_part(credit, ':', 1) as credit, amount,
      debit_balance, credit_balance, record_type, record_id, created_at
    from ledger_transfers
  ) transfers`
