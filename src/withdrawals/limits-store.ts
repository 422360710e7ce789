import { type Db, sql, type Tx } from '../db/sql.ts'
import type { Limits } from './limits.ts'

/** A merchant's limits, or null when the defaults apply. */
export async function findLimits(db: Db | Tx, merchantId: string): Promise<Limits | null> {
  const rows = await db.query<Limits>(sql`
    select per_withdrawal as "perWithdrawal", per_day as "perDay", per_night as "perNight", approval_above as "approvalAbove",
      operator_approval_above as "operatorApprovalAbove",
      duplicate_window_seconds as "duplicateWindowSeconds"
    from withdrawal_limits where merchant_id = ${merchantId}`)
  return rows[0] ?? null
}

export async function upsertLimits(tx: Tx, merchantId: string, limits: Limits): Promise<void> {
  await tx.query(sql`
    insert into withdrawal_limits (
      merchant_id, per_withdrawal, per_day, per_night, approval_above, operator_approval_above, duplicate_window_seconds)
    values (
      ${merchantId}, ${limits.perWithdrawal}, ${limits.perDay}, ${limits.perNight}, ${limits.approvalAbove},
      ${limits.operatorApprovalAbove}, ${limits.duplicateWindowSeconds})
    on conflict (merchant_id) do update set
      per_withdrawal = excluded.per_withdrawal, per_day = excluded.per_day, per_night = excluded.per_night,
      approval_above = excluded.approval_above, operator_approval_above = excluded.operator_approval_above,
      duplicate_window_seconds = excluded.duplicate_window_seconds`)
}

/** Serialises concurrent changes, also when there is no row yet. */
export async function lockLimits(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(sql`select from clients where merchant_id = ${merchantId} for no key update`)
}

/** Whether the person, as the audit log names people, belongs to the operator. The command line does. */
export async function isOperators(tx: Tx, actor: string): Promise<boolean> {
  if (!actor.startsWith('user:')) return true
  const rows = await tx.query(sql`
    select from users where email = ${actor.slice('user:'.length)} and merchant_id is null`)
  return rows.length > 0
}

/** The sum of a merchant's withdrawals in [from, to), without those that will certainly not be sent. */
export async function sumWithdrawals(
  tx: Tx,
  { merchantId, from, to }: { merchantId: string; from: Date; to: Date },
): Promise<number> {
  const rows = await tx.query<{ sum: number }>(sql`
    select coalesce(sum(amount), 0) as sum from withdrawals
    where merchant_id = ${merchantId} and created_at >= ${from} and created_at < ${to}
      and status not in ('REJECTED', 'FAILED', 'CANCELED')`)
  return rows[0]?.sum ?? 0
}

/**
 * Whether the same amount was or will be sent to the same key since then. Withdrawals that were not sent or were
 * returned do not count.
 */
export async function hasAlike(
  tx: Tx,
  { merchantId, pixKey, amount, after }: { merchantId: string; pixKey: string; amount: number; after: Date },
): Promise<boolean> {
  const rows = await tx.query(sql`
    select from withdrawals
    where merchant_id = ${merchantId} and pix_key = ${pixKey} and amount = ${amount} and created_at > ${after}
      and status in ('PENDING', 'PROCESSING', 'PROCESSED')
    limit 1`)
  return rows.length > 0
}
