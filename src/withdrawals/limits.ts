import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { fromWallTime, toWallTime } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type FieldError } from '../lib/errors.ts'
import { findLimits, hasAlike, isThroughOperators, lockLimits, sumWithdrawals, upsertLimits } from './limits-store.ts'
import type { ReviewReason } from './status.ts'

/** What a merchant may withdraw, in cents; null means no limit. Fees do not count: they stay with the operator. */
export type Limits = {
  perWithdrawal: number | null
  /** From 06:00 to 20:00 in São Paulo. */
  perDay: number | null
  /** From 20:00 to 06:00 of the next date. */
  perNight: number | null
  /** Above this amount the operator has to approve. */
  approvalAbove: number | null
  /** Above this amount a withdrawal that the operator's staff requested or may have requested needs a second person. */
  operatorApprovalAbove: number | null
  /** How long the same amount to the same key counts as a duplicate; 0 turns the check off. */
  duplicateWindowSeconds: number
}

/**
 * The limits of a merchant for whom the operator has set none. The sums by day and by night limit what a thief of the
 * secret can withdraw: by day the largest single withdrawal that the API accepts; by night, when nobody watches, a
 * tenth of it. Every withdrawal that the operator's staff requested or may have requested needs a second person.
 * The duplicate check is on, because most double payouts happen that way: a client that lost a response repeats the
 * request with a new key within minutes.
 */
export const defaultLimits: Limits = {
  perWithdrawal: null,
  perDay: 10_000_000,
  perNight: 1_000_000,
  approvalAbove: null,
  operatorApprovalAbove: 0,
  duplicateWindowSeconds: 600,
}

export type WithdrawalToJudge = {
  merchantId: string
  amount: number
  pixKey: string
  /** The person who requests it, as the audit log names people; null: a merchant's token. */
  requestedBy: string | null
  now: Date
}

/**
 * Checks a withdrawal against the merchant's limits, and returns the reason for a review, or null. The sums are right
 * only while the merchant's accounts are locked, so that no other withdrawal is created at the same time.
 *
 * @throws {AppError} `withdrawal_not_possible`, naming every limit that it exceeds
 */
export async function judgeWithdrawal(tx: Tx, withdrawal: WithdrawalToJudge): Promise<ReviewReason | null> {
  const { merchantId, amount, pixKey, requestedBy, now } = withdrawal
  const limits = (await findLimits(tx, merchantId)) ?? defaultLimits
  const faults = await findFaults(tx, withdrawal, limits)
  if (faults[0]) {
    const { field, message } = faults[0]
    throw new AppError('withdrawal_not_possible', { detail: `${field} ${message}.`, fields: faults })
  }
  const windowMs = limits.duplicateWindowSeconds * 1000
  const after = new Date(now.getTime() - windowMs)
  // The merchant confirms a duplicate before the operator is asked.
  if (windowMs > 0 && (await hasAlike(tx, { merchantId, pixKey, amount, after }))) return 'duplicate'
  return (await needsApproval(tx, limits, { merchantId, amount, requestedBy, at: now })) ? 'approval' : null
}

/** `at` is when it was requested. */
type Requested = { merchantId: string; amount: number; requestedBy: string | null; at: Date }

/** The review that a withdrawal still needs after its merchant has confirmed it. */
export async function judgeConfirmed(tx: Tx, requested: Requested): Promise<'approval' | null> {
  const limits = (await findLimits(tx, requested.merchantId)) ?? defaultLimits
  return (await needsApproval(tx, limits, requested)) ? 'approval' : null
}

/**
 * Sets some of a merchant's limits; the others stay. They apply to withdrawals from now on. change-limits.ts decides
 * what a person may loosen alone.
 */
export async function setWithdrawalLimits(
  { db, clock }: { db: Db; clock: Clock },
  { by, ...input }: { merchantId: string; by: By } & Partial<Limits>,
): Promise<Limits> {
  return await db.transaction(async (tx) => {
    const { merchantId, ...details } = input
    const about = { action: 'withdrawal.limits', merchantId, recordId: merchantId, details } as const
    await recordAction(tx, { ...about, by, now: clock.now() })
    return await mergeLimits(tx, input)
  })
}

export async function mergeLimits(
  tx: Tx,
  { merchantId, ...changed }: { merchantId: string } & Partial<Limits>,
): Promise<Limits> {
  await lockLimits(tx, merchantId)
  const limits = { ...defaultLimits, ...(await findLimits(tx, merchantId)), ...changed }
  await upsertLimits(tx, merchantId, limits)
  return limits
}

async function findFaults(tx: Tx, { merchantId, amount, now }: WithdrawalToJudge, limits: Limits) {
  const faults: FieldError[] = []
  if (limits.perWithdrawal !== null && amount > limits.perWithdrawal)
    faults.push({
      ...{ field: 'amount', code: 'limit_per_withdrawal', limit: limits.perWithdrawal, unit: 'cents' },
      message: `is above the limit of ${limits.perWithdrawal} cents for one withdrawal`,
    })
  const { name, from, to } = periodOf(now)
  const limit = name === 'day' ? limits.perDay : limits.perNight
  if (limit === null) return faults
  const left = Math.max(0, limit - (await sumWithdrawals(tx, { merchantId, from, to })))
  if (amount > left) {
    const hours = name === 'day' ? 'from 06:00 to 20:00' : 'from 20:00 to 06:00'
    faults.push({
      ...{ field: 'amount', code: `limit_per_${name}`, limit: left, unit: 'cents' },
      message: `is above the ${left} cents that are left of the limit of ${limit} cents for this ${name} (${hours} in São Paulo)`,
    })
  }
  return faults
}

async function needsApproval(
  tx: Tx,
  { approvalAbove, operatorApprovalAbove }: Limits,
  { amount, ...request }: Requested,
): Promise<boolean> {
  const isAbove = (threshold: number | null) => threshold !== null && amount > threshold
  if (isAbove(approvalAbove)) return true
  return isAbove(operatorApprovalAbove) && (await isThroughOperators(tx, request))
}

/** The Central Bank's night period, for which banks have separate limits. */
const nightFromHour = 20
const dayFromHour = 6

/** A day or a night: limits count from its beginning. `to` is the first moment of the next one. */
export type Period = { name: 'day' | 'night'; from: Date; to: Date }

/** The day (06:00 to 20:00 in São Paulo) or the night (20:00 to 06:00 of the next date: one night, not two) of a moment. */
export function periodOf(now: Date): Period {
  const wall = toWallTime(now)
  const at = (days: number, hour: number) =>
    fromWallTime(Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth(), wall.getUTCDate() + days, hour))
  const hour = wall.getUTCHours()
  if (hour < dayFromHour) return { name: 'night', from: at(-1, nightFromHour), to: at(0, dayFromHour) }
  if (hour < nightFromHour) return { name: 'day', from: at(0, dayFromHour), to: at(0, nightFromHour) }
  return { name: 'night', from: at(0, nightFromHour), to: at(1, dayFromHour) }
}
