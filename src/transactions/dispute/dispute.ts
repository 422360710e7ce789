import type { DisputeFound, Payment } from '../../acquirers/acquirer.ts'
import { type By, recordAction } from '../../audit/record.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { AppError, refusal } from '../../lib/errors.ts'
import { inReais } from '../../lib/money.ts'
import { takeDisputesOf } from '../../suspense/dispute-store.ts'
import { findOwners } from '../owner-store.ts'
import { leftOf } from '../refund/after.ts'
import { isAttributionReversed, listRefunds } from '../refund/store.ts'
import type { SettleDeps } from '../settle.ts'
import { type LockedTransaction, lockTransaction } from '../store.ts'
import { recordReturns } from './returns.ts'
import {
  acceptDispute,
  endDispute,
  enterEnded,
  isUndecided,
  openDispute,
  reopenDispute,
  settleDisputes,
  toReportedState,
} from './steps.ts'
import { type DisputeRow, findDispute, listDisputesOf, updateDispute, updateDisputeDate } from './store.ts'

export type DisputeDeps = { db: Db; clock: Clock; wakeDeliveries: () => void }

/**
 * `id`: chosen by the caller, so that a repeated request records one dispute. `amount`: by default all that is neither
 * returned nor disputed.
 */
export type Opening = { id?: string; transactionId: string; amount?: number; reason?: string; by: By }

/**
 * Records a dispute (MED) that the operator learned of, and blocks the payment or the given part of it.
 *
 * @throws {AppError} `not_found`, or `infraction_not_possible` with the reason
 */
export async function recordDispute(
  deps: DisputeDeps,
  { by, transactionId, ...input }: Opening,
): Promise<{ id: string }> {
  const { id } = await deps.db.transaction(async (tx) => {
    const row = await lockOwned(tx, transactionId)
    if (row.amount_paid === null)
      throw refuse('not_paid', `A transaction that is ${row.status} cannot be disputed: it was not paid.`)
    const disputable = await findDisputable(tx, row)
    const former = input.id === undefined ? null : await findDispute(tx, input.id)
    if (former) {
      // A request without an amount left nothing disputable. Once its dispute has ended, that can no longer be checked.
      const isOfAll = disputable === 0 || !isUndecided(former)
      const isSameAmount = input.amount === undefined ? isOfAll : former.amount === input.amount
      const isSame = former.transaction_id === row.id && former.reason === (input.reason ?? null)
      if (isSame && isSameAmount) return former
      throw refuse('duplicate', 'A dispute with other content was entered under this id. Load the page again.')
    }
    if (disputable === 0) throw refuse('nothing_left', 'The whole payment is already returned or disputed.')
    const amount = input.amount ?? disputable
    if (!Number.isSafeInteger(amount) || amount < 1 || amount > disputable)
      throw refuse(
        'too_large',
        `The amount must be from 1 to ${disputable} cents: the part that is neither returned nor disputed.`,
        { field: 'amount', limit: disputable, unit: 'cents' },
      )
    const now = deps.clock.now()
    const details = { amount: input.amount, reason: input.reason }
    const about = { merchantId: row.merchant_id, recordId: row.id, details }
    await recordAction(tx, { by, action: 'infraction.open', ...about, now })
    const opening = { amount, reason: input.reason ?? null, acquirer_reference: null, openedAt: now, reported: null }
    return await openDispute(tx, row, { ...opening, id: input.id, source: 'operator' }, now)
  })
  deps.wakeDeliveries()
  return { id }
}

async function findDisputable(tx: Tx, row: LockedTransaction): Promise<number> {
  const undecided = (await listDisputesOf(tx, row)).filter(isUndecided)
  const disputed = undecided.reduce((sum, { amount, returned_amount: gone }) => sum + amount - gone, 0)
  return Math.max(0, leftOf(row, await listRefunds(tx, row), 'REFUNDED') - disputed)
}

export type Decision = {
  transactionId: string
  /** The id of the dispute. Optional while the transaction has only one. */
  disputeId?: string
  decision: 'accept' | 'reject'
  by: By
}

/**
 * Records what the operator, or the bank that it asked, decided about an open dispute. An accepted dispute stays
 * blocked until the acquirer reports the return; a rejected one is released. `reject` also ends an accepted dispute
 * that was returned in part: nothing more is returned.
 *
 * @throws {AppError} `not_found`, or `infraction_not_possible` with the reason
 */
export async function recordDecision(
  deps: DisputeDeps,
  { transactionId, disputeId, decision, by }: Decision,
): Promise<{ id: string }> {
  const id = await deps.db.transaction(async (tx) => {
    const row = await lockOwned(tx, transactionId)
    const undecided = (await listDisputesOf(tx, row)).filter(isUndecided)
    if (disputeId === undefined && undecided.length > 1)
      throw refuse(
        'required',
        `The transaction has several disputes: give the id of the one to decide.\n${listed(undecided)}`,
        { field: 'disputeId' },
      )
    const dispute = undecided.find((one) => disputeId === undefined || one.id === disputeId)
    if (!dispute && undecided.length > 0)
      throw refuse(
        'not_open',
        `The transaction has no undecided dispute with this id. Its undecided disputes are:\n${listed(undecided)}`,
      )
    if (!dispute) throw refuse('not_open', 'The transaction has no undecided dispute.')
    const now = deps.clock.now()
    const about = { merchantId: row.merchant_id, recordId: row.id, details: { disputeId: dispute.id } }
    await recordAction(tx, { by, action: `infraction.${decision}`, ...about, now })
    if (decision === 'reject') {
      const isLost = dispute.state === 'accepted' && dispute.returned_amount > 0
      await endDispute(tx, row, dispute, isLost ? 'returned' : 'rejected', now)
      return dispute.id
    }
    if (dispute.state === 'accepted')
      throw refuse('already_accepted', 'The dispute is already accepted, and waits for the return.')
    await acceptDispute(tx, row, dispute, now)
    return dispute.id
  })
  deps.wakeDeliveries()
  return { id }
}

/** One per line, so that a person can copy the id. */
function listed(disputes: DisputeRow[]): string {
  const lines = disputes.map((dispute) => {
    const { id, amount, returned_amount: returned, state, reason } = dispute
    const parts = [
      inReais(amount) + (returned > 0 ? `, of which ${inReais(returned)} was returned` : ''),
      ...(state === 'accepted' ? ['accepted'] : [`to be decided by ${analysisEndsAt(dispute).toISOString()}`]),
      ...(reason === null ? [] : [reason]),
    ]
    return `${id}  ${parts.join(' · ')}`
  })
  return lines.join('\n')
}

const analysisMs = 7 * 24 * 60 * 60_000

/** The Central Bank gives banks seven days to decide a dispute. Used when the acquirer gives no deadline. */
export function analysisEndsAt({ deadline_at, opened_at }: Pick<DisputeRow, 'deadline_at' | 'opened_at'>): Date {
  return deadline_at ?? new Date(opened_at.getTime() + analysisMs)
}

/** An open dispute without a sent defence needs attention from this long before its deadline on, as in the alerts. */
export const dueSoonMs = 3 * 24 * 60 * 60_000

type Reported = { merchantId: string; id: string; found: DisputeFound; payment: Payment }

/**
 * Updates a transaction to the acquirer's report of its dispute; safe to repeat. Returns false when the disputed
 * payment is not the one that paid the transaction.
 */
export async function recordReported(
  deps: Pick<SettleDeps, 'db' | 'clock' | 'wakeDeliveries'>,
  { merchantId, id, found, payment }: Reported,
): Promise<boolean> {
  const isFollowed = await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, merchantId, id)
    if (row?.end_to_end !== found.endToEndId) return false
    // The attribution was reversed while this waited for the lock: the payment has left, and its disputes with it.
    if (isAttributionReversed(await listRefunds(tx, row))) return false
    const { acquirer } = row
    const now = deps.clock.now()
    const kept = await takeDisputesOf(tx, { acquirer, endToEndId: found.endToEndId })
    let current = row
    for (const one of kept.filter(({ reference }) => reference !== found.reference))
      current = await followDispute(tx, current, { found: one, payment: null }, now)
    await followDispute(tx, current, { found, payment }, now)
    return true
  })
  deps.wakeDeliveries()
  return isFollowed
}

/**
 * {@link recordReported} inside the caller's commit, under the transaction's lock.
 *
 * @param payment null if it was not read: then no return is recorded
 */
export async function followDispute(
  tx: Tx,
  row: LockedTransaction,
  { found, payment }: { found: DisputeFound; payment: Payment | null },
  now: Date,
): Promise<LockedTransaction> {
  const recordReturned = async (from: LockedTransaction) =>
    payment ? await recordReturns(tx, from, payment, now) : from
  const { row: entered, dispute } = await findOrOpen(tx, row, found, now)
  // Whatever the state of the dispute: what was returned to the payer is gone.
  if (!isUndecided(dispute)) return await recordReturned(entered)
  const isAccepted = found.state === 'accepted' || found.state === 'returned'
  const accepted = isAccepted && dispute.state === 'open' ? await acceptDispute(tx, entered, dispute, now) : entered
  const returned = await recordReturned(accepted)
  const ends = endOf(found.state)
  const current = await readDispute(tx, returned, dispute.id)
  if (!ends || !isUndecided(current)) return returned
  // The money of a "returned" dispute stays blocked until the payment shows a return under MED, and none in progress.
  // Then the dispute ends, and the part that was not returned is released.
  if (ends === 'returned' && (current.returned_amount === 0 || isUnderWay(payment))) return returned
  return await endDispute(tx, returned, current, ends, now)
}

/** True while the payment shows a return under MED that is not complete. An unread payment may have one. */
function isUnderWay(payment: Payment | null): boolean {
  return payment?.returns.some(({ isDone, nature }) => !isDone && nature.startsWith('MED')) ?? true
}

function endOf(state: DisputeFound['state']): 'returned' | 'rejected' | 'canceled' | null {
  return state === 'returned' || state === 'rejected' || state === 'canceled' ? state : null
}

type Found = { row: LockedTransaction; dispute: DisputeRow }

/**
 * Returns the dispute with the acquirer's reference, reopened if the acquirer says so; or the one that was known
 * before the acquirer reported it, from the operator or from its return; or a new one.
 */
async function findOrOpen(tx: Tx, row: LockedTransaction, found: DisputeFound, now: Date): Promise<Found> {
  const disputes = await listDisputesOf(tx, row)
  const known = disputes.find(({ acquirer_reference: reference }) => reference === found.reference)
  if (known) return await refresh(tx, row, known, found, now)
  const entered = disputes.find(
    (one) => one.source === 'operator' && one.acquirer_reference === null && isUndecided(one),
  )
  if (entered) return await refresh(tx, row, { ...entered, acquirer_reference: found.reference }, found, now)
  const returned = disputes.find((one) => one.source === 'return' && one.opened_at >= found.openedAt)
  if (returned && !isEnded(found)) return await adopt(tx, row, returned, found, now)
  const { amount, reason, reference: acquirer_reference, openedAt } = found
  const opening = {
    amount,
    reason,
    acquirer_reference,
    openedAt,
    reported: toReportedState(found),
    source: 'acquirer',
  } as const
  if (isEnded(found)) {
    const changed = await enterEnded(tx, row, { ...opening, state: found.state }, now)
    return { row: changed.row, dispute: await readDispute(tx, changed.row, changed.id) }
  }
  const opened = await openDispute(tx, row, opening, now)
  return { row: opened.row, dispute: await readDispute(tx, opened.row, opened.id) }
}

function isEnded(found: DisputeFound): found is DisputeFound & { state: 'rejected' | 'canceled' } {
  return found.state === 'rejected' || found.state === 'canceled'
}

/**
 * Writes what the acquirer reports now. A dispute that has ended is reopened if the acquirer reports another state than
 * before, and this state is open, accepted or unknown; except a lost dispute that it reports as accepted. If the
 * acquirer disputes more than an operator had recorded, the rest is blocked as well.
 */
async function refresh(
  tx: Tx,
  row: LockedTransaction,
  dispute: DisputeRow,
  found: DisputeFound,
  now: Date,
): Promise<Found> {
  const before = dispute.acquirer_state
  const isOpenAtAcquirer = found.state === 'open' || found.state === 'unknown' || found.state === 'accepted'
  const isLost = dispute.state === 'returned' && found.state === 'accepted'
  // A dispute that an operator ended stays ended until the acquirer reports something new.
  const isReopened = !isUndecided(dispute) && isOpenAtAcquirer && !isLost && before !== found.state
  const amount = isUndecided(dispute) || isReopened ? await disputedAmount(tx, row, dispute, found) : dispute.amount
  const changed = { ...dispute, ...toReportedState(found), amount }
  await updateDispute(tx, changed)
  if (!isReopened && amount === dispute.amount) return { row, dispute: changed }
  const current = isReopened ? await reopenDispute(tx, row, changed, now) : await settleDisputes(tx, row, now)
  return { row: current, dispute: await readDispute(tx, current, dispute.id) }
}

/**
 * The amount that the acquirer reports, as far as that much is left; never less than before, because nothing is
 * released until the dispute is over.
 */
async function disputedAmount(
  tx: Tx,
  row: LockedTransaction,
  dispute: DisputeRow,
  found: DisputeFound,
): Promise<number> {
  const remaining = leftOf(row, await listRefunds(tx, row), 'REFUNDED') + dispute.returned_amount
  return Math.max(dispute.amount, Math.min(found.amount || remaining, remaining))
}

/** The return was seen before the dispute: that return was made under this dispute. */
async function adopt(
  tx: Tx,
  row: LockedTransaction,
  returned: DisputeRow,
  found: DisputeFound,
  now: Date,
): Promise<Found> {
  const dispute: DisputeRow = {
    ...returned,
    ...toReportedState(found),
    acquirer_reference: found.reference,
    source: 'acquirer',
    amount: await disputedAmount(tx, row, returned, found),
    reason: found.reason,
    state: 'open',
    opened_at: found.openedAt,
    decided_at: null,
    finished_at: null,
  }
  await updateDispute(tx, dispute)
  const dated = await updateDisputeDate(tx, row, found.openedAt)
  const settled = await settleDisputes(tx, dated, now)
  return { row: settled, dispute: await readDispute(tx, settled, dispute.id) }
}

async function readDispute(tx: Tx, row: LockedTransaction, id: string): Promise<DisputeRow> {
  const dispute = (await listDisputesOf(tx, row)).find((one) => one.id === id)
  assert(dispute, 'a dispute that was written exists')
  return dispute
}

async function lockOwned(tx: Tx, transactionId: string): Promise<LockedTransaction> {
  const [owner] = await findOwners(tx, [transactionId])
  const row = owner && (await lockTransaction(tx, owner.merchant_id, owner.id))
  if (!row) throw new AppError('not_found', { detail: 'There is no transaction with this id.' })
  return row
}

const refuse = refusal.bind(null, 'infraction_not_possible')
