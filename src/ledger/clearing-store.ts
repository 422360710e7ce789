import { type Db, sql, type Tx } from '../db/sql.ts'
import { acquirerOf } from './accounts.ts'

/**
 * What each acquirer holds for all merchants according to the ledger, in cents. One that never held anything is
 * missing.
 */
export async function findClearingBalances(db: Db | Tx): Promise<Map<string, number>> {
  return toMap(
    await db.query<{ account: string; cents: number }>(sql`
      select account, (0 - sum(balance))::bigint as cents from ledger_accounts
      where account like 'acquirer:%' group by account`),
  )
}

/**
 * The part that may still be sent: what each acquirer holds, minus withdrawals to be sent or in progress. Only one
 * transaction at a time gets the answer, until it ends: the next one must see the withdrawal that it inserts. The caller
 * takes no further lock that another such transaction may hold.
 */
export async function findPayableBalances(tx: Tx): Promise<Map<string, number>> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended('payable balances', 0))`)
  return toMap(
    await tx.query<{ account: string; cents: number }>(sql`
      select account, sum(cents)::bigint as cents from (
        select account, 0 - sum(balance) as cents from ledger_accounts
        where account like 'acquirer:%' group by account
        union all
        select 'acquirer:' || acquirer, 0 - sum(amount) from withdrawals where status in ('PENDING', 'PROCESSING') group by 1
      ) held
      group by account`),
  )
}

function toMap(rows: { account: string; cents: number }[]): Map<string, number> {
  return new Map(rows.map(({ account, cents }) => [acquirerOf(account) ?? account, cents]))
}
