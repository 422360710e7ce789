import type { Payment, PaymentReturn } from '../acquirers/acquirer.ts'
import type { Tx } from '../db/sql.ts'
import { isUndecided, returnContest, returnUnannounced } from './infraction-steps.ts'
import { listInfractions } from './infraction-store.ts'
import { listRefunds } from './refund-store.ts'
import type { SettleDeps } from './settle.ts'
import { findTransaction, type LockedTransaction, lockTransaction } from './store.ts'

/** The job that looks whether a payment was returned. */
export const checkReturnsJob = 'transactions.returns'
export type CheckReturnsPayload = { merchantId: string; id: string }

/**
 * Books what the acquirer has returned of a payment under MED: its only signal where it tells of no contests. The sum of what it tells is
 * compared with the sum of what is booked, so it may tell the same as often and in as many ways as it likes. Within the caller's commit.
 */
export async function bookReturns(
  tx: Tx,
  row: LockedTransaction,
  payment: Payment,
  now: Date,
): Promise<LockedTransaction> {
  const returns = returnsUnderMed(payment)
  if (returns.length === 0 || row.end_to_end !== payment.endToEndId) return row
  const infractions = await listInfractions(tx, row)
  const booked = infractions.filter(({ state }) => state === 'returned')
  const amount = sumOf(returns) - sumOf(booked)
  if (amount <= 0) return row
  // Its match to this transaction was undone: it is in suspense again, and its returns are suspense's affair.
  if ((await listRefunds(tx, row)).some(({ suspense_payment_id: undone }) => undone !== null)) return row
  const open = infractions.find(isUndecided)
  const references = new Set(infractions.map(({ acquirer_reference }) => acquirer_reference))
  const fresh = returns.find((one) => !references.has(toReference(payment, one)))
  const contest = open
    ? await returnContest(tx, { row, infraction: open }, amount, now)
    : await returnUnannounced(
        tx,
        row,
        { amount, reference: fresh ? toReference(payment, fresh) : null, at: fresh?.at ?? now },
        now,
      )
  return contest.row
}

/** Asks the acquirer whether it has returned a payment under MED, and books it. */
export async function checkReturns(deps: SettleDeps, { merchantId, id }: CheckReturnsPayload): Promise<void> {
  const row = await findTransaction(deps.db, merchantId, id)
  if (!row?.end_to_end) return
  const payment = await deps.acquirers.named(row.acquirer).findPayment(row.end_to_end)
  if (payment) await settleReturns(deps, { merchantId, id, payment })
}

/** The same where the payment is at hand. */
export async function settleReturns(
  deps: SettleDeps,
  { merchantId, id, payment }: { merchantId: string; id: string; payment: Payment },
): Promise<void> {
  if (returnsUnderMed(payment).length === 0) return
  await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, merchantId, id)
    if (row) await bookReturns(tx, row, payment, deps.clock.now())
  })
  deps.nudgeDeliveries()
}

function toReference(payment: Payment, { id }: PaymentReturn): string {
  return `${payment.endToEndId}/${id}`
}

function returnsUnderMed(payment: Payment) {
  return payment.returns.filter(({ isDone, nature }) => isDone && nature.startsWith('MED'))
}

function sumOf(parts: { amount: number }[]): number {
  return parts.reduce((sum, { amount }) => sum + amount, 0)
}
