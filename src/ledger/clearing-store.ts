import { type Db, sql, type Tx } from '../db/sql.ts'
import { acquirerOf } from './accounts.ts'

/** What each acquirer holds of all merchants by the ledger, in cents. One that never held anything is not in the answer. */
export async function findHeld(db: Db | Tx): Promise<Map<string, number>> {
  return toMap(
    await db.query<{ account: string; cents: number }>(sql`
      select account, (0 - sum(balance))::bigint as cents from ledger_accounts
      where account like 'acquirer:%' group by account`),
  )
}

/** What of it may still be sent out: less the withdrawals that are to be sent or under way. */
export async function findFree(tx: Tx): Promise<Map<string, number>> {
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
