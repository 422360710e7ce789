import { type Db, sql, type Tx } from '../db/sql.ts'

type Merchant = { merchant_id: string }

export async function findUnevenMerchants(db: Db | Tx): Promise<(Merchant & { sum: number })[]> {
  return await db.query(sql`
    select merchant_id, sum(balance) as sum from ledger_accounts group by merchant_id having sum(balance) <> 0`)
}

/** Balances that are not the sum of their transfers, and accounts with transfers that have no balance. */
export async function findUnequalBalances(
  db: Db | Tx,
): Promise<(Merchant & { account: string; balance: number; sum: number })[]> {
  return await db.query(sql`
    with sums as (
      select merchant_id, account, sum(amount) as sum
      from (
        select merchant_id, credit as account, amount from ledger_transfers
        union all
        select merchant_id, debit as account, -amount as amount from ledger_transfers
      ) sides
      group by merchant_id, account
    )
    select merchant_id, account, coalesce(balance, 0) as balance, coalesce(sum, 0) as sum
    from ledger_accounts full join sums using (merchant_id, account)
    where coalesce(balance, 0) <> coalesce(sum, 0)`)
}

export async function findChainBreaches(
  db: Db | Tx,
): Promise<(Merchant & { record_id: string; account: string; id: number })[]> {
  return await db.query(sql`
    with sides as (
      select merchant_id, id, record_id, credit as account, amount, credit_balance as balance from ledger_transfers
      union all
      select merchant_id, id, record_id, debit as account, -amount as amount, debit_balance as balance from ledger_transfers
    ), chained as (
      select merchant_id, id, record_id, account, amount, balance,
        coalesce(lag(balance) over (partition by merchant_id, account order by id), 0) as before
      from sides
    )
    select merchant_id, id, record_id, account from chained where before + amount <> balance`)
}

export async function findOverdrafts(db: Db | Tx): Promise<(Merchant & { account: string; balance: number })[]> {
  return await db.query(sql`
    select merchant_id, account, balance from ledger_accounts
    where (balance < 0 and account not in ('acquirer', 'debt')) or (balance > 0 and account = 'debt')`)
}
