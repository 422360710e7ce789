import { type Db, sql } from '../db/sql.ts'

export type Unconfigured = { name: string; open: number }

/** Counts at most this many per table: the exact number does not matter. */
const countedMax = 10_000

/**
 * Acquirers that have open records but are not configured, with the number of records: nobody can check these. Reads
 * open records only, through partial indexes.
 */
export async function listUnconfigured(db: Db, configured: readonly string[]): Promise<Unconfigured[]> {
  const names = [...configured]
  return await db.query(sql`
    select name, count(*)::int as open from (
      (select acquirer as name from transactions
        where check_at is not null and acquirer <> all(${names}::text[]) limit ${countedMax})
      union all
      (select t.acquirer from refunds r
        join transactions t on t.merchant_id = r.merchant_id and t.id = r.transaction_id
        where r.check_at is not null and r.status = 'PROCESSING' and t.acquirer <> all(${names}::text[]) limit ${countedMax})
      union all
      (select acquirer from withdrawals
        where check_at is not null and status in ('PENDING', 'PROCESSING') and acquirer <> all(${names}::text[]) limit ${countedMax})
      union all
      (select acquirer from suspense_payments
        where status in ('held', 'returning') and acquirer <> all(${names}::text[]) limit ${countedMax})
    ) open_records
    group by name order by name`)
}
