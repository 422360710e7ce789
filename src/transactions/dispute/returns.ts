import type { Payment, PaymentReturn } from '../../acquirers/acquirer.ts'
import type { Tx } from '../../db/sql.ts'
import { refusal } from '../../lib/errors.ts'
import { toTxid } from '../../pix/ids.ts'
import { isAttributionReversed, listRefunds, type RefundRow } from '../refund/store.ts'
import type { SettleDeps } from '../settle.ts'
import { type LockedTransaction, lockTransaction } from '../store.ts'
import { returnUnderMed, settleDisputes } from './steps.ts'
import { insertReturn, listReturns, type ReturnRow } from './store.ts'

/** The job that checks whether a payment was returned. */
export const checkReturnsJob = 'transactions.returns'
export type CheckReturnsPayload = { merchantId: string; id: string }

/**
 * Records what the acquirer has returned of a payment under MED: the only signal from an acquirer that lists no
 * disputes. It compares the sum of the reported returns with the sum of the recorded ones, so the acquirer may report
 * the same returns again later, or with other amounts and ids. Runs in the caller's commit.
 */
export async function recordReturns(
  tx: Tx,
  row: LockedTransaction,
  payment: Payment,
  now: Date,
): Promise<LockedTransaction> {
  const returns = returnsUnderMed(payment)
  if (returns.length === 0 || row.end_to_end !== payment.endToEndId) return row
  const [posted, refunds] = [await listReturns(tx, row), await listRefunds(tx, row)]
  const underMed = posted.filter(({ dispute_id: dispute }) => dispute !== null)
  const amount = sumOf(returns) - sumOf(underMed) - correctedOf({ payment, posted, refunds })
  if (amount <= 0) return row
  // Its attribution to this transaction was reversed: the payment is in the suspense account again, which handles its
  // returns.
  if (isAttributionReversed(refunds)) return row
  const parts = share(amount, returns, { posted, payment, now })
  const [first] = parts
  const reference = first ? `${payment.endToEndId}/${first.reference}` : null
  const taken = await returnUnderMed(tx, row, { amount, reference, at: first?.returned_at ?? now }, now)
  let current = taken.row
  for (const part of parts) current = await insertReturn(tx, current, { ...part, dispute_id: taken.disputeId }, now)
  return await settleDisputes(tx, current, now)
}

/**
 * The part of the returns under MED that is already in the ledger: an operator confirmed it as a discrepancy
 * (reconciliation/decide.ts) before the acquirer reported it as a return under MED. These are the corrected amounts
 * that no other return accounts for.
 */
function correctedOf({
  payment,
  posted,
  refunds,
}: {
  payment: Payment
  posted: ReturnRow[]
  refunds: Pick<RefundRow, 'id' | 'status'>[]
}): number {
  const corrected = sumOf(posted.filter(({ dispute_id: dispute }) => dispute === null))
  // A FAILED refund is not excluded: if the acquirer made it nevertheless, the correction accounts for it.
  const refundIds = new Set(refunds.filter(({ status }) => status !== 'FAILED').map(({ id }) => toTxid(id)))
  const others = payment.returns.filter(
    ({ id, isDone, nature }) => isDone && !nature.startsWith('MED') && !refundIds.has(id.toLowerCase()),
  )
  return Math.max(0, corrected - sumOf(others))
}

/** {@link recordReturns} in a commit of its own, for a payment that was just read. */
export async function settleReturns(
  deps: SettleDeps,
  { merchantId, id, payment }: { merchantId: string; id: string; payment: Payment },
): Promise<void> {
  if (returnsUnderMed(payment).length === 0) return
  await deps.db.transaction(async (tx) => {
    const row = await lockTransaction(tx, merchantId, id)
    if (row) await recordReturns(tx, row, payment, deps.clock.now())
  })
  deps.wakeDeliveries()
}

/**
 * Records a return that the bank made without a dispute and that an operator confirmed: the transaction shows it, and
 * that part can no longer be refunded. Runs in the commit in which the discrepancy is confirmed; returns what to do
 * once the correction is posted.
 *
 * @throws {AppError} `difference_not_possible` when the payment has left the transaction
 */
export async function enterConfirmedReturn(
  tx: Tx,
  {
    merchantId,
    id,
    amount,
    reference,
    at,
  }: { merchantId: string; id: string; amount: number; reference: string; at: Date },
  now: Date,
): Promise<() => Promise<void>> {
  const row = await lockTransaction(tx, merchantId, id)
  if (row?.amount_paid == null) return async () => {}
  if (isAttributionReversed(await listRefunds(tx, row)))
    throw refusal(
      'difference_not_possible',
      'changed',
      'The attribution of the payment to its transaction was reversed meanwhile, so nothing was posted. Run `npx guiche reconcile` to compare again.',
    )
  // A return that the PSP no longer shows. These statuses do not lead back to PAID (status.ts), so only the ledger is
  // corrected.
  if (amount < 0 && (row.status === 'REFUNDED' || row.status === 'INFRACTION')) return async () => {}
  const part = { dispute_id: null, reference, end_to_end: null, amount, returned_at: at }
  const returned = await insertReturn(tx, row, part, now)
  return async () => {
    await settleDisputes(tx, returned, now)
  }
}

type Part = Omit<ReturnRow, 'merchant_id' | 'transaction_id' | 'dispute_id'>

/**
 * The returns that are not recorded yet, up to `amount`. If they sum to less, the rest becomes one more part, without
 * an endToEndId.
 */
function share(
  amount: number,
  returns: PaymentReturn[],
  { posted, payment, now }: { posted: ReturnRow[]; payment: Payment; now: Date },
): Part[] {
  const known = new Set(posted.map(({ reference }) => reference))
  const fresh = new Map(returns.filter(({ id }) => !known.has(id)).map((one) => [one.id, one]))
  let rest = amount
  const parts: Part[] = []
  for (const { id, endToEndId, amount: whole, at } of fresh.values()) {
    const part = Math.min(rest, whole)
    if (part === 0) continue
    rest -= part
    parts.push({ reference: id, end_to_end: endToEndId, amount: part, returned_at: at })
  }
  if (rest > 0) {
    const reference = `${payment.endToEndId}/${sumOf(returns)}`
    parts.push({ reference, end_to_end: null, amount: rest, returned_at: now })
  }
  return parts
}

export function returnsUnderMed(payment: Payment): PaymentReturn[] {
  return payment.returns.filter(({ isDone, nature }) => isDone && nature.startsWith('MED'))
}

function sumOf(parts: { amount: number }[]): number {
  return parts.reduce((sum, { amount }) => sum + amount, 0)
}
