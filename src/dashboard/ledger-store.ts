import { type Db, sql } from '../db/sql.ts'

/** What an entry of a statement was booked for, as the dashboard can show it: a refund and a contest are shown with their transaction. */
export type EntryRecord = { id: string; transactionId: string }

/** Of these refunds and contests of a merchant the transactions. */
export async function findTransactionsOf(db: Db, merchantId: string, ids: string[]): Promise<EntryRecord[]> {
  return await db.query<EntryRecord>(sql`
    select id, transaction_id as "transactionId" from refunds where merchant_id = ${merchantId} and id = any(${ids}::uuid[])
    union all
    select id, transaction_id from infractions where merchant_id = ${merchantId} and id = any(${ids}::uuid[])`)
}

/** What all merchants' balances add up to that do not add up to zero: the trial balance holds where there is none. */
export async function countUneven(db: Db): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) as count from (
      select from ledger_accounts group by merchant_id having sum(balance) <> 0
    ) uneven`)
  return rows[0]?.count ?? 0
}
