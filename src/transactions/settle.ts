import type { Logger } from 'pino'
import type { Acquirer, Charge, Payment } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import { type Db, mayBeOneRowsFault, type Tx } from '../db/sql.ts'
import { feesFor } from '../ledger/fees.ts'
import { postAll } from '../ledger/post.ts'
import { paid } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import { createBatch } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountHolder } from '../pix/holder.ts'
import { fromTxid, toTxid } from '../pix/ids.ts'
import { changeStatuses } from './change.ts'
import { bookReturns } from './returns.ts'
import { findOwners, type LockedTransaction, lockTransactions, type Owner } from './store.ts'

/** Payments in one commit, and commits under way at once: a second one asks the database while the first waits for the disk. */
const batchPaymentsMax = 64
const batchesMax = 2
const besideMin = 16
const restMs = 5
/** Reading is no commit: it goes in larger parts. */
const batchReadsMax = 256

export type SettleDeps = {
  db: Db
  clock: Clock
  acquirers: Acquirers
  log: Logger
  settlement: Settlement
  nudgeDeliveries: () => void
}

/** What of settling many callers share, so that payments which are confirmed at the same time are one commit. */
export type Settlement = {
  /** Null when there is no transaction of this id. */
  findOwner: (id: string) => Promise<Owner | null>
  /** Null when there is no such transaction of this merchant. */
  bookPayment: (payment: Confirmed) => Promise<Booked | null>
}

/** settled: PAID now; already: booked before; surplus: paid, but by another payment before. */
type Booked = 'settled' | 'already' | 'surplus'
/** unpaid: the acquirer knows of no payment. */
export type Settled = Booked | 'unpaid'

/** An error, because somebody has to send that money back. */
export const surplusMessage = 'a transaction was paid a second time, and the second payment is not booked'

/**
 * Asks the acquirer whether a transaction was paid and, if so, makes it PAID: status, history, event and ledger in one commit.
 * However often it is called, one payment is booked once.
 *
 * @param hint an endToEndId that a callback named. Asked for by itself, since some PSPs' charges do not list their payments.
 * @throws {AcquirerUnavailable} when the outcome is not known
 */
export async function settleTransaction(
  deps: SettleDeps,
  { merchantId, id, hint }: { merchantId: string; id: string; hint?: string },
): Promise<Settled> {
  const owner = await deps.settlement.findOwner(id)
  assert(owner?.merchant_id === merchantId, 'a transaction to settle exists')
  return await settleOwned(deps, owner, hint)
}

/** The same where it is known whose the transaction is. */
export async function settleOwned(deps: SettleDeps, owner: Owner, hint?: string): Promise<Settled> {
  const { id, merchant_id: merchantId } = owner
  if (owner.end_to_end !== null && (hint === undefined || hint === owner.end_to_end)) return 'already'
  const acquirer = deps.acquirers.get(owner.acquirer)
  assert(acquirer, 'the acquirer of a transaction is configured')
  const charge = await acquirer.findCharge(toTxid(id))
  const payment = await findConfirmedPayment(acquirer, charge, { id, hint })
  if (!payment) return 'unpaid'
  const { receiver } = acquirer
  const booked = await deps.settlement.bookPayment({ merchantId, id, payment, charge, receiver })
  assert(booked, 'a transaction to settle exists')
  if (booked === 'settled') deps.nudgeDeliveries()
  if (booked === 'surplus') deps.log.error({ transactionId: id, endToEndId: payment.endToEndId }, surplusMessage)
  return booked
}

/** A callback is a hint, never proof: only what the acquirer says when it is asked counts, and only under our own txid. */
async function findConfirmedPayment(
  acquirer: Acquirer,
  charge: Charge | null,
  { id, hint }: { id: string; hint: string | undefined },
): Promise<Payment | null> {
  const listed = charge?.payments.find((payment) => hint === undefined || payment.endToEndId === hint)
  if (listed) return listed
  const named = hint === undefined ? null : await acquirer.findPayment(hint)
  // Some PSPs give a txid back in another case.
  return named?.txid && fromTxid(named.txid) === id ? named : null
}

type Confirmed = { merchantId: string; id: string; payment: Payment; charge: Charge | null; receiver: AccountHolder }

export function createSettlement({ db, clock }: { db: Db; clock: Clock }): Settlement {
  return {
    findOwner: createBatch({
      itemsMax: batchReadsMax,
      flightsMax: batchesMax,
      besideMin,
      restMs,
      run: async (ids: string[]) => {
        const owners = new Map((await findOwners(db, ids)).map((owner) => [owner.id, owner]))
        return ids.map((id) => owners.get(id) ?? null)
      },
    }),
    bookPayment: createBatch({
      itemsMax: batchPaymentsMax,
      flightsMax: batchesMax,
      besideMin,
      restMs,
      isolates: mayBeOneRowsFault,
      run: async (payments: Confirmed[]) => await bookPayments(db, clock, payments),
    }),
  }
}

/**
 * One commit for payments of any number of merchants. Records are locked first, all in one order, then accounts, all in one order. On two
 * cores with everything on them 250 payments a second were booked one by one, and 2,000 are together.
 */
async function bookPayments(db: Db, clock: Clock, payments: Confirmed[]): Promise<(Booked | null)[]> {
  return await db.transaction(async (tx) => {
    const rows = new Map((await lockTransactions(tx, payments)).map((row) => [toKey(row.merchant_id, row.id), row]))
    const fresh: Fresh[] = []
    const paidBy = new Map([...rows].map(([key, row]) => [key, row.end_to_end]))
    const booked = payments.map((confirmed): Booked | null => {
      const key = toKey(confirmed.merchantId, confirmed.id)
      const [row, by] = [rows.get(key), paidBy.get(key)]
      if (!row) return null
      if (by) return by === confirmed.payment.endToEndId ? 'already' : 'surplus'
      // Another payment of the same transaction may be in this very batch.
      paidBy.set(key, confirmed.payment.endToEndId)
      fresh.push({ ...confirmed, row })
      return 'settled'
    })
    if (fresh.length > 0) await book(tx, fresh, clock.now())
    return booked
  })
}

type Fresh = Confirmed & { row: LockedTransaction }

async function book(tx: Tx, fresh: Fresh[], now: Date): Promise<void> {
  const charged = fresh.map(({ merchantId, payment }) => ({ merchantId, amount: payment.amount }))
  const fees = await feesFor(tx, { operation: 'transaction', now, charged })
  const entries = (await giveCodes(tx, fresh, now)).map((one, index) => {
    const { amount } = one.payment
    return { ...one, amount, fee: Math.min(amount, fees[index] ?? 0) }
  })
  const changed = await changeStatuses(
    tx,
    entries.map(({ row, payment, receiver, amount, fee, ...one }) => ({
      row,
      to: 'PAID',
      now,
      checkAt: null,
      set: {
        ...missingCode(row, one.charge),
        amount_paid: amount,
        payment_date: payment.paidAt,
        end_to_end: payment.endToEndId,
        payer: payment.payer,
        receiver,
        fee_amount: fee,
        error_message: null,
      },
    })),
  )
  await postAll(
    tx,
    entries.map(({ merchantId, id, amount, fee }) => ({
      merchantId,
      eventKey: `transaction:${id}:paid`,
      recordType: 'transaction',
      recordId: id,
      now,
      transfers: paid(amount, fee),
    })),
  )
  // After the accounts: all that it locks besides are these very records.
  for (const [index, row] of changed.entries()) {
    const payment = entries[index]?.payment
    if (payment) await bookReturns(tx, row, payment, now)
  }
}

/** Those that were paid before the answer to our own request for a code was known get it first. */
async function giveCodes(tx: Tx, fresh: Fresh[], now: Date): Promise<Fresh[]> {
  const pending = fresh.filter(({ row }) => row.status === 'PENDING')
  const coded = await changeStatuses(
    tx,
    pending.map(({ row, charge }) => ({
      row,
      to: 'PIX_QRCODE_GENERATED',
      now,
      checkAt: null,
      set: missingCode(row, charge),
    })),
  )
  const rowOf = new Map(pending.map((one, index) => [one, coded[index]]))
  return fresh.map((one) => ({ ...one, row: rowOf.get(one) ?? one.row }))
}

function missingCode(row: LockedTransaction, charge: Charge | null) {
  return charge && row.pix_uri === null ? { pix_uri: charge.uri, pix_expires_at: charge.expiresAt } : {}
}

function toKey(merchantId: string, id: string): string {
  return `${merchantId} ${id}`
}
