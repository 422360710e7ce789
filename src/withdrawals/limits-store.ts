import { type Db, type Sql, sql, type Tx } from '../db/sql.ts'
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

/**
 * Whether the operator's staff requested a withdrawal, or may have. What the command line requests is theirs.
 * They may have requested it for a day after one of them, signed in to the dashboard,
 * - created a client secret that the token may have come from; or
 * - invited or reset the account that requested it, or that created such a secret; or invited or reset, within the day,
 *   an account that invited or reset that one, and so on.
 * Not longer, because the operator creates the first secret of most merchants and invites their first people. Secrets
 * and accounts made on the command line do not count: whoever has it can change the database too.
 */
export async function isThroughOperators(
  tx: Tx,
  { merchantId, requestedBy, at }: { merchantId: string; requestedBy: string | null; at: Date },
): Promise<boolean> {
  if (requestedBy !== null && !requestedBy.startsWith('user:')) return true
  const [row] = await tx.query<{ found: boolean }>(sql`
    select ${throughOperators({
      merchantId: sql`${merchantId}::uuid`,
      requestedBy: sql`${requestedBy}::text`,
      at: sql`${at}::timestamptz`,
    })} as found`)
  return row?.found ?? false
}

/** {@link isThroughOperators} as a condition on columns or parameters, without the command line. */
export function throughOperators({
  merchantId,
  requestedBy,
  at,
}: Record<'merchantId' | 'requestedBy' | 'at', Sql>): Sql {
  return sql`exists (
    select from (
      select ${requestedBy} as person, ${at} as acted_at
      union all
      select made_by, created_at from client_secrets
      where ${requestedBy} is null and merchant_id = ${merchantId} and created_at <= ${at}
        and (expires_at is null or expires_at > ${at} - interval '1 day')
    ) way
    join users on users.email = substr(person, 6) and starts_with(person, 'user:')
    where case when users.merchant_id is null then acted_at > ${at} - interval '1 day'
      else acted_at >= users.enrolled_at and exists (
        with recursive enrolment as (
          select users.enrolled_by as enroller, users.enrolled_at as since
          union
          select inviter.enrolled_by, inviter.enrolled_at
          from enrolment join users inviter on inviter.id = enrolment.enroller
          where enrolment.since > ${at} - interval '1 day' and inviter.merchant_id is not null
        )
        select from enrolment join users inviter on inviter.id = enrolment.enroller and inviter.merchant_id is null
        where enrolment.since > ${at} - interval '1 day') end)`
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
