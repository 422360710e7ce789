import { timingClasses } from '../alerts/conditions.ts'
import { type Db, empty, sql } from '../db/sql.ts'
import { deadline } from '../transactions/dispute/store.ts'
import type { ReviewReason } from '../withdrawals/status.ts'
import type { WithdrawalRow } from '../withdrawals/store.ts'

/** One merchant, or all if null; and the most that is counted, so that a long list costs no more. */
type Bounds = { merchantId: string | null; limit: number }

export type PendingRow = Pick<WithdrawalRow, 'id' | 'merchant_id' | 'created_at' | 'requested_by' | 'amount'>

/** Withdrawals that are pending review, oldest first, without the first `offset`. With `reason`, only those for it. */
export async function listPending(
  db: Db,
  { merchantId, limit, offset = 0, reason }: Bounds & { offset?: number; reason?: ReviewReason },
): Promise<PendingRow[]> {
  return await db.query<PendingRow>(sql`
    select id, merchant_id, created_at, requested_by, amount from withdrawals
    where review_reason is not null ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}
      ${reason === undefined ? empty : sql`and review_reason = ${reason}`}
    order by created_at, id limit ${limit} offset ${offset}`)
}

export type Counted = { count: number; amount: number; first: Date | null }

/** Open disputes for which no defence was sent and whose deadline is not after `before`. */
export async function countDisputesDue(db: Db, { merchantId, limit }: Bounds, before: Date): Promise<Counted> {
  const [row] = await db.query<Counted>(sql`
    select count(*) as count, coalesce(sum(amount), 0)::bigint as amount, min(deadline) as first from (
      select amount, ${deadline} as deadline from disputes
      where state = 'open' and answered_at is null and ${deadline} <= ${before} ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}
      order by ${deadline} limit ${limit}
    ) due`)
  return row ?? { count: 0, amount: 0, first: null }
}

/** Payments in suspense that an operator has to decide on. The first condition is that of their partial index. */
export async function countSuspense(db: Db, limit: number): Promise<Counted> {
  const [row] = await db.query<Counted>(sql`
    select count(*) as count, coalesce(sum(amount), 0)::bigint as amount, min(since) as first from (
      select amount, status_dates[1] as since from suspense_payments
      where status in ('held', 'returning') and status = 'held' order by status_dates[1] limit ${limit}
    ) waiting`)
  return row ?? { count: 0, amount: 0, first: null }
}

/** Discrepancies that may need a person, as in the alerts: those of timing resolve themselves. */
export async function countDiscrepancies(db: Db, limit: number): Promise<Pick<Counted, 'count' | 'first'>> {
  const [row] = await db.query<Pick<Counted, 'count' | 'first'>>(sql`
    select count(*) as count, min(found_at) as first from (
      select found_at from differences where state = 'open' and class <> all (${timingClasses}) order by found_at limit ${limit}
    ) waiting`)
  return row ?? { count: 0, first: null }
}

/** The sum of all account balances. It must be zero: each transfer debits and credits the same amount. */
export async function sumAccounts(db: Db): Promise<number> {
  const [row] = await db.query<{ sum: number }>(sql`
    select coalesce(sum(balance), 0)::bigint as sum from ledger_accounts`)
  return row?.sum ?? 0
}
