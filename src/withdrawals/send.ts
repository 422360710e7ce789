import type { PayoutKey, PayoutOrder, Payouts } from '../acquirers/acquirer.ts'
import type { Tx } from '../db/sql.ts'
import { enqueueJob } from '../jobs/jobs.ts'
import { assert } from '../lib/assert.ts'
import { cents } from '../lib/money.ts'
import { isSameRequest, type OutgoingPayment, type Sent, sendOrFind } from '../payouts/attempt.ts'
import { toTxid } from '../pix/ids.ts'
import { changeStatus } from './change.ts'
import { recordOutcome, type SettleWithdrawalDeps } from './settle.ts'
import {
  findWithdrawal,
  insertReference,
  lockWithdrawal,
  updateCheckAt,
  updateRequested,
  type WithdrawalRow,
} from './store.ts'

/** The job that sends one withdrawal. */
export const sendJob = 'withdrawals.send'
export type SendPayload = { merchantId: string; id: string }

/**
 * How long no other process checks the withdrawal. It is longer than all requests that an adapter makes for one payout,
 * if each takes the default time-out of ten seconds. With a longer `timeoutMs` another process may check while a
 * response is awaited, as it does after a crash.
 */
export const sendLeaseMs = 120_000

/** Enqueues the sending of a withdrawal, in the commit that releases it. */
export async function enqueueSend(tx: Tx, row: { merchant_id: string; id: string }): Promise<void> {
  await enqueueJob(tx, {
    name: sendJob,
    payload: { merchantId: row.merchant_id, id: row.id } satisfies SendPayload,
    key: `${sendJob} ${row.id}`,
  })
}

/** Sends a PENDING withdrawal that needs no review. One that is PROCESSING was sent: its check is scheduled. */
export async function sendWithdrawal(deps: SettleWithdrawalDeps, { merchantId, id }: SendPayload): Promise<void> {
  const row = await findWithdrawal(deps.db, merchantId, id)
  assert(row, 'a withdrawal to send exists')
  if (row.status === 'PENDING') await sendOrFindWithdrawal(deps, row)
}

/** Sends a PENDING withdrawal, or finds out what became of a PROCESSING one. */
export async function sendOrFindWithdrawal(deps: SettleWithdrawalDeps, row: WithdrawalRow): Promise<void> {
  await sendOrFind(deps, toOutgoing(deps, row))
}

function toOutgoing(deps: SettleWithdrawalDeps, row: WithdrawalRow): OutgoingPayment {
  return {
    log: { withdrawalId: row.id },
    requestedAt: requestedAtOf(row),
    openSince: row.status_dates.at(-1) ?? row.created_at,
    isDisputed: async () => false,
    async route() {
      const payouts = payoutsOf(deps, row)
      return {
        find: async () =>
          await payouts.find({
            ...toPayoutKey(row),
            // The commit with the reference may be among those that the database lost.
            isReferenceLost: row.commits_lost_at !== null,
            firstRequestedAt: firstRequestedAtOf(row),
          }),
        send: async () => await send(deps, row, payouts),
      }
    },
    async recordRequest(at) {
      if (row.status === 'PENDING') {
        // While the circuit breaker is open, the request would not be sent; but once it is recorded, its outcome counts
        // as unknown.
        if (deps.acquirers.named(row.acquirer).isPausing()) return null
        const sending = await begin(deps, row)
        return sending && toOutgoing(deps, sending)
      }
      return (await updateRequested(deps.db, row, row.requested_at, at))
        ? toOutgoing(deps, { ...row, requested_at: at })
        : null
    },
    async record(outcome, isOfThisRequest) {
      const isOutdated = (now: WithdrawalRow) =>
        isOfThisRequest &&
        // Another process that received a reference meanwhile may be sending it.
        (!isSameRequest(requestedAtOf(now), requestedAtOf(row)) ||
          (outcome.isBeforeSending === true && now.acquirer_reference !== null))
      return (await recordOutcome(deps, row, outcome, isOutdated)) !== 'open'
    },
    wait: async ({ checkAt }) => await updateCheckAt(deps.db, row, checkAt),
  }
}

/** The change to PROCESSING records the first request, and `requested_at` the later ones. */
function requestedAtOf(row: WithdrawalRow): Date | null {
  return row.requested_at ?? firstRequestedAtOf(row)
}

function firstRequestedAtOf({ status, status_dates }: WithdrawalRow): Date | null {
  return status === 'PROCESSING' ? (status_dates.at(-1) ?? null) : null
}

/** PENDING to PROCESSING; null when it was canceled, is pending review or was already sent. */
async function begin(deps: SettleWithdrawalDeps, { merchant_id, id }: WithdrawalRow): Promise<WithdrawalRow | null> {
  const sending = await deps.db.transaction(async (tx) => {
    const row = await lockWithdrawal(tx, merchant_id, id)
    assert(row, 'a withdrawal to send exists')
    if (row.review_reason !== null || row.status !== 'PENDING') return null
    const now = deps.clock.now()
    const checkAt = new Date(now.getTime() + sendLeaseMs)
    return await changeStatus(tx, row, { to: 'PROCESSING', now, checkAt, set: {} })
  })
  if (sending) deps.wakeDeliveries()
  return sending
}

/**
 * Asks the acquirer to send a withdrawal, under our own id. An acquirer that assigns a reference before money moves
 * has it stored first.
 */
async function send(deps: SettleWithdrawalDeps, row: WithdrawalRow, payouts: Payouts): Promise<Sent> {
  let reference = row.acquirer_reference
  if (payouts.prepare && reference === null) {
    const prepared = await payouts.prepare(toOrder(row))
    if (prepared.outcome === 'refused') return { ...prepared, isBeforeSending: true }
    // Another process may have been faster: its reference counts.
    reference = await insertReference(deps.db, row, prepared.reference)
    // The status has changed meanwhile.
    if (reference === null) return { outcome: 'processing', endToEndId: null }
  }
  const answer = await payouts.send({ ...toOrder(row), reference, firstRequestedAt: firstRequestedAtOf(row) })
  // First of all: the reference is the only way to look this payout up again.
  if (answer.reference) await keepReference(deps, row, answer.reference)
  return answer
}

async function keepReference(deps: SettleWithdrawalDeps, row: WithdrawalRow, reference: string): Promise<void> {
  const kept = await insertReference(deps.db, row, reference)
  if (kept !== null && kept !== reference)
    deps.log.error(
      { withdrawalId: row.id, acquirer: row.acquirer },
      'the acquirer has two payouts for one withdrawal: check both at the acquirer',
    )
}

function toOrder({ id, amount, pix_key: key, pix_key_type: type }: WithdrawalRow): PayoutOrder {
  return { payoutId: toTxid(id), amount: cents(amount), pixKey: { key, type } }
}

/** The ids by which the acquirer knows the payout. */
export function toPayoutKey({ id, acquirer_reference: reference }: WithdrawalRow): PayoutKey {
  return { payoutId: toTxid(id), reference }
}

/** The acquirer that a withdrawal was created for. Throws {@link AcquirerNotConfigured}. */
export function payoutsOf(deps: SettleWithdrawalDeps, row: WithdrawalRow): Payouts {
  const { payouts } = deps.acquirers.named(row.acquirer)
  assert(payouts, 'the acquirer of a withdrawal sends money out')
  return payouts
}
