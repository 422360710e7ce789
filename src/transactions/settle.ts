import type { Logger } from 'pino'
import {
  type Acquirer,
  AcquirerUnavailable,
  type Charge,
  type DisputeFound,
  type Payment,
} from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import { type AdvisoryLock, type Db, mayBeOneRowsFault, type Tx } from '../db/sql.ts'
import { computeFee } from '../ledger/fees.ts'
import type { Posting } from '../ledger/post.ts'
import { assert } from '../lib/assert.ts'
import { createBatcher } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import { compare } from '../lib/compare.ts'
import { fromTxid, toTxid } from '../pix/ids.ts'
import { leaveSuspense } from '../suspense/attribute.ts'
import { takeDisputesOf } from '../suspense/dispute-store.ts'
import { lockSuspenseOf, type SuspenseRow } from '../suspense/store.ts'
import { type ChangeDeliveries, type OwnEvents, sendAfterCommit } from '../webhooks/own-events.ts'
import { changeStatuses, type Move, moneyAt } from './change.ts'
import { followDispute } from './dispute/dispute.ts'
import { recordReturns, settleReturns } from './dispute/returns.ts'
import { type Failing, failTransactions } from './fail.ts'
import { findOwners, findPaidBy, lockPaidBy, type Owner } from './owner-store.ts'
import { type LockedTransaction, lockToBePaid, type WholeTransaction } from './store.ts'
import { recordingLock, suspendDuplicate } from './suspend.ts'
import { toTransactionView } from './view.ts'

/**
 * The most payments in one commit, and the most commits in progress at once: one commit runs its queries while the
 * other waits for the disk. A second commit starts only with `minConcurrentBatch` payments.
 */
const batchPaymentsMax = 64
const batchesMax = 2
const minConcurrentBatch = 16
/** For `findOwner` only: how long the few ids that came during a batch wait for more after it. */
const lingerMs = 5
/** Reads need no commit, so their batches are larger. */
const batchReadsMax = 256

/**
 * Sent in one round trip with the first statements of {@link recordPayments}: these only lock and read, so they need
 * not wait for the lock's answer.
 */
const pipelinedLock: AdvisoryLock = { ...recordingLock, isPipelined: true }

export type SettleDeps = {
  db: Db
  clock: Clock
  acquirers: Acquirers
  log: Logger
  settlement: Settlement
  wakeDeliveries: () => void
}

/**
 * Shared by all callers, so that many payments share one commit. After it, this process sends the webhooks that it has
 * leased, without reading them from the queue.
 */
export type Settlement = {
  /** Null when there is no transaction with this id. */
  findOwner: (id: string) => Promise<Owner | null>
  /** Null when this merchant has no such transaction. */
  recordPayment: (payment: Confirmed) => Promise<Recorded | null>
  /** {@link failTransactions}, with the caller's `Db`. */
  fail: (db: Db, failing: Failing[]) => Promise<void>
}

/**
 * settled: PAID now. already: recorded before. duplicate: another payment paid the transaction first. This one is
 * placed in suspense and sent back, unless it is disputed or has paid another transaction. gone: the payment belongs to
 * another transaction; or it was placed in suspense, because it named no transaction then, and has left it since, in
 * whole or in part.
 */
type Recorded = 'settled' | 'already' | 'duplicate' | 'gone'
/**
 * No payment was found. unpaid: the acquirers that were asked show no payment; if one was reported, its acquirer does
 * not show that payment. completed: an acquirer says that the charge was paid, but does not show the payment yet.
 * removed: unpaid, and the acquirer that gave the QR code has removed the charge, so nobody can pay it any more.
 */
export type Unsettled = 'unpaid' | 'completed' | 'removed'
export type Settled = Recorded | Unsettled

/** A payment that a callback or a list announced, and the acquirer that announced it. */
export type ReportedPayment = { acquirer: string; endToEndId: string }

/**
 * Asks whether a transaction was paid and, if so, makes it PAID: status, history, event and ledger in one commit.
 * Safe to call any number of times: a payment is recorded once.
 *
 * @param reported which acquirer to ask, and for which payment. It is fetched individually if its charge does not list
 *   it, as with some PSPs. Without `reported`, every acquirer that may have a charge is asked in turn, until one shows
 *   a payment. None is asked if the transaction is already paid: by this payment, or by any without `reported`.
 * @throws {AcquirerUnavailable} when the outcome is not known
 */
export async function settleTransaction(
  deps: SettleDeps,
  { merchantId, id, reported }: { merchantId: string; id: string; reported?: ReportedPayment },
): Promise<Settled> {
  const owner = await deps.settlement.findOwner(id)
  assert(owner?.merchant_id === merchantId, 'a transaction to settle exists')
  return await settleOwned(deps, owner, reported)
}

/** Does what {@link settleTransaction} does when the owner of the transaction is known. */
export async function settleOwned(deps: SettleDeps, owner: Owner, reported?: ReportedPayment): Promise<Settled> {
  const { id, merchant_id: merchantId } = owner
  if (owner.end_to_end !== null && (reported === undefined || reported.endToEndId === owner.end_to_end))
    return 'already'
  const found = reported ? await findReportedPayment(deps, owner, reported) : await findAnywhere(deps, owner)
  if (typeof found === 'string') return found
  const confirmed = { ...found, merchantId, id }
  const recorded = await deps.settlement.recordPayment(confirmed)
  assert(recorded, 'a transaction to settle exists')
  if (recorded === 'duplicate') {
    await suspendDuplicate(deps, confirmed)
    await followReturns(deps, found)
  }
  if (recorded === 'gone') deps.log.warn({ transactionId: id, endToEndId: found.payment.endToEndId }, goneMessage)
  return recorded
}

/** A second payment may have been attributed to another transaction; what is returned of it is then posted there. */
async function followReturns(deps: SettleDeps, { acquirer, payment }: Found): Promise<void> {
  if (payment.returns.length === 0) return
  const paid = await findPaidBy(deps.db, payment.endToEndId)
  if (paid?.acquirer === acquirer.name)
    await settleReturns(deps, { merchantId: paid.merchant_id, id: paid.id, payment })
}

const goneMessage =
  'a payment reported for a transaction was not recorded: it belongs to another transaction, or has left suspense in whole or in part'

/** Whether this acquirer may have a charge under the transaction's txid. Reports of other acquirers do not count. */
export function mayHaveCharge({ acquirer, other_acquirers: others }: Owner, name: string): boolean {
  return acquirer === name || others.includes(name)
}

type Found = { acquirer: Acquirer; charge: Charge | null; payment: Payment }

async function findReportedPayment(
  { acquirers }: SettleDeps,
  owner: Owner,
  reported: ReportedPayment,
): Promise<Found | 'unpaid'> {
  assert(mayHaveCharge(owner, reported.acquirer), 'only an acquirer that may have the charge is queried')
  const { found } = await findAt(acquirers.named(reported.acquirer), owner.id, reported.endToEndId)
  return found ?? 'unpaid'
}

/**
 * A payment counts even if other acquirers do not respond. That there is no payment counts only when all of them say
 * so.
 */
async function findAnywhere({ acquirers }: SettleDeps, owner: Owner): Promise<Found | Unsettled> {
  const unavailable: AcquirerUnavailable[] = []
  const statuses: (Charge['status'] | null)[] = []
  for (const name of [owner.acquirer, ...owner.other_acquirers]) {
    try {
      const { found, charge } = await findAt(acquirers.named(name), owner.id)
      if (found) return found
      statuses.push(charge?.status ?? null)
    } catch (error) {
      if (!(error instanceof AcquirerUnavailable)) throw error
      unavailable.push(error)
    }
  }
  const [first] = unavailable
  if (first) throw first
  if (statuses.includes('completed')) return 'completed'
  return statuses[0] === 'removed' ? 'removed' : 'unpaid'
}

/** A callback is a hint, never proof: only the acquirer's response to a query counts, and only under our own txid. */
async function findAt(
  acquirer: Acquirer,
  id: string,
  hint?: string,
): Promise<{ charge: Charge | null; found: Found | null }> {
  const charge = await acquirer.findCharge(toTxid(id))
  const listed = charge?.payments.find((payment) => hint === undefined || payment.endToEndId === hint)
  if (listed) return { charge, found: { acquirer, charge, payment: listed } }
  const named = hint === undefined ? null : await acquirer.findPayment(hint)
  // Some PSPs return a txid in another case.
  const isOwn = named?.txid && fromTxid(named.txid) === id
  return { charge, found: isOwn ? { acquirer, charge, payment: named } : null }
}

type Confirmed = Pick<Found, 'charge' | 'payment'> & {
  merchantId: string
  id: string
  acquirer: Pick<Acquirer, 'name' | 'receiver'>
}

/** @param deliveries sends the webhooks of payments; null where none is sent */
export function createSettlement({
  db,
  clock,
  deliveries = null,
}: {
  db: Db
  clock: Clock
  deliveries?: ChangeDeliveries | null
}): Settlement {
  return {
    findOwner: createBatcher({
      name: 'find owners',
      maxBatchSize: batchReadsMax,
      maxConcurrency: batchesMax,
      minConcurrentBatch,
      lingerMs,
      retryIndividually: () => false,
      run: async (ids: string[]) => {
        const owners = new Map((await findOwners(db, ids)).map((owner) => [owner.id, owner]))
        return ids.map((id) => owners.get(id) ?? null)
      },
    }),
    recordPayment: createBatcher({
      name: 'settle',
      maxBatchSize: batchPaymentsMax,
      maxConcurrency: batchesMax,
      minConcurrentBatch,
      retryIndividually: mayBeOneRowsFault,
      run: async (payments: Confirmed[]) =>
        await sendAfterCommit(deliveries, async (ownEvents) => {
          const record = async (tx: Tx) => await recordPayments(tx, payments, clock.now(), ownEvents)
          return await db.transaction(record, pipelinedLock)
        }),
    }),
    fail: async (db, failing) => await failTransactions({ db, clock, deliveries }, failing),
  }
}

/**
 * Records payments of any number of merchants in one commit: on two fully loaded cores 2,000 a second, against 250 one
 * by one. Records are locked first, then accounts, each in one order. The caller's database transaction must hold
 * {@link recordingLock}.
 */
export async function recordPayments(
  tx: Tx,
  payments: Confirmed[],
  now: Date,
  ownEvents: OwnEvents | null = null,
): Promise<(Recorded | null)[]> {
  const takenBy = await lockUnnamed(tx, payments)
  const toBePaid = payments.map(({ merchantId, id, acquirer, payment }) => {
    return { merchantId, id, acquirer: acquirer.name, endToEndId: payment.endToEndId }
  })
  const locked = await lockToBePaid(tx, toBePaid, now)
  const suspenseRows = await lockSuspended(tx, payments, locked)
  const rows = new Map(locked.map((row) => [toTransactionKey(row.merchant_id, row.id), row]))
  const fresh: Fresh[] = []
  const used = new Set<string>()
  const paidBy = new Map([...rows].map(([key, row]) => [key, row.end_to_end]))
  const recorded = payments.map((confirmed): Recorded | null => {
    const key = toTransactionKey(confirmed.merchantId, confirmed.id)
    const [row, by] = [rows.get(key), paidBy.get(key)]
    if (!row) return null
    const { endToEndId } = confirmed.payment
    if (by) return by === endToEndId ? 'already' : 'duplicate'
    const paymentKey = toPaymentKey(confirmed.acquirer.name, endToEndId)
    const taken = takenBy.get(paymentKey)
    const inSuspense = suspenseRows.get(paymentKey) ?? null
    // A payment pays one transaction, even if an acquirer has listed it with two.
    const isTaken = (taken && taken !== confirmed.id) || used.has(paymentKey)
    if (isTaken || (inSuspense && !isUntouched(inSuspense))) return 'gone'
    used.add(paymentKey)
    // Another payment of the same transaction may be in this batch.
    paidBy.set(key, endToEndId)
    const { amount } = confirmed.payment
    const fee = Math.min(amount, computeFee(row.fee_rule, amount))
    fresh.push({ ...confirmed, row, createdRow: row, inSuspense, amount, fee })
    return 'settled'
  })
  if (fresh.length > 0) await recordFresh(tx, fresh, now, ownEvents)
  return recorded
}

/**
 * `row`: the fields that change, replaced after each change of status. `createdRow`: the row as it was locked, with the
 * fields that never change. `inSuspense`: the payment was placed in suspense before its transaction was known.
 */
type Fresh = Confirmed & {
  row: LockedTransaction
  createdRow: WholeTransaction
  inSuspense: SuspenseRow | null
  amount: number
  fee: number
}

/**
 * The transactions that payments without a txid already pay, by acquirer and endToEndId: a PSP that leaves the txid
 * out may list one payment in two charges. The lock lets one process check at a time. Such payments are rare; without
 * any there is no query.
 */
async function lockUnnamed(tx: Tx, payments: Confirmed[]): Promise<Map<string, string>> {
  const unnamed = payments.filter(({ payment }) => payment.txid === null).map(({ payment }) => payment.endToEndId)
  if (unnamed.length === 0) return new Map()
  const rows = await lockPaidBy(tx, [...new Set(unnamed)].sort(compare))
  return new Map(rows.map((row) => [toPaymentKey(row.acquirer, row.end_to_end ?? ''), row.id]))
}

/** The payments of the batch that are or were in suspense, locked. They are rare, and only they need this query. */
async function lockSuspended(
  tx: Tx,
  payments: Confirmed[],
  locked: { suspended: string[] | null }[],
): Promise<Map<string, SuspenseRow>> {
  const suspended = new Set(locked.flatMap((row) => row.suspended ?? []))
  if (suspended.size === 0) return new Map()
  const keys = payments.map(({ acquirer, payment }) => ({ acquirer: acquirer.name, endToEndId: payment.endToEndId }))
  const rows = await lockSuspenseOf(tx, keys)
  return new Map(rows.map((row) => [toPaymentKey(row.acquirer, row.end_to_end), row]))
}

function isUntouched({ status, taken_amount: taken }: SuspenseRow): boolean {
  return status === 'held' && taken === 0
}

async function recordFresh(tx: Tx, fresh: Fresh[], now: Date, ownEvents: OwnEvents | null): Promise<void> {
  const entries = await giveCodes(tx, fresh, now)
  const attributions: Posting[] = []
  for (const { inSuspense, ...one } of entries)
    if (inSuspense) attributions.push(await leaveSuspense(tx, inSuspense, one, now))
  const suspenseDisputes = await takeDisputesFromSuspense(tx, entries)
  const moves = entries.map(({ row, createdRow, payment, acquirer, amount, fee, charge }): Move => {
    const set = {
      ...missingCode(createdRow, charge),
      ...moneyAt(row, acquirer.name),
      amount_paid: amount,
      payment_date: payment.paidAt,
      end_to_end: payment.endToEndId,
      payer: payment.payer,
      receiver: acquirer.receiver,
      fee_amount: fee,
      error_message: null,
    }
    return { row, to: 'PAID', now, checkAt: null, set }
  })
  const changed = await changeStatuses(tx, moves, { before: attributions, ownEvents })
  // Runs after the accounts are locked, against the usual order. That is safe: disputes and returns lock only records
  // that this commit has already locked.
  for (const [index, row] of changed.entries()) {
    const entry = entries[index]
    if (!entry) continue
    ownEvents?.setView(row.id, () => toTransactionView({ ...entry.createdRow, ...row }))
    let current: LockedTransaction = row
    for (const found of suspenseDisputes.get(entry) ?? [])
      current = await followDispute(tx, current, { found, payment: null }, now)
    await recordReturns(tx, current, entry.payment, now)
  }
}

/** What was disputed in suspense is blocked in the commit that attributes it. */
async function takeDisputesFromSuspense(tx: Tx, entries: Fresh[]): Promise<Map<Fresh, DisputeFound[]>> {
  const disputes = new Map<Fresh, DisputeFound[]>()
  for (const entry of entries) {
    if (!entry.inSuspense) continue
    const { acquirer, payment } = entry
    disputes.set(entry, await takeDisputesOf(tx, { acquirer: acquirer.name, endToEndId: payment.endToEndId }))
  }
  return disputes
}

/**
 * If a transaction was paid before the acquirer answered our request for its QR code, it becomes PIX_QRCODE_GENERATED
 * first.
 */
async function giveCodes(tx: Tx, fresh: Fresh[], now: Date): Promise<Fresh[]> {
  const pending = fresh.filter(({ row }) => row.status === 'PENDING')
  const coded = await changeStatuses(
    tx,
    pending.map(({ row, createdRow, charge, acquirer }) => ({
      row,
      to: 'PIX_QRCODE_GENERATED',
      now,
      checkAt: null,
      set: { ...missingCode(createdRow, charge), ...moneyAt(row, acquirer.name) },
    })),
  )
  const rowOf = new Map(pending.map((one, index) => [one, coded[index]]))
  return fresh.map((one) => ({ ...one, row: rowOf.get(one) ?? one.row }))
}

/** Some acquirers do not show the code of a paid charge: then the transaction has no code, only an expiry time. */
function missingCode({ pix_uri, created_at, pix_expiration_seconds }: WholeTransaction, charge: Charge | null) {
  if (pix_uri !== null) return {}
  const requested = new Date(created_at.getTime() + pix_expiration_seconds * 1000)
  return { pix_uri: charge?.uri ?? null, pix_expires_at: charge?.expiresAt ?? requested }
}

function toPaymentKey(acquirer: string, endToEndId: string): string {
  return `${acquirer} ${endToEndId}`
}

function toTransactionKey(merchantId: string, id: string): string {
  return `${merchantId} ${id}`
}
