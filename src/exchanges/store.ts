import type { Exchange } from '../acquirers/record.ts'
import { type Db, sql, type Tx } from '../db/sql.ts'

/**
 * Inserts any number at once. The commit does not wait for the disk: losing a few of these rows in a power failure is
 * acceptable, and commits that carry money then have the disk to themselves.
 */
export async function insertExchanges(db: Db | Tx, exchanges: Exchange[]): Promise<void> {
  await db.query(
    sql`
    insert into acquirer_exchanges (at, acquirer, operation, record_id, end_to_end, outcome, error, duration_ms)
    select at, acquirer, operation, "recordId", "endToEndId", outcome, error, "durationMs"
    from (select set_config('synchronous_commit', 'off', true)) async_commit,
      json_to_recordset(${JSON.stringify(exchanges)}::json) as input (
        at timestamptz, acquirer text, operation text, "recordId" uuid, "endToEndId" text, outcome text, error text,
        "durationMs" integer)`,
    'insert-exchanges',
  )
}

export type ExchangeRow = {
  at: Date
  acquirer: string
  operation: string
  record_id: string | null
  outcome: Exchange['outcome']
  error: string | null
  duration_ms: number
}

/** The last exchanges about these records, or about this payment without a record, in the order of time. */
export async function listExchanges(
  db: Db | Tx,
  { recordIds, endToEnd, limit }: { recordIds: string[]; endToEnd: string | null; limit: number },
): Promise<ExchangeRow[]> {
  const rows = await db.query<ExchangeRow>(sql`
    select at, acquirer, operation, record_id, outcome, error, duration_ms from (
      select * from acquirer_exchanges where record_id = any(${recordIds}::uuid[])
      union all
      select * from acquirer_exchanges where record_id is null and end_to_end = ${endToEnd}
    ) about
    order by at desc, id desc limit ${limit}`)
  return rows.reverse()
}
