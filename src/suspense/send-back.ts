import type { Logger } from 'pino'
import type { Payment } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { runDueChecks } from '../jobs/due-checks.ts'
import { enqueueJob } from '../jobs/jobs.ts'
import { assertPayoutsAllowed } from '../ledger/payout-freeze.ts'
import { type Posting, postAll } from '../ledger/post.ts'
import { returnedFromSuspense } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, refusal } from '../lib/errors.ts'
import { cents } from '../lib/money.ts'
import { newUuid } from '../lib/secrets.ts'
import { isSameRequest, type OutgoingPayment, routeOfReturn, sendOrFind } from '../payouts/attempt.ts'
import { toTxid } from '../pix/ids.ts'
import { isDisputed } from './dispute-store.ts'
import { firstCheckMs, type SendBackPayload, sendBackJob, toPayload } from './place.ts'
import {
  claimDueSuspense,
  findSuspense,
  lockSuspense,
  type SuspenseRow,
  updateReturnCheck,
  updateReturnRequested,
  updateSuspense,
} from './store.ts'
import { takenOf, takeReturns } from './take.ts'

/** How long the Pix system accepts returns of a payment. */
const returnableMs = 90 * 24 * 60 * 60_000
/** As for refunds: few enough to check within the lease. */
const claimedMax = 40
const leaseMs = 60_000

export type SendBackDeps = { db: Db; clock: Clock; acquirers: Acquirers; log: Logger }

/**
 * Starts the return of a payment in suspense to its payer, as much of it as is still there: one commit sets it to
 * `returning` and enqueues the job that sends it.
 *
 * @throws {AppError} `not_found`, `suspense_not_possible` with the reason, `payouts_stopped`
 */
export async function startSendBack(
  deps: Pick<SendBackDeps, 'db' | 'clock'>,
  { id, by }: { id: string; by: By },
): Promise<SuspenseRow> {
  const found = await findSuspense(deps.db, id)
  if (!found) throw unknownSuspensePayment()
  return await deps.db.transaction(async (tx) => {
    const row = await lockSuspense(tx, found.merchant_id, id)
    assert(row, 'a payment in suspense exists')
    const now = deps.clock.now()
    if (row.status !== 'held') {
      const [why, detail] = whyNotReturned[row.status]
      throw refuse(why, detail)
    }
    if (now.getTime() - row.paid_at.getTime() > returnableMs)
      throw refuse(
        'too_old',
        'The payment is more than 90 days old, and the Pix system does not accept returns of it any more.',
      )
    if (await isDisputed(tx, row))
      throw refuse(
        'has_open_dispute',
        'This payment has an open dispute (MED): the acquirer will return it or end the dispute. Attribute it to a transaction, which blocks it there, or wait.',
      )
    await assertPayoutsAllowed(tx)
    const returning = await updateSuspense(tx, row, {
      to: 'returning',
      now,
      set: {
        return_id: newUuid(),
        return_amount: row.amount - row.taken_amount,
        error_message: null,
        check_at: new Date(now.getTime() + firstCheckMs),
      },
    })
    await enqueueJob(tx, { name: sendBackJob, payload: toPayload(returning) })
    await recordAction(tx, { by, action: 'suspense.return', merchantId: row.merchant_id, recordId: id, now })
    return returning
  })
}

const whyNotReturned = {
  matched: [
    'attributed',
    'It is attributed to a transaction: reverse the attribution first, or refund the transaction.',
  ],
  returning: ['returning', 'It is already being sent back.'],
  returned: ['sent_back', 'It was already sent back.'],
} as const

const refuse = refusal.bind(null, 'suspense_not_possible')

export function unknownSuspensePayment(): AppError {
  return new AppError('not_found', { detail: 'There is no payment in suspense with this id.' })
}

/** Sends a payment back through its acquirer, and records the outcome if it is certain. */
export async function sendBack(deps: SendBackDeps, { id }: SendBackPayload): Promise<void> {
  const row = await findSuspense(deps.db, id)
  assert(row, 'a payment to send back exists')
  if (row.status === 'returning') await sendOrFind(deps, toOutgoing(deps, row))
}

/** Resolves every return whose check is due. Runs until none is due. */
export async function checkDueReturns(deps: SendBackDeps, stopping: AbortSignal): Promise<void> {
  await runDueChecks(deps.clock, stopping, {
    claim: async (claim) => await claimDueSuspense(deps.db, 'returning', claim),
    claimedMax,
    leaseMs,
    check: async (row) => await sendOrFind(deps, toOutgoing(deps, row)),
  })
}

function toOutgoing(deps: SendBackDeps, row: SuspenseRow): OutgoingPayment {
  return {
    log: { suspenseId: row.id },
    requestedAt: row.return_requested_at,
    openSince: row.status_dates.at(-1) ?? row.paid_at,
    isDisputed: async () => await isDisputed(deps.db, row),
    async route() {
      const { return_id: returnId, return_amount: amount } = row
      assert(returnId !== null && amount !== null, 'a return has an id and an amount')
      const acquirer = deps.acquirers.named(row.acquirer)
      // The id of the return at the acquirer is our own, so a second request sends nothing twice.
      const refundId = toTxid(returnId)
      return routeOfReturn(acquirer, { endToEndId: row.end_to_end, refundId, amount: cents(amount) })
    },
    async recordRequest(at) {
      const isRecorded = await updateReturnRequested(deps.db, row, row.return_requested_at, at)
      return isRecorded ? toOutgoing(deps, { ...row, return_requested_at: at }) : null
    },
    async record(outcome, isOfThisRequest) {
      if (outcome.outcome === 'done') return await recordReturned(deps, row, outcome.endToEndId)
      // It may have been refused because a MED took the money first: the payment shows that.
      const payment = await deps.acquirers.named(row.acquirer).findPayment(row.end_to_end)
      return await recordRefused(deps, row, { ...outcome, payment, isOfThisRequest })
    },
    wait: async ({ checkAt, endToEndId, blockedBy }) =>
      await updateReturnCheck(deps.db, row, { checkAt, endToEnd: endToEndId, error: blockedBy }),
  }
}

async function recordReturned(deps: SendBackDeps, row: SuspenseRow, endToEnd: string | null): Promise<boolean> {
  return await change(deps, row, async (tx, locked, now) => {
    await updateSuspense(tx, locked, {
      to: 'returned',
      now,
      set: { return_end_to_end: endToEnd ?? locked.return_end_to_end, error_message: null, check_at: null },
    })
    const transfers = returnedFromSuspense(locked.return_amount ?? 0)
    const eventKey = `suspense:${row.id}:returned`
    const { merchant_id: merchantId, id: recordId, acquirer } = row
    return [{ merchantId, eventKey, recordType: 'suspense', recordId, acquirer, now, transfers }]
  })
}

/** The pauses before each retry of a return that was refused for a temporary reason. */
const retryPausesMs = [60_000, 10 * 60_000, 60 * 60_000]

type Refused = { reason: string; isTemporary?: boolean; payment: Payment | null; isOfThisRequest: boolean }

/**
 * A refused return is certain not to be sent. The payment is back in suspense; after a temporary reason it is sent
 * again with a new id, three times at most after each start by a person or by the service, unless it is disputed or
 * others have returned more of it by then.
 */
async function recordRefused(
  deps: SendBackDeps,
  row: SuspenseRow,
  { reason, isTemporary = false, payment, isOfThisRequest }: Refused,
): Promise<boolean> {
  let logOutcome = () => {}
  const isRecorded = await change(deps, row, async (tx, locked, now) => {
    if (isOfThisRequest && !isSameRequest(row.return_requested_at, locked.return_requested_at)) return null
    const none = { return_id: null, return_amount: null, return_end_to_end: null, return_requested_at: null }
    const set = { ...none, error_message: reason, check_at: null }
    const stopped = await updateSuspense(tx, locked, { to: 'held', now, set })
    const taken = payment ? await takeReturns(tx, stopped, payment, now) : []
    // Others have returned all of it.
    if (payment && takenOf(payment, null) >= stopped.amount) return taken
    const attempts = countAttempts(stopped)
    const isRepeated = isTemporary && taken.length === 0 && !(await isDisputed(tx, stopped))
    const pauseMs = isRepeated ? retryPausesMs[attempts - 1] : undefined
    if (pauseMs === undefined) {
      logOutcome = () =>
        deps.log.error(
          { suspenseId: row.id, reason },
          'a payment could not be sent back: `guiche suspense list` shows it',
        )
      return taken
    }
    logOutcome = () =>
      deps.log.warn(
        { suspenseId: row.id, reason, attempts },
        'a payment could not be sent back now and will be sent again',
      )
    const again = { return_id: newUuid(), return_amount: stopped.amount - stopped.taken_amount }
    const checkAt = new Date(now.getTime() + pauseMs)
    await updateSuspense(tx, stopped, {
      to: 'returning',
      now,
      set: { ...again, error_message: reason, check_at: checkAt },
    })
    return taken
  })
  if (isRecorded) logOutcome()
  return isRecorded
}

/** How often it was sent since it was last started. Only a retry begins in the commit of a refusal, at one time. */
function countAttempts({ statuses, status_dates: dates }: SuspenseRow): number {
  let attempts = 0
  for (let last = statuses.lastIndexOf('returning'); statuses[last] === 'returning'; last -= 2) {
    attempts += 1
    if (dates[last]?.getTime() !== dates[last - 1]?.getTime()) break
  }
  return attempts
}

/** One commit. Returns false when there was nothing to change: another process was faster. */
async function change(
  { db, clock }: SendBackDeps,
  row: SuspenseRow,
  work: (tx: Tx, locked: SuspenseRow, now: Date) => Promise<Posting[] | null>,
): Promise<boolean> {
  return await db.transaction(async (tx) => {
    const locked = await lockSuspense(tx, row.merchant_id, row.id)
    if (locked?.status !== 'returning' || locked.return_id !== row.return_id) return false
    const postings = await work(tx, locked, clock.now())
    if (postings) await postAll(tx, postings)
    return postings !== null
  })
}
