import { type Db, sql, type Tx } from '../db/sql.ts'
import { accounts } from './accounts.ts'
import { isWithin, type RecordKey, type Window } from './among-store.ts'

type Merchant = { merchant_id: string }

export async function findUnevenMerchants(db: Db | Tx): Promise<(Merchant & { sum: number })[]> {
  return await db.query(sql`
    select merchant_id, sum(balance) as sum from ledger_accounts group by merchant_id having sum(balance) <> 0`)
}

/**
 * Balances that are not what the account's last transfer left, and accounts with transfers that have no balance. Where running balances follow from
 * one another, that is the sum of all. Of a window: those of the merchants who were booked for in it.
 */
export async function findUnequalBalances(
  db: Db | Tx,
  window: Window | null,
): Promise<(Merchant & { account: string; balance: number; sum: number })[]> {
  return await db.query(sql`
    with merchants as (
      select merchant_id from ledger_transfers where ${isWithin(window, 'created_at')}
      union
      select merchant_id from ledger_accounts where ${window === null}
    ), compared as (
      select merchant_id, account, coalesce(balance, 0) as balance, coalesce(last.left, 0) as sum
      from merchants
      cross join unnest(${[...accounts]}::text[]) account
      left join ledger_accounts using (merchant_id, account)
      left join lateral (
        select balance as left from (
          (select id, debit_balance as balance from ledger_transfers t
            where t.merchant_id = merchants.merchant_id and debit = account order by id desc limit 1)
          union all
          (select id, credit_balance from ledger_transfers t
            where t.merchant_id = merchants.merchant_id and credit = account order by id desc limit 1)
        ) either order by id desc limit 1
      ) last on true
    )
    select merchant_id, account, balance, sum from compared where balance <> sum`)
}

/** Transfers whose running balances do not follow from those before. */
export async function findChainBreaches(
  db: Db | Tx,
  window: Window | null,
): Promise<(Merchant & { record_id: string; account: string; id: number })[]> {
  return await db.query(sql`
    with posted as not materialized (
      select * from ledger_transfers where ${isWithin(window, 'created_at')}
    ), sides as (
      select merchant_id, id, record_id, credit as account, amount, credit_balance as balance from posted
      union all
      select merchant_id, id, record_id, debit, -amount, debit_balance from posted
    ), chained as (
      select merchant_id, id, record_id, account, amount, balance,
        lag(balance) over (partition by merchant_id, account order by id) as before
      from sides
    )
    select merchant_id, id, record_id, account
    from chained
    -- The first of the window follows from the last one before it.
    where balance - amount <> coalesce(before, (
      select either.balance from (
        (select t.id, debit_balance as balance from ledger_transfers t
          where t.merchant_id = chained.merchant_id and debit = account and t.id < chained.id order by id desc limit 1)
        union all
        (select t.id, credit_balance from ledger_transfers t
          where t.merchant_id = chained.merchant_id and credit = account and t.id < chained.id order by id desc limit 1)
      ) either order by either.id desc limit 1
    ), 0)`)
}

export async function findOverdrafts(db: Db | Tx): Promise<(Merchant & { account: string; balance: number })[]> {
  return await db.query(sql`
    select merchant_id, account, balance from ledger_accounts
    where (balance < 0 and account not in ('acquirer', 'debt')) or (balance > 0 and account = 'debt')`)
}

/** The records that something was booked for. */
export async function findBookedFor(db: Db | Tx, window: Window): Promise<RecordKey[]> {
  return await db.query<RecordKey>(sql`
    select distinct merchant_id as "merchantId", record_id as id from ledger_transfers where ${isWithin(window, 'created_at')}`)
}
