import { runDueChecks } from '../../jobs/due-checks.ts'
import { enqueueJob } from '../../jobs/jobs.ts'
import { assert } from '../../lib/assert.ts'
import { cents } from '../../lib/money.ts'
import { type Certain, type OutgoingPayment, routeOfReturn, sendOrFind } from '../../payouts/attempt.ts'
import { toTxid } from '../../pix/ids.ts'
import { type CheckReturnsPayload, checkReturnsJob } from '../dispute/returns.ts'
import { isUndecided, settleDisputes } from '../dispute/steps.ts'
import { listDisputesOf } from '../dispute/store.ts'
import { postRefund } from '../money.ts'
import type { SettleDeps } from '../settle.ts'
import { findTransaction, lockTransaction } from '../store.ts'
import {
  claimDueRefunds,
  findRefund,
  finishRefund,
  listRefunds,
  type RefundRow,
  updateRefundCheck,
  updateRefundRequested,
} from './store.ts'

/** Few enough to check within the lease. */
const claimedMax = 20
const leaseMs = 60_000

/** Sends a refund through the acquirer, and records the outcome if it is certain. */
export async function sendRefund(deps: SettleDeps, key: { merchantId: string; id: string }): Promise<void> {
  const refund = await findRefund(deps.db, key.merchantId, key.id)
  assert(refund, 'a refund to send exists')
  await sendOrFindRefund(deps, refund)
}

/** Resolves every refund whose check is due. Runs until none is due. */
export async function checkDueRefunds(deps: SettleDeps, stopping: AbortSignal): Promise<void> {
  await runDueChecks(deps.clock, stopping, {
    claim: async (claim) => await claimDueRefunds(deps.db, claim),
    claimedMax,
    leaseMs,
    check: async (refund) => await sendOrFindRefund(deps, refund),
  })
}

/**
 * The acquirer reported that something happened to a transaction's refunds: refunds in progress are checked at once.
 */
export async function checkRefundsOf(deps: SettleDeps, row: { merchant_id: string; id: string }): Promise<void> {
  for (const refund of await listRefunds(deps.db, row)) await sendOrFindRefund(deps, refund)
}

async function sendOrFindRefund(deps: SettleDeps, refund: RefundRow): Promise<void> {
  if (refund.status === 'PROCESSING') await sendOrFind(deps, toOutgoing(deps, refund))
}

function toOutgoing(deps: SettleDeps, refund: RefundRow): OutgoingPayment {
  return {
    log: { refundId: refund.id },
    requestedAt: refund.requested_at,
    openSince: refund.created_at,
    async isDisputed() {
      const transaction = { merchant_id: refund.merchant_id, id: refund.transaction_id }
      return (await listDisputesOf(deps.db, transaction)).some(isUndecided)
    },
    async route() {
      const row = await findTransaction(deps.db, refund.merchant_id, refund.transaction_id)
      assert(row?.end_to_end, 'what is refunded was paid')
      // The acquirer that holds the money, and no other.
      const acquirer = deps.acquirers.named(row.acquirer)
      // The id of the refund at the acquirer is our own, so a second request sends nothing twice.
      const refundId = toTxid(refund.id)
      return routeOfReturn(acquirer, { endToEndId: row.end_to_end, refundId, amount: cents(refund.amount) })
    },
    async recordRequest(at) {
      const isRecorded = await updateRefundRequested(deps.db, refund, refund.requested_at, at)
      return isRecorded ? toOutgoing(deps, { ...refund, requested_at: at }) : null
    },
    record: async (outcome, isOfThisRequest) =>
      await recordRefund(deps, refund, outcome, isOfThisRequest ? refund.requested_at : null),
    wait: async ({ checkAt, endToEndId }) =>
      await updateRefundCheck(deps.db, refund, { checkAt, endToEnd: endToEndId }),
  }
}

/** One commit: the refund, the transaction's status, and the money sent or given back. */
async function recordRefund(
  deps: SettleDeps,
  refund: RefundRow,
  outcome: Certain,
  refusedRequest: Date | null,
): Promise<boolean> {
  const isDone = outcome.outcome === 'done'
  const isRecorded = await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, refund.merchant_id, refund.transaction_id)
    assert(row, 'the transaction of a refund exists')
    const now = deps.clock.now()
    const status = isDone ? 'REFUNDED' : 'FAILED'
    const isFirst = await finishRefund(tx, refund, {
      status,
      endToEnd: isDone ? outcome.endToEndId : null,
      errorMessage: isDone ? null : toErrorMessage(outcome),
      refusedRequest,
      at: now,
    })
    if (!isFirst) return false
    await postRefund(tx, refund, { status, acquirer: row.acquirer, now })
    if (!isDone) {
      // It may have been refused because a MED took the money first: the payment shows that.
      const payload: CheckReturnsPayload = { merchantId: row.merchant_id, id: row.id }
      await enqueueJob(tx, { name: checkReturnsJob, payload })
    }
    // While the payment is disputed the dispute decides the status; it also blocks the money that was reserved for a
    // refund that was refused.
    await settleDisputes(tx, row, now)
    return true
  })
  deps.wakeDeliveries()
  return isRecorded
}

/**
 * A refused refund is never repeated automatically: it has one id at the acquirer, by which lost responses, the
 * bank's lists and callbacks find it. Its money is available again, and the merchant decides.
 */
function toErrorMessage({ reason, isTemporary }: Extract<Certain, { outcome: 'refused' }>): string {
  return isTemporary ? `${reason} This may be temporary: request the refund again, with a new idempotencyKey.` : reason
}
