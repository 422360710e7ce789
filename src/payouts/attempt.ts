import type { Logger } from 'pino'
import type { Acquirer, MoneyOut, PayoutFound, RefundInput } from '../acquirers/acquirer.ts'
import { AcquirerNotConfigured, isOutage } from '../acquirers/registry.ts'
import type { Db } from '../db/sql.ts'
import { nextCheckAt } from '../jobs/due-checks.ts'
import { assertPayoutsAllowed } from '../ledger/payout-freeze.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'

/** For how long after a request without a certain answer the acquirer may still carry it out. */
const underWayMs = 10 * 60_000

const disputedMessage = 'The payment is disputed (MED): it is not sent back until that is decided.'

export type AttemptDeps = { db: Db; clock: Clock; log: Logger }

/**
 * One outgoing payment that is not final: a refund, the return of a payment in suspense, or a withdrawal. Each kind
 * describes itself with this; {@link sendOrFind} decides what to do.
 */
export type OutgoingPayment = {
  /** Its id, for the log. */
  log: Record<string, string>
  /** When the acquirer was last requested to send it; null: never. */
  requestedAt: Date | null
  /** The pauses between checks grow with the time since then. */
  openSince: Date
  /** Whether the payment that it returns is disputed (MED). Sent now, the payer might get the money twice. */
  isDisputed(): Promise<boolean>
  /** How to find and send it. Throws {@link AcquirerNotConfigured}. */
  route(): Promise<Route>
  /**
   * Records, in a commit of its own, that it is about to be requested; or restores the former value. Returns the
   * payment as it is then; null when another process was faster, or when it must not be sent any more.
   */
  recordRequest(at: Date | null): Promise<OutgoingPayment | null>
  /**
   * Records a certain outcome: status, history, ledger and event in one commit. Returns false when it recorded nothing.
   *
   * @param isOfThisRequest a refusal of the request that {@link recordRequest} recorded last: it says nothing once the
   *   payment was requested again
   */
  record(outcome: Certain, isOfThisRequest: boolean): Promise<boolean>
  /** Schedules the next check. Does nothing once the outcome is recorded. */
  wait(next: Wait): Promise<void>
}

/** `endToEndId` as soon as it is known. `blockedBy` is the reason why it cannot be sent or checked at all now. */
export type Wait = { checkAt: Date; endToEndId: string | null; blockedBy: string | null }

/** Network calls only, outside of any database transaction. Both use our own id of the payment. */
export type Route = {
  find(): Promise<PayoutFound | null>
  send(): Promise<Sent>
}

/** `isBeforeSending`: the acquirer refused a step before any request that could move money. */
export type Sent = MoneyOut & { isBeforeSending?: true }
export type Certain = Exclude<PayoutFound & { isBeforeSending?: true }, { outcome: 'processing' }>

/** A received payment is returned to its payer, in whole or in part. */
export function routeOfReturn(acquirer: Acquirer, input: RefundInput): Route {
  return { find: async () => await acquirer.findRefund(input), send: async () => await acquirer.refund(input) }
}

/**
 * Sends an outgoing payment, or finds out what became of it:
 *
 * 1. If it was requested before, the acquirer is queried, even during a payout freeze. What it knows counts.
 * 2. During a payout freeze nothing is sent, and no return of a payment until its dispute is decided.
 * 3. The request is recorded, and then made. A process that dies in between leaves a payment that 1. looks up first.
 * 4. An unknown outcome is never recorded: the payment waits, and its money stays reserved.
 */
export async function sendOrFind(deps: AttemptDeps, payment: OutgoingPayment): Promise<void> {
  await orWait(deps, payment, async () => {
    const route = await payment.route()
    const found = payment.requestedAt === null ? null : await route.find()
    if (found) return await settle(deps, payment, found, false)
    await assertPayoutsAllowed(deps.db)
    if (await payment.isDisputed()) return await wait(deps, payment, { blockedBy: disputedMessage })
    const recorded = await payment.recordRequest(nextRequestedAt(payment.requestedAt, deps.clock.now()))
    if (recorded === null) return await wait(deps, payment)
    await orWait(deps, recorded, async () => await request(deps, route, payment, recorded))
  })
}

async function request(
  deps: AttemptDeps,
  route: Route,
  before: OutgoingPayment,
  payment: OutgoingPayment,
): Promise<void> {
  const now = deps.clock.now()
  const answer = await route.send()
  const isCertain = answer.outcome !== 'refused' || answer.isBeforeSending || !mayBeUnderWay(before.requestedAt, now)
  if (isCertain) return await settle(deps, payment, answer, answer.outcome === 'refused')
  // The acquirer refuses the same id while it may still carry out an earlier request: only what it says about that
  // very payment is certain. The refused request counts as not made.
  const restored = await payment.recordRequest(before.requestedAt)
  const found = await route.find()
  if (found) await settle(deps, restored ?? payment, found, false)
  else await wait(deps, payment)
}

async function settle(
  deps: AttemptDeps,
  payment: OutgoingPayment,
  answer: PayoutFound | Sent,
  isOfThisRequest: boolean,
): Promise<void> {
  if (answer.outcome === 'processing') return await wait(deps, payment, { endToEndId: answer.endToEndId })
  if (!(await payment.record(answer, isOfThisRequest))) await wait(deps, payment)
}

async function orWait(deps: AttemptDeps, payment: OutgoingPayment, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    // Whatever the error was: the money may have left.
    await wait(deps, payment, { blockedBy: explain(deps, payment, error) })
  }
}

/** Logs an error that somebody has to look at. Returns the reason if the payment is blocked. */
function explain({ log }: AttemptDeps, payment: OutgoingPayment, error: unknown): string | null {
  if (error instanceof AppError && error.code === 'payouts_stopped') return error.message
  if (error instanceof AcquirerNotConfigured) {
    const { acquirer } = error
    log.error({ ...payment.log, acquirer }, 'an outgoing payment waits for an acquirer that is not configured')
    return `The acquirer ${acquirer} is not configured any more: configure it again.`
  }
  if (!isOutage(error))
    log.error({ err: error, ...payment.log }, 'an outgoing payment could not be completed and will be tried again')
  return null
}

async function wait({ clock }: AttemptDeps, payment: OutgoingPayment, more: Partial<Wait> = {}): Promise<void> {
  const checkAt = nextCheckAt(payment.openSince, clock.now())
  await payment.wait({ checkAt, endToEndId: null, blockedBy: null, ...more })
}

/**
 * Whether an earlier request may still be carried out, although the acquirer now refuses the same id and finds nothing
 * under it: some acquirers carry out an accepted request only minutes later.
 */
function mayBeUnderWay(requestedAt: Date | null, now: Date): boolean {
  return requestedAt !== null && now.getTime() - requestedAt.getTime() < underWayMs
}

/**
 * The time that a request is recorded with. It also identifies the request, so it is later than the last one whatever
 * the clock says.
 */
function nextRequestedAt(last: Date | null, now: Date): Date {
  return last === null || last < now ? now : new Date(last.getTime() + 1)
}

/** A refusal is final only if nobody requested the same payment again in the meantime. */
export function isSameRequest(one: Date | null, other: Date | null): boolean {
  return one?.getTime() === other?.getTime()
}
