import type { Acquirer, Payment } from '../acquirers/acquirer.ts'
import type { Tx } from '../db/sql.ts'
import { enqueueJobs } from '../jobs/jobs.ts'
import { type Posting, postAll } from '../ledger/post.ts'
import { placedInSuspense, returnedFromSuspense } from '../ledger/transfers.ts'
import { newUuid } from '../lib/secrets.ts'
import { isDisputed } from './dispute-store.ts'
import { operatorMerchantId, type SuspenseStatus } from './status.ts'
import { insertSuspense, lockSuspenseOf, type SuspenseRow } from './store.ts'
import { takenOf, takeReturns } from './take.ts'

/** The job that sends one payment back. */
export const sendBackJob = 'suspense.return'
export type SendBackPayload = { merchantId: string; id: string }

/** How soon a new return is checked: the check finds one whose job was lost. */
export const firstCheckMs = 60_000

/**
 * A payment without a transaction. unattributed: it names no charge of ours. duplicate: its transaction was already
 * paid, and it is sent back automatically unless it is disputed. `merchantId` null means the operator's own merchant.
 */
export type SuspensePayment = {
  /** The acquirer that holds the money. */
  acquirer: Pick<Acquirer, 'name' | 'receiver'>
  payment: Payment
  kind: SuspenseRow['kind']
  merchantId: string | null
  transactionId: string | null
}

/**
 * Places payments in suspense, in the caller's commit: each once, however often and concurrently it is called. An
 * existing one is updated with the returns that the payment shows. Call it after the locks on transactions, and
 * instead of other postings: a caller with more postings uses {@link insertIntoSuspense} and posts all together, so
 * that accounts are locked in one order.
 */
export async function placeInSuspense(tx: Tx, payments: SuspensePayment[], now: Date): Promise<void> {
  await postAll(tx, await insertIntoSuspense(tx, payments, now))
}

/** The same without the ledger: returns what the caller has to post in this same commit. */
export async function insertIntoSuspense(tx: Tx, payments: SuspensePayment[], now: Date): Promise<Posting[]> {
  if (payments.length === 0) return []
  const once = [...new Map(payments.map((one) => [toKey(one.acquirer.name, one.payment.endToEndId), one])).values()]
  const rows: SuspenseRow[] = []
  for (const one of once) rows.push(toRow(one, { isSentBack: await isSentBack(tx, one), now }))
  const fresh = await insertSuspense(tx, rows)
  const inserted = rows.filter(({ id }) => fresh.has(id))
  await enqueueJobs(
    tx,
    inserted
      .filter(({ status }) => status === 'returning')
      .map((row) => ({ name: sendBackJob, payload: toPayload(row) })),
  )
  const postings = inserted.flatMap((row) => toPostings(row, now))
  const known = once.filter((_, index) => !fresh.has(rows[index]?.id ?? ''))
  return [...postings, ...(await takeReturnsOfKnown(tx, known, now))]
}

/** Nothing is sent back under an open dispute: the acquirer may return it as well. */
async function isSentBack(tx: Tx, { acquirer, payment, kind }: SuspensePayment): Promise<boolean> {
  if (kind !== 'duplicate' || leftOf(payment) === 0) return false
  return !(await isDisputed(tx, { acquirer: acquirer.name, end_to_end: payment.endToEndId }))
}

function leftOf(payment: Payment): number {
  return Math.max(0, payment.amount - takenOf(payment, null))
}

function toRow(
  { acquirer, payment, kind, merchantId, transactionId }: SuspensePayment,
  { isSentBack, now }: { isSentBack: boolean; now: Date },
): SuspenseRow {
  const left = leftOf(payment)
  const statuses: SuspenseStatus[] = ['held']
  if (isSentBack) statuses.push('returning')
  if (left === 0) statuses.push('returned')
  return {
    merchant_id: merchantId ?? operatorMerchantId,
    id: newUuid(),
    kind,
    acquirer: acquirer.name,
    end_to_end: payment.endToEndId,
    txid: payment.txid,
    amount: payment.amount,
    paid_at: payment.paidAt,
    payer: payment.payer,
    receiver: acquirer.receiver,
    transaction_id: transactionId,
    attributed_merchant_id: null,
    attributed_transaction_id: null,
    return_id: isSentBack ? newUuid() : null,
    return_amount: isSentBack ? left : null,
    return_end_to_end: null,
    return_requested_at: null,
    taken_amount: payment.amount - left,
    statuses,
    status_dates: statuses.map(() => now),
    status: statuses.at(-1) ?? 'held',
    error_message: null,
    // The job that searches its transaction checks an unattributed payment; nothing checks one that was returned, or
    // a disputed duplicate.
    check_at: isSentBack ? new Date(now.getTime() + firstCheckMs) : left > 0 && kind === 'unattributed' ? now : null,
  }
}

export function toPayload({ merchant_id: merchantId, id }: SuspenseRow): SendBackPayload {
  return { merchantId, id }
}

function toPostings(row: SuspenseRow, now: Date): Posting[] {
  const { merchant_id: merchantId, id: recordId, acquirer } = row
  const posting = { merchantId, recordType: 'suspense', recordId, acquirer, now } as const
  const arrived = { ...posting, eventKey: `suspense:${row.id}:held`, transfers: placedInSuspense(row.amount) }
  if (row.taken_amount === 0) return [arrived]
  const eventKey = `suspense:${row.id}:taken:${row.taken_amount}`
  return [arrived, { ...posting, eventKey, transfers: returnedFromSuspense(row.taken_amount) }]
}

async function takeReturnsOfKnown(tx: Tx, known: SuspensePayment[], now: Date): Promise<Posting[]> {
  const returned = known.filter(({ payment }) => takenOf(payment, null) > 0)
  if (returned.length === 0) return []
  const paymentOf = new Map(
    returned.map(({ acquirer, payment }) => [toKey(acquirer.name, payment.endToEndId), payment]),
  )
  const rows = await lockSuspenseOf(
    tx,
    returned.map(({ acquirer, payment }) => ({ acquirer: acquirer.name, endToEndId: payment.endToEndId })),
  )
  const postings: Posting[] = []
  for (const row of rows) {
    const payment = paymentOf.get(toKey(row.acquirer, row.end_to_end))
    if (payment) postings.push(...(await takeReturns(tx, row, payment, now)))
  }
  return postings
}

function toKey(acquirer: string, endToEndId: string): string {
  return `${acquirer} ${endToEndId}`
}
