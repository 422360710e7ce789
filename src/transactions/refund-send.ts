import type { MoneyOut } from '../acquirers/acquirer.ts'
import { isOutage } from '../acquirers/registry.ts'
import { mayBeUnderWay, nextAskedAt } from '../acquirers/repeat.ts'
import type { Tx } from '../db/sql.ts'
import { enqueueJob } from '../jobs/jobs.ts'
import { assertPayoutsAllowed } from '../ledger/brake.ts'
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

/** As for transactions: few enough to be asked about within the lease. */
const claimedMax = 40
const leaseMs = 60_000
const pauseMinMs = 5_000
const pauseMaxMs = 5 * 60_000

/**
 * Has the acquirer send a refund, and books what is certain. Its id there is our own, so that a second call sends nothing twice. What is
 * not certain stays as it is, and is asked for by {@link checkDueRefunds}.
 */
export async function sendRefund(deps: SettleDeps, key: { merchantId: string; id: string }): Promise<void> {
  const refund = await findRefund(deps.db, key.merchantId, key.id)
  assert(refund, 'a refund to send exists')
  await resolve(deps, refund, { mayBeSent: false })
}

/** Finds out what became of every refund whose check is due. Runs until none is due. */
export async function checkDueRefunds(deps: SettleDeps, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const now = deps.clock.now()
    const refunds = await claimDueRefunds(deps.db, now, new Date(now.getTime() + leaseMs), claimedMax)
    await eachAtOnce(refunds, stopping, async (refund) => await resolve(deps, refund, { mayBeSent: true }))
    if (refunds.length < claimedMax) return
  }
}

/** The acquirer told that something happened to a transaction's refunds: what is under way is asked about at once. */
export async function checkRefundsOf(deps: SettleDeps, row: { merchant_id: string; id: string }): Promise<void> {
  for (const refund of await listRefunds(deps.db, row)) await resolve(deps, refund, { mayBeSent: true })
}

/** A refusal is certain unless the refund was asked for again after the request that was refused. */
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
    // Unknown, or stopped by the brake: it waits, and what is set aside for it stays so.
    const isExpected = isOutage(error) || (error instanceof AppError && error.code === 'payouts_stopped')
    if (!isExpected) deps.log.error({ err: error, refundId: refund.id }, 'a refund failed and will be tried again')
    await wait(null)
  }
}

/** What is sent already is found out about even while the brake keeps anything more from leaving. */
async function ask(deps: SettleDeps, refund: RefundRow, mayBeSent: boolean): Promise<Answered> {
  const row = await findTransaction(deps.db, refund.merchant_id, refund.transaction_id)
  assert(row?.end_to_end, 'what is refunded was paid')
  // Who holds the money, and nobody else.
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
  // Only what it says of that very refund is certain.
  return (await acquirer.findRefund(name)) ?? unknown
}

/** One commit: the refund, the transaction's status, and the money gone or given back. */
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
    // While the payment is disputed the status is the dispute's, which takes hold of what it had spared for a refund that was refused.
    await settleDisputes(tx, row, now)
  })
  deps.wakeDeliveries()
}

/**
 * A refund is not repeated automatically, whatever refused it: it has one id at the acquirer, by which lost answers, the bank's lists and callbacks find it.
 * Its money is free again, and the merchant decides.
 */
function toErrorMessage({ reason, isPassing }: Extract<Certain, { outcome: 'refused' }>): string {
  return isPassing ? `${reason} This may pass: request the refund again, with a new idempotencyKey.` : reason
}

async function giveBack(tx: Tx, row: LockedTransaction, refund: RefundRow, now: Date): Promise<void> {
  // It may have been refused because a MED took the money first: then the payment tells.
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

/** The longer it lasts, the longer the pauses: a tenth of the age, within bounds. */
function nextCheck(refund: RefundRow, now: Date): Date {
  const age = now.getTime() - refund.created_at.getTime()
  return new Date(now.getTime() + Math.min(pauseMaxMs, Math.max(pauseMinMs, age / 10)))
}
