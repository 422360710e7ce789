import type { Logger } from 'pino'
import type { Acquirer } from '../acquirers/acquirer.ts'
import { AcquirerUnavailable, type MoneyOut, type Payment } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import { isSameRequest, mayBeUnderWay, nextAskedAt } from '../acquirers/repeat.ts'
import type { Db, Tx } from '../db/sql.ts'
import { enqueueJob } from '../jobs/jobs.ts'
import { assertPayoutsAllowed } from '../ledger/payout-freeze.ts'
import { type Posting, postAll } from '../ledger/post.ts'
import { heldReturned } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import { eachAtOnce } from '../lib/at-once.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { cents } from '../lib/money.ts'
import { newUuid } from '../lib/secrets.ts'
import { toTxid } from '../pix/ids.ts'
import { isDisputed } from './dispute-store.ts'
import { firstCheckMs, type ReturnHeldPayload, returnHeldJob, toPayload } from './hold.ts'
import {
  claimDueSuspense,
  findSuspense,
  lockSuspense,
  type SuspenseRow,
  updateReturnAsked,
  updateReturnCheck,
  updateSuspense,
} from './store.ts'
import { takeReturns } from './take.ts'

/** How long the Pix system accepts returns of a payment. */
const returnableMs = 90 * 24 * 60 * 60_000
/** As for refunds: few enough to check within the lease. */
const claimedMax = 40
const leaseMs = 60_000
const pauseMinMs = 5_000
const pauseMaxMs = 5 * 60_000

export type SendBackDeps = { db: Db; clock: Clock; acquirers: Acquirers; log: Logger }

/**
 * Starts the return of a payment in suspense to its payer, as much of it as is still there: one commit sets it to
 * `returning` and enqueues the job that sends it.
 *
 * @throws {AppError} `not_found`, `suspense_not_possible` with the reason, `payouts_stopped`
 */
export async function returnHeld(deps: Pick<SendBackDeps, 'db' | 'clock'>, id: string): Promise<SuspenseRow> {
  const found = await findSuspense(deps.db, id)
  if (!found) throw unknownHeld()
  return await deps.db.transaction(async (tx) => {
    const row = await lockSuspense(tx, found.merchant_id, id)
    assert(row, 'a payment in suspense exists')
    const now = deps.clock.now()
    if (row.status !== 'held') throw new AppError('suspense_not_possible', { detail: whyNotReturned[row.status] })
    if (now.getTime() - row.paid_at.getTime() > returnableMs)
      throw new AppError('suspense_not_possible', {
        detail: 'The payment is more than 90 days old, and the Pix system does not accept returns of it any more.',
      })
    if (await isDisputed(tx, row))
      throw new AppError('suspense_not_possible', {
        detail:
          'This payment has an open dispute (MED): the acquirer will return it or end the dispute. Attribute it to a transaction, which blocks it there, or wait.',
      })
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
    await enqueueJob(tx, { name: returnHeldJob, payload: toPayload(returning) })
    return returning
  })
}

const whyNotReturned = {
  matched: 'It is attributed to a transaction: reverse the attribution first, or refund the transaction.',
  returning: 'It is already being sent back.',
  returned: 'It was already sent back.',
}

export function unknownHeld(): AppError {
  return new AppError('not_found', { detail: 'There is no payment in suspense with this id.' })
}

/**
 * Asks the acquirer to return a payment, and records the outcome if it is certain. The id of the return at the
 * acquirer is our own, so a second request sends nothing twice. {@link checkDueReturns} resolves an uncertain outcome
 * later.
 */
export async function sendBack(deps: SendBackDeps, { id }: ReturnHeldPayload): Promise<void> {
  const row = await findSuspense(deps.db, id)
  assert(row, 'a payment to send back exists')
  await resolve(deps, row, { mayBeSent: false })
}

/** Resolves every return whose check is due. Runs until none is due. */
export async function checkDueReturns(deps: SendBackDeps, stopping: AbortSignal): Promise<void> {
  while (!stopping.aborted) {
    const now = deps.clock.now()
    const leaseUntil = new Date(now.getTime() + leaseMs)
    const rows = await claimDueSuspense(deps.db, 'returning', { now, leaseUntil, limit: claimedMax })
    await eachAtOnce(rows, stopping, async (row) => await resolve(deps, row, { mayBeSent: true }))
    if (rows.length < claimedMax) return
  }
}

async function resolve(deps: SendBackDeps, row: SuspenseRow, { mayBeSent }: { mayBeSent: boolean }): Promise<void> {
  if (row.status !== 'returning') return
  const wait = async (endToEnd: string | null, error: string | null) =>
    await updateReturnCheck(deps.db, row, { checkAt: nextCheck(row, deps.clock.now()), endToEnd, error })
  const acquirer = deps.acquirers.get(row.acquirer)
  if (!acquirer) {
    // It may have been sent: nothing is certain until the acquirer has been asked.
    deps.log.error(
      { suspenseId: row.id, acquirer: row.acquirer },
      'a payment waits to be sent back by an acquirer that is not configured',
    )
    return await wait(null, `The acquirer ${row.acquirer} is not configured any more: configure it again.`)
  }
  try {
    const outcome = await ask(deps, acquirer, row, mayBeSent)
    if (outcome.outcome === 'processing') await wait(outcome.endToEndId, null)
    else if (outcome.outcome === 'done') await bookDone(deps, row, outcome.endToEndId)
    // It may have been refused because a MED took the money first: the payment shows that.
    else await bookRefused(deps, row, outcome, await acquirer.findPayment(row.end_to_end))
  } catch (error) {
    // The outcome is unknown, or payouts are frozen: it waits, and stays in suspense.
    const isStopped = error instanceof AppError && error.code === 'payouts_stopped'
    if (!isStopped && !(error instanceof AcquirerUnavailable))
      deps.log.error({ err: error, suspenseId: row.id }, 'a payment could not be sent back and will be tried again')
    await wait(null, isStopped ? error.message : null)
  }
}

/** A refusal is certain unless the return was requested again after the request that was refused. */
type Answered = MoneyOut & { refusedRequest?: Date }

/** A return that was already sent is checked even while payouts are frozen. */
async function ask(deps: SendBackDeps, acquirer: Acquirer, row: SuspenseRow, mayBeSent: boolean): Promise<Answered> {
  const { return_id: returnId, return_amount: amount } = row
  assert(returnId !== null && amount !== null, 'a return has an id and an amount')
  const name = { endToEndId: row.end_to_end, refundId: toTxid(returnId) }
  const found = mayBeSent ? await acquirer.findRefund(name) : null
  if (found) return found
  await assertPayoutsAllowed(deps.db)
  const now = deps.clock.now()
  const askedAt = nextAskedAt(row.return_asked_at, now)
  const unknown: MoneyOut = { outcome: 'processing', endToEndId: null }
  if (!(await updateReturnAsked(deps.db, row, row.return_asked_at, askedAt))) return unknown
  const answer = await acquirer.refund({ ...name, amount: cents(amount) })
  if (answer.outcome !== 'refused') return answer
  if (!mayBeUnderWay(row.return_asked_at, now)) return { ...answer, refusedRequest: askedAt }
  await updateReturnAsked(deps.db, row, askedAt, row.return_asked_at)
  // Only what the acquirer says about that very return is certain.
  return (await acquirer.findRefund(name)) ?? unknown
}

async function bookDone(deps: SendBackDeps, row: SuspenseRow, endToEnd: string | null): Promise<void> {
  await change(deps, row, async (tx, locked, now) => {
    await updateSuspense(tx, locked, {
      to: 'returned',
      now,
      set: { return_end_to_end: endToEnd ?? locked.return_end_to_end, error_message: null, check_at: null },
    })
    const transfers = heldReturned(locked.return_amount ?? 0)
    const eventKey = `suspense:${row.id}:returned`
    const { merchant_id: merchantId, id: recordId, acquirer } = row
    return [{ merchantId, eventKey, recordType: 'suspense', recordId, acquirer, now, transfers }]
  })
}

/** The pauses before each retry of a return that was refused for a temporary reason. */
const passingPausesMs = [60_000, 10 * 60_000, 60 * 60_000]

/**
 * A refused return is certain not to be sent. The payment is back in suspense; after a temporary reason it is sent
 * again with a new id.
 */
async function bookRefused(
  deps: SendBackDeps,
  row: SuspenseRow,
  { reason, isPassing = false, refusedRequest }: { reason: string; isPassing?: boolean; refusedRequest?: Date },
  payment: Payment | null,
): Promise<void> {
  await change(deps, row, async (tx, locked, now) => {
    if (refusedRequest && !isSameRequest(refusedRequest, locked.return_asked_at)) return []
    const none = { return_id: null, return_amount: null, return_end_to_end: null, return_asked_at: null }
    const stopped = { ...none, error_message: reason, check_at: null }
    const held = await updateSuspense(tx, locked, { to: 'held', now, set: stopped })
    const taken = payment ? await takeReturns(tx, held, payment, now) : []
    const tries = held.statuses.filter((status) => status === 'returning').length
    const pauseMs = isPassing && taken.length === 0 ? passingPausesMs[tries - 1] : undefined
    if (pauseMs === undefined) {
      deps.log.error({ suspenseId: row.id, reason }, 'a payment could not be sent back: `guiche orphan list` shows it')
      return taken
    }
    deps.log.warn({ suspenseId: row.id, reason, tries }, 'a payment could not be sent back now and will be sent again')
    const again = { return_id: newUuid(), return_amount: held.amount - held.taken_amount }
    const checkAt = new Date(now.getTime() + pauseMs)
    await updateSuspense(tx, held, {
      to: 'returning',
      now,
      set: { ...again, error_message: reason, check_at: checkAt },
    })
    return taken
  })
}

/** One commit, unless another process was faster. */
async function change(
  { db, clock }: SendBackDeps,
  row: SuspenseRow,
  work: (tx: Tx, locked: SuspenseRow, now: Date) => Promise<Posting[]>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const locked = await lockSuspense(tx, row.merchant_id, row.id)
    if (locked?.status !== 'returning' || locked.return_id !== row.return_id) return
    await postAll(tx, await work(tx, locked, clock.now()))
  })
}

/** The pause grows with the age: a tenth of it, within bounds. */
function nextCheck(row: SuspenseRow, now: Date): Date {
  const age = now.getTime() - (row.status_dates.at(-1)?.getTime() ?? 0)
  return new Date(now.getTime() + Math.min(pauseMaxMs, Math.max(pauseMinMs, age / 10)))
}
