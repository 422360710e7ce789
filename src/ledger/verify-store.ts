import { type Db, sql, type Tx } from '../db/sql.ts'
import { isWithin, type RecordKey, type Window } from './record-filter-store.ts'
import { lastTransfer } from './store.ts'

type Merchant = { merchant_id: string }

export async function findUnbalancedMerchants(db: Db | Tx): Promise<(Merchant & { sum: number })[]> {
  return await db.query(sql`
    select merchant_id, sum(balance) as sum from ledger_accounts group by merchant_id having sum(balance) <> 0`)
}

/**
 * Balances that differ from what the account's last transfer left, and accounts with transfers but no balance. If the
 * running balances are consistent, that balance is the sum of all transfers. With `since`: only accounts with
 * transfers since then.
 */
export async function findUnequalBalances(
  db: Db | Tx,
  since: Date | null,
): Promise<(Merchant & { account: string; balance: number; sum: number })[]> {
  return await db.query(sql`
    with ${sidesSince(since)}, ends as (
      select merchant_id, account, max(id) as id from sides group by merchant_id, account
    ), lasts as (
      select merchant_id, account, case when t.debit = account then debit_balance else credit_balance end as sum
      from ends join ledger_transfers t using (merchant_id, id)
    )
    select merchant_id, account, coalesce(balance, 0) as balance, coalesce(sum, 0) as sum
    from lasts full join ledger_accounts using (merchant_id, account)
    where coalesce(balance, 0) <> coalesce(sum, 0) and (${since === null} or sum is not null)`)
}

/** Transfers since a moment whose running balances do not follow from the earlier ones. */
export async function findChainBreaches(
  db: Db | Tx,
  since: Date | null,
): Promise<(Merchant & { record_id: string; account: string; id: number })[]> {
  return await db.query(sql`
    with ${sidesSince(since)}, chained as (
      select merchant_id, id, record_id, account, amount, balance,
        lag(balance) over (partition by merchant_id, account order by id) as before
      from sides
    )
    select merchant_id, id, record_id, account
    from chained
    -- The first transfer since then follows from the last one before it.
    where balance - amount <> coalesce(before, (
      select last.balance from (
        ${lastTransfer({ merchantId: sql`chained.merchant_id`, account: sql`chained.account`, beforeId: sql`chained.id` })}
      ) last
    ), 0)`)
}

/**
 * Each transfer twice, once for each of its accounts. The table is read twice, too: a materialised result would be
 * written to disk.
 */
const sidesSince = (since: Date | null) => sql`
    posted as not materialized (
      select * from ledger_transfers where ${since === null ? sql`true` : sql`created_at >= ${since}`}
    ), sides as not materialized (
      select merchant_id, id, record_id, credit as account, amount, credit_balance as balance from posted
      union all
      select merchant_id, id, record_id, debit, -amount, debit_balance from posted
    )`

export async function findOverdrafts(db: Db | Tx): Promise<(Merchant & { account: string; balance: number })[]> {
  return await db.query(sql`
    select merchant_id, account, balance from ledger_accounts
    where (balance < 0 and account <> 'debt' and account not like 'acquirer:%') or (balance > 0 and account = 'debt')`)
}

/** The records that something was posted for. */
export async function findPostedFor(db: Db | Tx, window: Window): Promise<RecordKey[]> {
  return await db.query<RecordKey>(sql`
    select distinct merchant_id as "merchantId", record_id as id from ledger_transfers where ${isWithin(window, 'created_at')}`)
}
