import {
  type Acquirer,
  AcquirerUnavailable,
  type DisputeFound,
  type Disputes,
  NotOffered,
  type Payment,
  TooManyRequests,
  type UnreadableEntry,
} from '../../acquirers/acquirer.ts'
import { forEachConcurrent } from '../../lib/concurrent.ts'
import { fromTxid } from '../../pix/ids.ts'
import {
  findOldestUnattributed,
  findUnattributedDispute,
  saveUnattributedDispute,
} from '../../suspense/dispute-store.ts'
import { takeOtherCells } from '../../suspense/other-cell.ts'
import { findSuspenseOf } from '../../suspense/store.ts'
import { findListedUntil, saveListedUntil } from '../cursor-store.ts'
import { findOwners, findPaidBy, type Owner } from '../owner-store.ts'
import { mayHaveCharge, type SettleDeps, settleTransaction } from '../settle.ts'
import { findTransaction } from '../store.ts'
import { recordReported } from './dispute.ts'
import { type CheckReturnsPayload, returnsUnderMed, settleReturns } from './returns.ts'
import { isUndecided } from './steps.ts'
import { type DisputeRow, findOldestUndecided, findReported, listDisputesOf } from './store.ts'

/** The job that polls the acquirers' lists of disputes. */
export const pollDisputesJob = 'transactions.disputes'
/**
 * The same for the simulator in this process, which can be polled more often, so that a person who tries disputes out
 * does not wait.
 */
export const pollSimulatedDisputesJob = 'transactions.simulated-disputes'

/** A change may appear in the acquirer's list a little after its own time. */
const overlapMs = 2 * 60_000
/** How far back a complete poll reads: a dispute may be opened 80 days after a payment, and takes 18 days at most. */
const reachMs = 100 * 24 * 60 * 60_000
/**
 * How often the list is read completely. The documents do not say which date of a dispute a PSP compares with the
 * range. A complete poll reads back far enough to find the dispute by any of its dates.
 */
const completeEveryMs = 15 * 60_000
/**
 * How long after its acceptance each poll checks for the return. A later one is found by a complete poll or a callback.
 */
const returnExpectedMs = 60 * 60_000
/** After this many queries of payments that failed in a row, the acquirer counts as unavailable. */
const failuresMax = 20
/** How long not to poll an acquirer that has answered that it offers no list. */
export const notOfferedMs = 60 * 60_000

/** Reads the changes of disputes (MED) since the last poll, from acquirers that list them. */
export async function pollDisputes(
  deps: SettleDeps,
  stopping: AbortSignal,
  { isLocalOnly }: { isLocalOnly: boolean } = { isLocalOnly: false },
): Promise<void> {
  const acquirers = deps.acquirers.all.filter(({ isRemote }) => !(isLocalOnly && isRemote))
  await forEachConcurrent(acquirers, stopping, async (acquirer) => await pollAcquirer(deps, acquirer, stopping))
}

/** Whether the list of the simulator in this process shows any dispute since the last poll, or an undecided one. */
export async function hasSimulatedDisputes(deps: SettleDeps): Promise<boolean> {
  const to = deps.clock.now()
  for (const { name, isRemote, disputes } of deps.acquirers.all) {
    if (isRemote || !disputes) continue
    const listedUntil = await findListedUntil(deps.db, disputesCursor(name))
    const range = { from: await findStart(deps, name, { listedUntil, to }), to }
    try {
      for await (const _ of disputes.list(range)) return true
    } catch {
      // The job finds out why, and reports it.
      return true
    }
  }
  return false
}

/** Asks the acquirer whether it has returned a payment under MED, and records it. */
export async function checkReturns(deps: SettleDeps, { merchantId, id }: CheckReturnsPayload): Promise<void> {
  const row = await findTransaction(deps.db, merchantId, id)
  if (!row?.end_to_end) return
  const payment = await deps.acquirers.named(row.acquirer).findPayment(row.end_to_end)
  if (payment) await settleReturnsInOrder(deps, { merchantId, id, payment })
}

/**
 * Records the returns under MED that a payment shows. Before that it polls the list of disputes, so that no step of the
 * dispute is skipped, unless disputes whose acceptance is recorded account for the returns.
 */
export async function settleReturnsInOrder(
  deps: SettleDeps,
  { merchantId, id, payment }: CheckReturnsPayload & { payment: Payment },
): Promise<void> {
  const returned = returnsUnderMed(payment).reduce((sum, { amount }) => sum + amount, 0)
  if (returned === 0) return
  const row = await findTransaction(deps.db, merchantId, id)
  if (!row) return
  const unrecorded = returned - row.amount_returned
  if (unrecorded > 0 && unrecorded > (await sumExpected(deps, row)))
    await pollAcquirer(deps, deps.acquirers.named(row.acquirer), new AbortController().signal)
  await settleReturns(deps, { merchantId, id, payment })
}

/** What is still to be returned of a transaction under its accepted disputes. */
async function sumExpected({ db }: SettleDeps, row: { merchant_id: string; id: string }): Promise<number> {
  const accepted = (await listDisputesOf(db, row)).filter(({ state }) => state === 'accepted')
  return accepted.reduce((sum, dispute) => sum + dispute.amount - dispute.returned_amount, 0)
}

async function pollAcquirer(deps: SettleDeps, acquirer: Acquirer, stopping: AbortSignal): Promise<void> {
  const { disputes, name } = acquirer
  if (!disputes) return
  const now = deps.clock.now()
  const notOfferedAt = await findListedUntil(deps.db, notOfferedCursor(name))
  if (notOfferedAt && now.getTime() - notOfferedAt.getTime() < notOfferedMs) return
  try {
    await read(deps, acquirer, disputes, stopping)
  } catch (error) {
    if (stopping.aborted) return
    if (error instanceof NotOffered) {
      await saveListedUntil(deps.db, notOfferedCursor(name), { before: notOfferedAt, to: now })
      deps.log.info({ acquirer: name, reason: error.message }, 'the acquirer lists no disputes in this environment')
      return
    }
    // An error, not a warning: while the list cannot be read, the money of new disputes is not
    // blocked and is at risk.
    if (error instanceof AcquirerUnavailable)
      deps.log.error({ acquirer: name, reason: error.message }, 'the acquirer’s list of disputes could not be read')
    else deps.log.error({ err: error, acquirer: name }, 'the disputes of an acquirer could not be read')
  }
}

/** The name of the cursor of an acquirer's list of disputes. */
export function disputesCursor(acquirer: string): string {
  return `${acquirer}:disputes`
}

/** The name of the cursor that records when the acquirer last said that it offers no list; shared by all processes. */
export function notOfferedCursor(acquirer: string): string {
  return `${disputesCursor(acquirer)}:not-offered`
}

/** The name of the cursor that records when a poll last met a dispute that cannot be read, or whose payment cannot. */
export function unreadableCursor(acquirer: string): string {
  return `${disputesCursor(acquirer)}:unreadable`
}

/** The name of the cursor that records when the list was last read completely. */
export function completeCursor(acquirer: string): string {
  return `${disputesCursor(acquirer)}:whole`
}

/**
 * `unreadable`: the references of disputes that cannot be read, or whose payments cannot. `failures`: the queries of
 * payments that failed in a row.
 */
type Reading = { acquirer: Acquirer; isComplete: boolean; unreadable: string[]; failures: number }

async function read(deps: SettleDeps, acquirer: Acquirer, disputes: Disputes, stopping: AbortSignal): Promise<void> {
  const cursor = disputesCursor(acquirer.name)
  const to = deps.clock.now()
  const listedUntil = await findListedUntil(deps.db, cursor)
  const completeAt = await findListedUntil(deps.db, completeCursor(acquirer.name))
  const isComplete = to.getTime() - (completeAt?.getTime() ?? 0) >= completeEveryMs
  const from = isComplete ? new Date(to.getTime() - reachMs) : await findStart(deps, acquirer.name, { listedUntil, to })
  let isRecorded = true
  const unreadable: string[] = []
  const reading = { acquirer, isComplete, unreadable, failures: 0 }
  const onUnreadable = ({ reference }: UnreadableEntry) => void unreadable.push(reference)
  for await (const found of disputes.list({ from, to, onUnreadable })) {
    if (stopping.aborted) return
    isRecorded = (await follow(deps, reading, found)) && isRecorded
  }
  if (unreadable.length > 0) await reportUnreadable(deps, { acquirer, isComplete, completeAt, unreadable, to })
  // A dispute that could not be recorded is read again at the next poll. An unreadable one is read again by each
  // complete poll: it may never be readable.
  if (!isRecorded) return
  await saveListedUntil(deps.db, cursor, { before: listedUntil, to })
  if (isComplete) await saveListedUntil(deps.db, completeCursor(acquirer.name), { before: completeAt, to })
}

/**
 * Logs disputes that cannot be read, or whose payments cannot, with each complete poll and when there were none before;
 * a metric shows them.
 */
async function reportUnreadable(
  { db, log }: SettleDeps,
  found: { acquirer: Acquirer; isComplete: boolean; completeAt: Date | null; unreadable: string[]; to: Date },
): Promise<void> {
  const { acquirer, isComplete, completeAt, unreadable: references, to } = found
  const cursor = unreadableCursor(acquirer.name)
  const before = await findListedUntil(db, cursor)
  await saveListedUntil(db, cursor, { before, to })
  if (isComplete || before === null || before < (completeAt ?? to))
    log.error(
      { acquirer: acquirer.name, references },
      'disputes in an acquirer’s list, or their payments, cannot be read, and their money may not be blocked: look them up at the acquirer',
    )
}

/**
 * Starts before the last poll and before the opening of every unfinished dispute: the list may be sorted by opening
 * or by change.
 */
async function findStart(
  { db }: SettleDeps,
  acquirer: string,
  { listedUntil, to }: { listedUntil: Date | null; to: Date },
): Promise<Date> {
  const starts = [listedUntil, await findOldestUndecided(db, acquirer), await findOldestUnattributed(db, acquirer)]
  const times = starts.flatMap((start) => (start ? [start.getTime() - overlapMs] : []))
  return new Date(Math.max(to.getTime() - reachMs, Math.min(to.getTime(), ...times)))
}

/**
 * Returns false when one dispute cannot be recorded. Neither this nor a payment that the acquirer cannot show may keep
 * the others waiting.
 *
 * @throws {AcquirerUnavailable} when the acquirer as a whole does not answer
 */
async function follow(deps: SettleDeps, reading: Reading, found: DisputeFound): Promise<boolean> {
  const about = { acquirer: reading.acquirer.name, reference: found.reference }
  try {
    const known = await findReported(deps.db, about)
    if (known ? !mayHaveChanged(known, found, reading, deps.clock.now()) : await isStoredAsEnded(deps, reading, found))
      return true
    const isOfTransaction = await record(deps, reading.acquirer, found)
    reading.failures = 0
    const isNewlyUnknown = found.state === 'unknown' && known?.acquirer_status !== found.status
    if (isOfTransaction && isNewlyUnknown)
      deps.log.error(
        { ...about, status: found.status },
        'the status of a dispute is unknown: its money stays blocked until an operator decides',
      )
    return true
  } catch (error) {
    if (error instanceof AcquirerUnavailable) {
      reading.failures += 1
      const isOfAll = error instanceof TooManyRequests || reading.failures >= failuresMax
      if (isOfAll || !reading.acquirer.isAvailable()) throw error
      reading.unreadable.push(found.reference)
      deps.log.warn(
        { ...about, reason: error.message },
        'the payment of a dispute cannot be read and will be tried again',
      )
      return true
    }
    deps.log.error({ ...about, err: error }, 'a dispute could not be recorded and will be tried again')
    return false
  }
}

/**
 * True when the acquirer reports another status or deadline, or the payment may show a return by now. The same status is new if an
 * earlier version of Guichê could not read it.
 */
function mayHaveChanged(known: DisputeRow, found: DisputeFound, { isComplete }: Reading, now: Date): boolean {
  const isSame = isSameStatus(known, found) && known.deadline_at?.getTime() === found.deadline?.getTime()
  if (!isSame) return true
  if (!isUndecided(known) || known.state !== 'accepted') return false
  return isComplete || now.getTime() - (known.decided_at?.getTime() ?? 0) < returnExpectedMs
}

/** True when the dispute ended without effect before its payment had a transaction: there is nothing to follow. */
async function isStoredAsEnded({ db }: SettleDeps, { acquirer }: Reading, found: DisputeFound): Promise<boolean> {
  if (found.state !== 'rejected' && found.state !== 'canceled') return false
  const stored = await findUnattributedDispute(db, { acquirer: acquirer.name, reference: found.reference })
  return stored !== null && isSameStatus(stored, found)
}

function isSameStatus(
  stored: Pick<DisputeRow, 'acquirer_status' | 'acquirer_state'>,
  { status, state }: DisputeFound,
): boolean {
  return stored.acquirer_status === status && stored.acquirer_state === state
}

/**
 * Records a dispute. Its payment tells which transaction it belongs to, and how much was really returned. Returns false
 * if it belongs to none.
 */
async function record(deps: SettleDeps, acquirer: Acquirer, found: DisputeFound): Promise<boolean> {
  const { endToEndId } = found
  const storeUnattributed = async () => {
    const isNew = await saveUnattributedDispute(deps.db, { acquirer: acquirer.name, found, now: deps.clock.now() })
    if (isNew)
      deps.log.warn(
        { acquirer: acquirer.name, reference: found.reference },
        'a dispute of a payment that belongs to no transaction',
      )
    return false
  }
  const suspended = await findSuspenseOf(deps.db, { acquirer: acquirer.name, endToEndId })
  if (suspended && suspended.status !== 'matched') return await storeUnattributed()
  const payment = await acquirer.findPayment(endToEndId)
  const owner = await findOwner(deps, { endToEndId, txid: payment?.txid ?? null })
  if (payment && !owner && (await takeOtherCells(deps, acquirer.name, [payment])).length === 0) return false
  if (!payment || !owner || !mayHaveCharge(owner, acquirer.name)) return await storeUnattributed()
  const key = { merchantId: owner.merchant_id, id: owner.id }
  // The callback of the payment has not arrived yet.
  if (owner.end_to_end === null)
    await settleTransaction(deps, { ...key, reported: { acquirer: acquirer.name, endToEndId } })
  return (await recordReported(deps, { ...key, found, payment })) || (await storeUnattributed())
}

/**
 * A payment may have been attributed to another transaction than it names: because that one was already paid, or after
 * its attribution to that one was reversed.
 */
async function findOwner(
  { db }: SettleDeps,
  { endToEndId, txid }: { endToEndId: string; txid: string | null },
): Promise<Owner | null> {
  const paid = await findPaidBy(db, endToEndId)
  if (paid) return paid
  const id = txid === null ? null : fromTxid(txid)
  const [named = null] = id === null ? [] : await findOwners(db, [id])
  return named
}
