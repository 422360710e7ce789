import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { refusal } from '../lib/errors.ts'
import { lockFeeRule } from './operator-store.ts'
import { type FeeOperation, type FeeParts, type FeeRule, findFeeRule, insertFeeRule } from './store.ts'

type Charged = { merchantId: string; amount: number }

/**
 * Sets a merchant's rule for one operation from now on. What was charged before stays.
 *
 * @param validFrom of the rule that the person has read, null if there was none; by default any rule is replaced
 * @throws {AppError} `change_not_possible` if that is no longer the latest rule
 */
export async function setFeeRule(
  { db, clock }: { db: Db; clock: Clock },
  {
    merchantId,
    operation,
    rule,
    validFrom,
    by,
  }: { merchantId: string; operation: FeeOperation; rule: FeeRule; validFrom?: string | null | undefined; by: By },
): Promise<void> {
  const { fixed, basis_points: basisPoints, minimum, maximum, returns_payment_fee: returnsPaymentFee } = rule
  const details = { operation, fixed, basisPoints, minimum, maximum, returnsPaymentFee }
  await db.transaction(async (tx) => {
    const now = clock.now()
    const former = await lockFeeRule(tx, { merchantId, operation })
    if (validFrom !== undefined && former?.getTime() !== (validFrom === null ? undefined : Date.parse(validFrom)))
      throw refusal('change_not_possible', 'changed', 'The fee was changed meanwhile. Read it again.')
    await insertFeeRule(tx, { ...rule, merchantId, operation, validFrom: now })
    await recordAction(tx, { by, action: 'fee.set', merchantId, recordId: merchantId, details, now })
  })
}

/** The fee for an operation by the rule in force at this moment, in cents; 0 without a rule. */
export async function feeFor(
  db: Db | Tx,
  { operation, now, merchantId, amount }: Charged & { operation: FeeOperation; now: Date },
): Promise<number> {
  return computeFee(await findFeeRule(db, { merchantId, operation, now }), amount)
}

/**
 * What a refund costs its merchant, and how much of the payment's fee is returned with it, by the rule in force at
 * this moment.
 */
export async function refundFees(
  db: Db | Tx,
  {
    merchantId,
    amount,
    now,
    payment,
  }: Charged & { now: Date; payment: { amount: number; fee: number; refunded: number } },
): Promise<{ fee: number; feeReturned: number }> {
  const rule = await findFeeRule(db, { merchantId, operation: 'refund', now })
  if (!rule) return { fee: 0, feeReturned: 0 }
  // A difference of two shares, so that rounding adds up: the refunds of a whole payment return exactly its fee, however
  // many they are, and those of a part never return more.
  const shareOf = (refunded: number) => Number((BigInt(payment.fee) * BigInt(refunded)) / BigInt(payment.amount))
  const feeReturned = shareOf(payment.refunded + amount) - shareOf(payment.refunded)
  return { fee: computeFee(rule, amount), feeReturned: rule.returns_payment_fee ? feeReturned : 0 }
}

/**
 * Fixed part plus basis points of the amount, rounded half up to a cent, within minimum and maximum; 0 without a rule.
 */
export function computeFee(rule: FeeParts | null, amount: number): number {
  if (rule === null) return 0
  const share = Math.floor((amount * rule.basis_points + 5_000) / 10_000)
  const fee = Math.max(rule.minimum, rule.fixed + share)
  return rule.maximum === null ? fee : Math.min(rule.maximum, fee)
}
