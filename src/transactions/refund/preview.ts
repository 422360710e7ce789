import type { Acquirers } from '../../acquirers/registry.ts'
import type { Db } from '../../db/sql.ts'
import { assertPayoutsAllowed } from '../../ledger/payout-freeze.ts'
import type { Clock } from '../../lib/clock.ts'
import { AppError } from '../../lib/errors.ts'
import { findTransactions } from '../store.ts'
import { leftOf } from './after.ts'
import { assertIsConfigured, checkRefundable, feesOfRefund, refundableUntil } from './refund.ts'
import { listRefunds } from './store.ts'

export type RefundPreview = {
  /**
   * Cents: what is left of the payment, what would be refunded, what that costs the merchant, and how much of the
   * payment's fee the merchant gets back.
   */
  amountLeft: number
  amount: number
  fee: number
  feeReturned: number
  until: Date
}

/**
 * What a refund would do if it were requested now; without an amount, a refund of what is left.
 *
 * @throws {AppError} `not_found`, `refund_not_possible`, `rate_limited`, `payouts_stopped`
 */
export async function previewRefund(
  { db, clock, acquirers }: { db: Db; clock: Clock; acquirers: Pick<Acquirers, 'get'> },
  { merchantId, transactionId, amount }: { merchantId: string; transactionId: string; amount?: number | undefined },
): Promise<RefundPreview> {
  const [row] = await findTransactions(db, [{ merchantId, recordId: transactionId }])
  if (!row) throw new AppError('not_found', { detail: 'There is no transaction with this id.' })
  await assertPayoutsAllowed(db)
  assertIsConfigured(acquirers, row)
  const now = clock.now()
  const refunds = await listRefunds(db, row)
  const refunded = checkRefundable(row, refunds, amount, now)
  return {
    amountLeft: leftOf(row, refunds, 'REFUNDED'),
    amount: refunded,
    ...(await feesOfRefund(db, row, { refunds, amount: refunded, now })),
    until: refundableUntil(row),
  }
}
