import type { MoneyOut } from '../acquirers/acquirer.ts'
import { isOutage } from '../acquirers/registry.ts'
import { mayBeUnderWay, nextAskedAt } from '../acquirers/repeat.ts'
import type { Tx } from '../db/sql.ts'
import { enqueueJob } from '../jobs/jobs.ts'
import { assertPayoutsAllowed } from '../ledger/payout-freeze.ts'
import { post } from '../ledger/post.ts'
import { released, sent } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import { eachAtOnce } from '../lib/at-once.ts'
import { AppError } from '../lib/errors.ts'
import { cents } from '../lib/money.ts'
import { toTxid } from '../pix/ids.ts'
import { settleDisputes } from './infraction-steps.ts'
import {
  claimDueRefunds,
  findRefund,
  finishRefund,
  listRefunds,
  type RefundRow,
  updateRefundAsked,
  updateRefundCheck,
} from './refund-store.ts'
import { type CheckReturnsPayload, checkReturnsJob } from './returns.ts'
import type { SettleDeps } from './settle.ts'
import { findTransaction, type LockedTransaction, lockTransaction } from './store.ts'

/** As for transactions: few enough to check within the lease. */
const claimedMax = 40
const leaseMs = 60_000
const pauseMinMs = 5_000
const pauseMaxMs = 5 * 60_000

/**
 * Sends a refund through the acquirer, and records the outcome if it is certain. Its id at the acquirer is our own,
 * so a second request sends nothing twice. {@link checkDueRefunds} resolves an uncertain outcome later.
 */
export async function sendRefund(deps: SettleDeps, key: { merchantId: string; id: string }): Promise<void> {
  const refund = await findRefund(deps.db, key.merchantId, key.id)
  assert(refund, 'a refund to send exists')
  await resolve(deps, refund, { mayBeSent: false })
}

/** Resolves every refund whose check is due. Runs until none is due. */
export async function checkDueRefunds(deps: SettleDeps, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const now = deps.clock.now()
    const refunds = await claimDueRefunds(deps.db, now, new Date(now.getTime() + leaseMs), claimedMax)
    await eachAtOnce(refunds, stopping, async (refund) => await resolve(deps, refund, { mayBeSent: true }))
    if (refunds.length < claimedMax) return
  }
}

/**
 * The acquirer reported that something happened to a transaction's refunds: refunds in progress are checked at once.
 */
export async function checkRefundsOf(deps: SettleDeps, row: { merchant_id: string; id: string }): Promise<void> {
  for (const refund of await listRefunds(deps.db, row)) await resolve(deps, refund, { mayBeSent: true })
}

/** A refusal is certain unless the refund was requested again after the request that was refused. */
type Answered = MoneyOut & { refusedRequest?: Date }
type Certain = Exclude<Answered, { outcome: 'processing' }>

async function resolve(deps: SettleDeps, refund: RefundRow, { mayBeSent }: { mayBeSent: boolean }): Promise<void> {
  if (refund.status !== 'PROCESSING') return
  const wait = async (endToEnd: string | null) =>
    await updateRefundCheck(deps.db, refund, { checkAt: nextCheck(refund, deps.clock.now()), endToEnd })
  try {
    const outcome = await ask(deps, refund, mayBeSent)
    if (outcome.outcome === 'processing') await wait(outcome.endToEndId)
    else await book(deps, refund, outcome)
  } catch (error) {
    // The outcome is unknown, or payouts are frozen: the refund waits, and its money stays reserved.
    const isExpected = isOutage(error) || (error instanceof AppError && error.code === 'payouts_stopped')
    if (!isExpected) deps.log.error({ err: error, refundId: refund.id }, 'a refund failed and will be tried again')
    await wait(null)
  }
}

/** A refund that was already sent is checked even while payouts are frozen. */
async function ask(deps: SettleDeps, refund: RefundRow, mayBeSent: boolean): Promise<Answered> {
  const row = await findTransaction(deps.db, refund.merchant_id, refund.transaction_id)
  assert(row?.end_to_end, 'what is refunded was paid')
  // The acquirer that holds the money, and no other.
  const acquirer = deps.acquirers.named(row.acquirer)
  const name = { endToEndId: row.end_to_end, refundId: toTxid(refund.id) }
  const found = mayBeSent ? await acquirer.findRefund(name) : null
  if (found) return found
  await assertPayoutsAllowed(deps.db)
  const now = deps.clock.now()
  const askedAt = nextAskedAt(refund.asked_at, now)
  const unknown: MoneyOut = { outcome: 'processing', endToEndId: null }
  if (!(await updateRefundAsked(deps.db, refund, refund.asked_at, askedAt))) return unknown
  const answer = await acquirer.refund({ ...name, amount: cents(refund.amount) })
  if (answer.outcome !== 'refused') return answer
  if (!mayBeUnderWay(refund.asked_at, now)) return { ...answer, refusedRequest: askedAt }
  await updateRefundAsked(deps.db, refund, askedAt, refund.asked_at)
  // Only what the acquirer says about that very refund is certain.
  return (await acquirer.findRefund(name)) ?? unknown
}

/** One commit: the refund, the transaction's status, and the money sent or given back. */
async function book(deps: SettleDeps, refund: RefundRow, outcome: Certain): Promise<void> {
  const isDone = outcome.outcome === 'done'
  await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, refund.merchant_id, refund.transaction_id)
    assert(row, 'the transaction of a refund exists')
    const now = deps.clock.now()
    const isFirst = await finishRefund(tx, refund, {
      status: isDone ? 'REFUNDED' : 'FAILED',
      endToEnd: isDone ? outcome.endToEndId : null,
      errorMessage: isDone ? null : toErrorMessage(outcome),
      refusedRequest: outcome.refusedRequest ?? null,
      at: now,
    })
    if (!isFirst) return
    if (isDone) await postRefund(tx, row, refund, 'sent', now)
    else await giveBack(tx, row, refund, now)
    // While the payment is disputed the dispute decides the status; it also blocks the money that was reserved for a
    // refund that was refused.
    await settleDisputes(tx, row, now)
  })
  deps.wakeDeliveries()
}

/**
 * A refused refund is never repeated automatically: it has one id at the acquirer, by which lost responses, the
 * bank's lists and callbacks find it. Its money is available again, and the merchant decides.
 */
function toErrorMessage({ reason, isPassing }: Extract<Certain, { outcome: 'refused' }>): string {
  return isPassing ? `${reason} This may be temporary: request the refund again, with a new idempotencyKey.` : reason
}

async function giveBack(tx: Tx, row: LockedTransaction, refund: RefundRow, now: Date): Promise<void> {
  // It may have been refused because a MED took the money first: the payment shows that.
  const payload: CheckReturnsPayload = { merchantId: row.merchant_id, id: row.id }
  await enqueueJob(tx, { name: checkReturnsJob, payload })
  await postRefund(tx, row, refund, 'released', now)
}

async function postRefund(
  tx: Tx,
  { acquirer }: LockedTransaction,
  refund: RefundRow,
  end: 'sent' | 'released',
  now: Date,
): Promise<void> {
  const { amount, fee_amount: fee, fee_returned: feeReturned } = refund
  await post(tx, {
    merchantId: refund.merchant_id,
    eventKey: `refund:${refund.id}:${end}`,
    recordType: 'refund',
    recordId: refund.id,
    acquirer,
    now,
    transfers:
      end === 'sent' ? sent('refund_sent', amount, fee) : released('refund_released', amount, fee, feeReturned),
  })
}

/** The pause grows with the age: a tenth of it, within bounds. */
function nextCheck(refund: RefundRow, now: Date): Date {
  const age = now.getTime() - refund.created_at.getTime()
  return new Date(now.getTime() + Math.min(pauseMaxMs, Math.max(pauseMinMs, age / 10)))
}
