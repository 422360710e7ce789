import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { postAll } from '../ledger/post.ts'
import { feeReturnedByOperator, paymentReversed } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { type FieldErrorCode, refusal } from '../lib/errors.ts'
import { newUuid } from '../lib/secrets.ts'
import { returnToSuspense } from '../suspense/attribute.ts'
import { unknownSuspensePayment } from '../suspense/send-back.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import { findSuspense, lockSuspense, type SuspenseRow } from '../suspense/store.ts'
import { settleDisputes } from '../transactions/dispute/steps.ts'
import { clearReferences } from '../transactions/dispute/store.ts'
import { insertReversal, listRefunds } from '../transactions/refund/store.ts'
import { type LockedTransaction, lockTransaction } from '../transactions/store.ts'
import { updateAttributionReversed } from './store.ts'

/** The reason that the merchant sees on the refund that reverses an attribution. */
const reversalReason = 'The payment was not for this transaction'

export type ReverseDeps = { db: Db; clock: Clock; wakeDeliveries: () => void }

/**
 * Reverses an attribution (docs/decisions/0011): in one commit the payment is in suspense again, and its transaction
 * is REFUNDED by a refund whose money went to suspense. The fee is returned; what the merchant has spent of the
 * payment becomes a debt.
 *
 * @throws {AppError} `not_found`, or `suspense_not_possible` with the reason
 */
export async function recordReversal(
  { db, clock, wakeDeliveries }: ReverseDeps,
  { id, by }: { id: string; by: By },
): Promise<{ transactionId: string }> {
  const found = await findSuspense(db, id)
  if (!found) throw unknownSuspensePayment()
  const { attributed_merchant_id: merchantId, attributed_transaction_id: transactionId } = found
  if (merchantId === null || transactionId === null)
    throw refuse('not_attributed', 'It is attributed to no transaction.')
  await db.transaction(async (tx) => {
    const row = await lockTransaction(tx, merchantId, transactionId)
    assert(row, 'an attributed transaction exists')
    const payment = await lockSuspense(tx, found.merchant_id, id)
    if (payment?.attributed_transaction_id !== transactionId)
      throw refuse('changed', 'The attribution was reversed meanwhile.')
    const now = clock.now()
    await reverse(tx, row, payment, now)
    await recordAction(tx, { by, action: 'suspense.undo', merchantId, recordId: id, now })
  })
  wakeDeliveries()
  return { transactionId }
}

async function reverse(tx: Tx, row: LockedTransaction, payment: SuspenseRow, now: Date): Promise<void> {
  const refunds = await listRefunds(tx, row)
  if (row.status !== 'PAID')
    throw refuse(...(whyNot[row.status] ?? (['not_paid', `The transaction is ${row.status}.`] as const)))
  if (refunds.some(({ status }) => status === 'REFUNDED'))
    throw refuse('only_refundable', 'A part of the payment was refunded to the payer. Refund the rest in the same way.')
  if (row.amount_returned > 0)
    throw refuse('only_refundable', 'The payer’s bank has returned a part of the payment. Refund the rest instead.')
  const { merchant_id: merchantId, id: transactionId, amount_paid: amount } = row
  assert(amount === payment.amount, 'an attributed payment was posted whole')
  const last = refunds.at(-1)
  const refundId = newUuid()
  await insertReversal(tx, {
    merchant_id: merchantId,
    id: refundId,
    transaction_id: transactionId,
    amount,
    reason: reversalReason,
    // Two refunds of a transaction never share a creation time: it gives their order.
    created_at: new Date(Math.max(now.getTime(), (last?.created_at.getTime() ?? 0) + 1)),
    suspense_payment_id: payment.id,
  })
  await settleDisputes(tx, row, now)
  await clearReferences(tx, row)
  await updateAttributionReversed(tx, { merchantId, transactionId, now })
  const reversal = {
    eventKey: `refund:${refundId}:undone`,
    recordType: 'refund' as const,
    recordId: refundId,
    acquirer: payment.acquirer,
    now,
  }
  let rest = 0
  const transfers = paymentReversed(amount, row.fee_amount ?? 0, (missing) => {
    rest = missing
  })
  await postAll(tx, [
    await returnToSuspense(tx, payment, now),
    { ...reversal, merchantId, transfers },
    // If the operator has already withdrawn the fee, the operator's own account pays what is missing.
    { ...reversal, merchantId: operatorMerchantId, transfers: feeReturnedByOperator(() => rest) },
  ])
}

type Why = [code: FieldErrorCode, detail: string]

const disputed: Why = [
  'disputed',
  'The payment is disputed (MED): until that is decided the attribution cannot be reversed.',
]

const whyNot: Partial<Record<LockedTransaction['status'], Why>> = {
  PROCESSING_REFUND: ['refund_in_progress', 'A refund of the transaction is in progress. Try again when it has ended.'],
  REFUNDED: ['refunded', 'The payment was already refunded to the payer.'],
  BLOCKED: disputed,
  PROCESSING_INFRACTION: disputed,
  INFRACTION: ['returned', 'The payment was returned to the payer under MED.'],
}

const refuse = refusal.bind(null, 'suspense_not_possible')
