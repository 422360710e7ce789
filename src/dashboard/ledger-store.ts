import { type Db, sql } from '../db/sql.ts'

/**
 * The record behind an entry of a statement, as the dashboard links it: refunds and disputes are shown on their
 * transaction's page.
 */
export type EntryRecord = { id: string; transactionId: string }

/** The transactions of these refunds and disputes of a merchant. */
export async function findTransactionsOf(db: Db, merchantId: string, ids: string[]): Promise<EntryRecord[]> {
  return await db.query<EntryRecord>(sql`
    select id, transaction_id as "transactionId" from refunds where merchant_id = ${merchantId} and id = any(${ids}::uuid[])
    union all
    select id, transaction_id from disputes where merchant_id = ${merchantId} and id = any(${ids}::uuid[])`)
}

/** How many merchants have balances that do not add up to zero. The trial balance holds if there are none. */
export async function countUnbalancedMerchants(db: Db): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`
    select count(*) as count from (
      select from ledger_accounts group by merchant_id having sum(balance) <> 0
    ) unbalanced`)
  return rows[0]?.count ?? 0
}
