import type { Db } from '../db/sql.ts'
import { feeFor } from '../ledger/fees.ts'
import { assertPayoutsAllowed } from '../ledger/payout-freeze.ts'
import { findBalances } from '../ledger/store.ts'
import type { Clock } from '../lib/clock.ts'
import type { PixKey } from '../pix/key.ts'
import { judgeWithdrawal } from './limits.ts'
import type { ReviewReason } from './status.ts'

export type WithdrawalPreview = {
  pixKey: PixKey
  /** What the receiver gets, in cents. */
  amount: number
  /** Charged in addition to the amount. */
  fee: number
  /** The merchant's available balance. */
  available: number
  /** Why it would wait for review; null if it would not. */
  hold: ReviewReason | null
}

/**
 * Checks a withdrawal that would be requested now against the limits, and returns its fee and the review that it would
 * need. An amount above the balance is not refused here: compare `available` with `amount + fee`. It only reads, and
 * promises nothing: others may be requested meanwhile.
 *
 * @throws {AppError} `withdrawal_not_possible`, naming every limit that it exceeds; `payouts_stopped`
 */
export async function previewWithdrawal(
  { db, clock }: { db: Db; clock: Clock },
  {
    merchantId,
    amount,
    pixKey,
    requestedBy,
  }: { merchantId: string; amount: number; pixKey: PixKey; requestedBy: string },
): Promise<WithdrawalPreview> {
  const now = clock.now()
  return await db.transaction(async (tx) => {
    await assertPayoutsAllowed(tx)
    const hold = await judgeWithdrawal(tx, { merchantId, amount, pixKey: pixKey.key, requestedBy, now })
    const fee = await feeFor(tx, { merchantId, operation: 'withdrawal', amount, now })
    const { available } = await findBalances(tx, merchantId)
    return { pixKey, amount, fee, available, hold }
  })
}
