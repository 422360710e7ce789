import type { Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { changeStatus } from './change.ts'
import { listRefunds, type RefundRow, type RefundStatus } from './refund-store.ts'
import type { ChangedTransaction, LockedTransaction } from './store.ts'

/**
 * Moves a locked transaction to where its refunds say that it belongs: when one has ended, and when a contest has. A refund may end
 * while the transaction is contested, and then shows only once the contest is over.
 */
export async function moveByRefunds(tx: Tx, row: LockedTransaction, now: Date): Promise<ChangedTransaction> {
  const refunds = await listRefunds(tx, row)
  const move = async (from: LockedTransaction, to: 'PROCESSING_REFUND' | 'REFUNDED' | 'PAID', error: string | null) =>
    await changeStatus(tx, from, { to, now, checkAt: null, set: { error_message: error } })
  if (sumOf(refunds, 'PROCESSING') > 0) return await move(row, 'PROCESSING_REFUND', null)
  const last = refunds.at(-1)
  if (leftOf(row, refunds, 'REFUNDED') > 0) return await move(row, 'PAID', last?.error_message ?? null)
  // By way of the refund: from a contest nothing leads straight to REFUNDED.
  const refunding = row.status === 'PROCESSING_REFUND' ? row : await move(row, 'PROCESSING_REFUND', null)
  return await move(refunding, 'REFUNDED', null)
}

/** What of a payment is not in refunds of these statuses. */
export function leftOf(
  row: Pick<LockedTransaction, 'amount_paid'>,
  refunds: Pick<RefundRow, 'amount' | 'status'>[],
  ...statuses: RefundStatus[]
): number {
  assert(row.amount_paid !== null, 'what is refunded was paid')
  return row.amount_paid - sumOf(refunds, ...statuses)
}

function sumOf(refunds: Pick<RefundRow, 'amount' | 'status'>[], ...statuses: RefundStatus[]): number {
  return refunds.filter(({ status }) => statuses.includes(status)).reduce((sum, { amount }) => sum + amount, 0)
}
