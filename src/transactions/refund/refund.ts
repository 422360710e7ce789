import type { Acquirers } from '../../acquirers/registry.ts'
import { type By, recordAction } from '../../audit/record.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { idempotencyKeyReused } from '../../http/idempotency-key.ts'
import { enqueueJob } from '../../jobs/jobs.ts'
import { refundFees } from '../../ledger/fees.ts'
import { assertPayoutsAllowed } from '../../ledger/payout-freeze.ts'
import { assert } from '../../lib/assert.ts'
import { cellOfId, newIdIn } from '../../lib/cell.ts'
import type { Clock } from '../../lib/clock.ts'
import { AppError, type FieldErrorCode, refusal } from '../../lib/errors.ts'
import { changeStatus } from '../change.ts'
import { postRefund } from '../money.ts'
import type { TransactionStatus } from '../status.ts'
import { type LockedTransaction, lockTransaction } from '../store.ts'
import { leftOf, sumOf } from './after.ts'
import type { RefundInput } from './schema.ts'
import { findRefundByKey, insertRefund, listRefunds, type NewRefund, type RefundRow } from './store.ts'

/** How long the Pix system accepts returns of a payment. */
const refundableMs = 90 * 24 * 60 * 60_000
/** How soon a new refund is checked: the check finds one whose job was lost. */
const firstCheckMs = 60_000

/** The job that sends one refund. */
export const sendRefundJob = 'transactions.refund'
export type SendRefundPayload = { merchantId: string; id: string }

export type RefundDeps = { db: Db; clock: Clock; acquirers: Pick<Acquirers, 'get'>; wakeDeliveries: () => void }

export type RequestedRefund = { refund: NewRefund | RefundRow; isReplay: boolean }

/**
 * Each refund adds to the transaction's history, and every event contains the whole history. No real sale is refunded
 * in so many parts. Failed refunds do not count.
 */
export const refundsMax = 100
/**
 * Failed refunds add to the history too, and a program that repeats them while the bank refuses all would fill it in
 * minutes. A person who tries again stays far below these limits.
 */
const failuresMax = [
  { count: 10, withinMs: 60 * 60_000 },
  { count: 30, withinMs: 24 * 60 * 60_000 },
]

/**
 * Accepts a refund of what is left or of a part of it. One commit holds the refund, the status PROCESSING_REFUND, the
 * reserved amount and fee, and the job that sends it.
 *
 * @throws {AppError} `not_found`, `refund_not_possible`, `insufficient_balance`, `idempotency_key_reused`,
 *   `rate_limited`, `payouts_stopped`
 */
export async function refundTransaction(
  deps: RefundDeps,
  {
    merchantId,
    transactionId,
    by,
    input,
  }: { merchantId: string; transactionId: string; by: By | null; input: RefundInput },
): Promise<RequestedRefund> {
  const requested = await deps.db.transaction(async (tx): Promise<RequestedRefund> => {
    const row = await lockTransaction(tx, merchantId, transactionId)
    if (!row) throw new AppError('not_found', { detail: 'There is no transaction with this id.' })
    const first = await findRefundByKey(tx, merchantId, input.idempotencyKey)
    if (first) return replay(first, row, input)
    await assertPayoutsAllowed(tx)
    assertIsConfigured(deps.acquirers, row)
    const refunds = await listRefunds(tx, row)
    const now = deps.clock.now()
    const amount = checkRefundable(row, refunds, input.amount, now)
    const refund = await toRefund(tx, { row, refunds, amount, input, now })
    if (await insertRefund(tx, refund)) {
      await reserve(tx, row, refund, now)
      const details = { refundId: refund.id, amount, reason: refund.reason }
      await recordAction(tx, { by, action: 'transaction.refund', merchantId, recordId: row.id, details, now })
      return { refund, isReplay: false }
    }
    // A refund of another transaction took the key meanwhile.
    const winner = await findRefundByKey(tx, merchantId, input.idempotencyKey)
    assert(winner, 'the refund that a request conflicts with exists')
    return replay(winner, row, input)
  })
  if (!requested.isReplay) deps.wakeDeliveries()
  return requested
}

/**
 * Only the account that received the money can send it back, and the configuration may no longer contain that
 * account.
 *
 * @throws {AppError} `refund_not_possible`
 */
export function assertIsConfigured(acquirers: Pick<Acquirers, 'get'>, { acquirer }: { acquirer: string }): void {
  if (acquirers.get(acquirer)) return
  throw refuse(
    'not_configured',
    `The payment is at the acquirer ${acquirer}, which is not configured. The operator has to configure it again first.`,
    { field: 'acquirer' },
  )
}

type Refundable = Pick<LockedTransaction, 'status' | 'payment_date' | 'amount_paid' | 'amount_returned'>

/**
 * Returns the amount that can be refunded now; what is left when the request names no amount.
 *
 * @throws {AppError} `refund_not_possible`, `rate_limited`
 */
export function checkRefundable(row: Refundable, refunds: RefundRow[], amount: number | undefined, now: Date): number {
  // After a lost dispute of a part, the rest can be refunded.
  const left = row.amount_paid === null ? 0 : leftOf(row, refunds, 'REFUNDED')
  const isRefundable = row.status === 'PAID' || (row.status === 'INFRACTION' && left > 0)
  if (!isRefundable || row.payment_date === null) throw refuse(...(whyNot[row.status] ?? notPaid))
  if (now > refundableUntil(row)) {
    throw refuse(
      'too_old',
      'The payment is more than 90 days old, and the Pix system does not accept returns of it any more.',
    )
  }
  const notFailed = refunds.filter(({ status }) => status !== 'FAILED')
  if (notFailed.length >= refundsMax) {
    const detail = `A transaction can have at most ${refundsMax} refunds.`
    throw refuse('too_many', detail, { field: 'refunds', limit: refundsMax })
  }
  assertFailuresAreRare(refunds, now)
  if (amount === undefined || amount <= left) return amount ?? left
  throw new AppError('refund_not_possible', {
    detail: `The amount is more than the ${left} cents that are left of the payment.`,
    fields: [{ field: 'amount', code: 'too_large', message: `must be at most ${left}`, limit: left, unit: 'cents' }],
    members: { amountLeft: left },
  })
}

/** @throws {AppError} `rate_limited` */
function assertFailuresAreRare(refunds: RefundRow[], now: Date): void {
  const failedAt = refunds.flatMap(({ status, finished_at: at }) => (status === 'FAILED' && at ? [at.getTime()] : []))
  for (const { count, withinMs } of failuresMax) {
    // While this one is within the period, one more failure would be too many.
    const oldest = failedAt.toSorted((one, other) => other - one)[count - 1]
    if (oldest === undefined || oldest + withinMs <= now.getTime()) continue
    const seconds = Math.ceil((oldest + withinMs - now.getTime()) / 1000)
    const message = `${count} refunds of this transaction failed recently. See errorMessage of the last one, and try again in ${seconds} seconds.`
    throw new AppError('rate_limited', {
      detail: message,
      fields: [{ field: 'status', code: 'refunds_failed', message, limit: seconds }],
      headers: { 'retry-after': String(seconds) },
    })
  }
}

/** The last moment at which the Pix system accepts a return of a payment. */
export function refundableUntil({ payment_date: paidAt }: Pick<Refundable, 'payment_date'>): Date {
  assert(paidAt, 'what is refunded was paid')
  return new Date(paidAt.getTime() + refundableMs)
}

type Why = [code: FieldErrorCode, detail: string]

const notPaid: Why = ['not_paid', 'The transaction is not paid.']
const disputed: Why = ['disputed', 'The payment is disputed (MED): until that is decided it cannot be refunded.']

const whyNot: Partial<Record<TransactionStatus, Why>> = {
  PROCESSING_REFUND: [
    'refund_in_progress',
    'A refund of this transaction is in progress. Try again when it has ended.',
  ],
  REFUNDED: ['refunded', 'Nothing of the payment is left to refund.'],
  BLOCKED: disputed,
  PROCESSING_INFRACTION: disputed,
  INFRACTION: [
    'returned',
    'Nothing of the payment is left: it was returned under MED, in whole or together with refunds.',
  ],
}

const refuse = refusal.bind(null, 'refund_not_possible')

type ToRefund = { row: LockedTransaction; refunds: RefundRow[]; amount: number; input: RefundInput; now: Date }

async function toRefund(tx: Tx, { row, refunds, amount, input, now }: ToRefund): Promise<NewRefund> {
  const last = refunds.at(-1)
  // Two refunds of a transaction never share a creation time: it gives their order.
  const createdAt = new Date(Math.max(now.getTime(), (last?.created_at.getTime() ?? 0) + 1))
  const { fee, feeReturned } = await feesOfRefund(tx, row, { refunds, amount, now })
  return {
    merchant_id: row.merchant_id,
    id: newIdIn(cellOfId(row.id)),
    transaction_id: row.id,
    amount,
    fee_amount: fee,
    fee_returned: feeReturned,
    reason: input.reason ?? null,
    idempotency_key: input.idempotencyKey,
    created_at: createdAt,
    check_at: new Date(now.getTime() + firstCheckMs),
    is_of_rest: amount === leftOf(row, refunds, 'REFUNDED'),
  }
}

/** What a refund of this amount costs now, and how much of the payment's fee is returned with it. */
export async function feesOfRefund(
  db: Db | Tx,
  row: Pick<LockedTransaction, 'merchant_id' | 'amount_paid' | 'fee_amount'>,
  { refunds, amount, now }: { refunds: RefundRow[]; amount: number; now: Date },
): Promise<{ fee: number; feeReturned: number }> {
  assert(row.amount_paid !== null, 'what is refunded was paid')
  const payment = { amount: row.amount_paid, fee: row.fee_amount ?? 0, refunded: sumOf(refunds, 'REFUNDED') }
  return await refundFees(db, { merchantId: row.merchant_id, amount, now, payment })
}

async function reserve(tx: Tx, row: LockedTransaction, refund: NewRefund, now: Date): Promise<void> {
  await changeStatus(tx, row, { to: 'PROCESSING_REFUND', now, checkAt: null, set: { error_message: null } })
  const payload: SendRefundPayload = { merchantId: row.merchant_id, id: refund.id }
  await enqueueJob(tx, { name: sendRefundJob, payload })
  await postRefund(tx, refund, { status: 'PROCESSING', acquirer: row.acquirer, now })
}

/** The first response again, or an error when the key came with different content. */
function replay(first: RefundRow, row: LockedTransaction, input: RefundInput): RequestedRefund {
  if (first.transaction_id !== row.id) throw idempotencyKeyReused(['id'], 'refund')
  // Without an amount, a request means all that is left when it is made.
  const isSameAmount = input.amount === undefined ? first.is_of_rest : input.amount === first.amount
  const isSameReason = (input.reason ?? null) === first.reason
  const fields = [...(isSameAmount ? [] : ['amount']), ...(isSameReason ? [] : ['reason'])]
  if (fields.length > 0) throw idempotencyKeyReused(fields, 'refund')
  return { refund: first, isReplay: true }
}
