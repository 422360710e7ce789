import type { Db, Tx } from '../db/sql.ts'
import { AppError, type FieldError } from '../lib/errors.ts'
import { findLimits, hasAlike, isOperators, lockLimits, sumWithdrawals, upsertLimits } from './limits-store.ts'
import { periodOf } from './period.ts'
import type { WithdrawalHold } from './status.ts'

/** What a client may withdraw, in cents; null is no limit. Fees do not count: they stay here. */
export type Limits = {
  perWithdrawal: number | null
  /** From 06:00 to 20:00 in São Paulo. */
  perDay: number | null
  /** From 20:00 to 06:00 of the next date. */
  perNight: number | null
  /** Above it the operator has to approve. */
  approvalAbove: number | null
  /** Above it one of the operator's people who asks for a withdrawal needs another one. */
  operatorApprovalAbove: number | null
  /** How long the same amount to the same key looks like a duplicate; 0 turns the guard off. */
  duplicateWindowSeconds: number
}

/**
 * Of a client that the operator has set none for. A day's sum is limited, so that a stolen secret does not empty the account: by day to the
 * largest single withdrawal that the API takes, at night, when nobody watches, to a tenth. The operator's people need each other for every
 * withdrawal. The guard against duplicates is on, since that is how most double payouts happen: a client that lost an answer asks again
 * under a new key, and does so within minutes.
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
  /** The person who asks, as the audit log names people; null: a merchant's token. */
  requestedBy: string | null
  now: Date
}

/**
 * Whether a withdrawal may be made by its client's limits, and what it has to wait for if so. Sums are right only while the merchant's
 * accounts are locked, so that no other withdrawal comes about at the same time.
 *
 * @throws {AppError} `withdrawal_not_possible`, naming every limit that it goes beyond
 */
export async function judgeWithdrawal(tx: Tx, withdrawal: WithdrawalToJudge): Promise<WithdrawalHold | null> {
  const { merchantId, amount, pixKey, requestedBy, now } = withdrawal
  const limits = (await findLimits(tx, merchantId)) ?? defaultLimits
  const faults = await findFaults(tx, withdrawal, limits)
  if (faults[0]) {
    const { field, message } = faults[0]
    throw new AppError('withdrawal_not_possible', { detail: `${field} ${message}.`, fields: faults })
  }
  const windowMs = limits.duplicateWindowSeconds * 1000
  const after = new Date(now.getTime() - windowMs)
  // Before the operator is asked, the merchant says whether it means it.
  if (windowMs > 0 && (await hasAlike(tx, { merchantId, pixKey, amount, after }))) return 'duplicate'
  return (await needsApproval(tx, limits, { amount, requestedBy })) ? 'approval' : null
}

/** What a withdrawal that its merchant has confirmed still has to wait for. */
export async function judgeConfirmed(
  tx: Tx,
  { merchantId, ...asked }: { merchantId: string; amount: number; requestedBy: string | null },
): Promise<'approval' | null> {
  return (await needsApproval(tx, (await findLimits(tx, merchantId)) ?? defaultLimits, asked)) ? 'approval' : null
}

/**
 * Sets some of a client's limits; the others stay as they are. They count for withdrawals from now on. What a person may loosen alone is not
 * decided here: see change-limits.ts.
 */
export async function setWithdrawalLimits(
  db: Db,
  { merchantId, ...changed }: { merchantId: string } & Partial<Limits>,
): Promise<Limits> {
  return await db.transaction(async (tx) => {
    await lockLimits(tx, merchantId)
    const limits = { ...defaultLimits, ...(await findLimits(tx, merchantId)), ...changed }
    await upsertLimits(tx, merchantId, limits)
    return limits
  })
}

async function findFaults(tx: Tx, { merchantId, amount, now }: WithdrawalToJudge, limits: Limits) {
  const faults: FieldError[] = []
  if (limits.perWithdrawal !== null && amount > limits.perWithdrawal)
    faults.push(fault('limit_per_withdrawal', `is above the limit of ${limits.perWithdrawal} cents for one withdrawal`))
  const { name, from, to } = periodOf(now)
  const limit = name === 'day' ? limits.perDay : limits.perNight
  if (limit === null) return faults
  const left = Math.max(0, limit - (await sumWithdrawals(tx, { merchantId, from, to })))
  if (amount > left) {
    const hours = name === 'day' ? 'from 06:00 to 20:00' : 'from 20:00 to 06:00'
    faults.push(
      fault(
        `limit_per_${name}`,
        `is above the ${left} cents that are left of the limit of ${limit} cents for this ${name} (${hours} in São Paulo)`,
      ),
    )
  }
  return faults
}

function fault(code: string, message: string): FieldError {
  return { field: 'amount', code, message }
}

async function needsApproval(
  tx: Tx,
  { approvalAbove, operatorApprovalAbove }: Limits,
  { amount, requestedBy }: { amount: number; requestedBy: string | null },
): Promise<boolean> {
  const isAbove = (threshold: number | null) => threshold !== null && amount > threshold
  if (isAbove(approvalAbove)) return true
  return isAbove(operatorApprovalAbove) && requestedBy !== null && (await isOperators(tx, requestedBy))
}
