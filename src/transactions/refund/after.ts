import type { Tx } from '../../db/sql.ts'
import { assert } from '../../lib/assert.ts'
import { changeStatus } from '../change.ts'
import type { DisputeRow } from '../dispute/store.ts'
import type { TransactionStatus } from '../status.ts'
import type { LockedTransaction } from '../store.ts'
import type { RefundRow, RefundStatus } from './store.ts'

/** What decides the status of a paid transaction. */
export type RefundsAndDisputes = { refunds: RefundRow[]; disputes: DisputeRow[] }

/**
 * Moves a locked transaction to the status that its refunds and disputes imply. A refund may end while the
 * transaction is disputed; its status shows only once the dispute is over.
 */
export async function moveToImpliedStatus<Row extends LockedTransaction>(
  tx: Tx,
  row: Row,
  lists: RefundsAndDisputes,
  now: Date,
): Promise<LockedTransaction> {
  const to = statusBy(row, lists)
  if (to === row.status) return row
  const error = toErrorMessage(row, to, lists.refunds)
  const via = wayTo(row.status, to)
  const from = via ? await changeStatus(tx, row, { to: via, now, checkAt: null, set: {} }) : row
  return await changeStatus(tx, from, { to, now, checkAt: null, set: { error_message: error } })
}

/**
 * As long as part of the payment is left, an undecided dispute decides the status, an accepted one before an open
 * one. INFRACTION: a dispute was lost, or nothing of the payment is left and a part of it was returned under MED.
 */
function statusBy(row: LockedTransaction, { refunds, disputes }: RefundsAndDisputes): TransactionStatus {
  const left = leftOf(row, refunds, 'REFUNDED')
  if (left > 0 && disputes.some(({ state }) => state === 'accepted')) return 'PROCESSING_INFRACTION'
  if (left > 0 && disputes.some(({ state }) => state === 'open')) return 'BLOCKED'
  if (refunds.some(({ status }) => status === 'PROCESSING')) return 'PROCESSING_REFUND'
  const isLost = disputes.some(({ state, source }) => state === 'returned' && source !== 'return')
  const isReturned = disputes.some(({ returned_amount: returned }) => returned > 0)
  if (isLost || (isReturned && left === 0)) return 'INFRACTION'
  return left === 0 ? 'REFUNDED' : 'PAID'
}

/**
 * Statuses without a direct transition: a dispute does not lead straight to REFUNDED, and a decided dispute must have
 * been BLOCKED first.
 */
function wayTo(from: TransactionStatus, to: TransactionStatus): TransactionStatus | null {
  if (to === 'REFUNDED' && from !== 'PROCESSING_REFUND') return 'PROCESSING_REFUND'
  if (to === 'PROCESSING_INFRACTION' && from !== 'BLOCKED') return 'BLOCKED'
  return null
}

/** The error of a refused refund, once no refund or dispute is in progress. */
function toErrorMessage(row: LockedTransaction, to: TransactionStatus, refunds: RefundRow[]): string | null {
  if (to === 'BLOCKED' || to === 'PROCESSING_INFRACTION') return row.error_message
  return to === 'PAID' || to === 'INFRACTION' ? (refunds.at(-1)?.error_message ?? null) : null
}

/** The part of a payment that was returned neither by the banks nor in refunds of these statuses. */
export function leftOf(
  row: Pick<LockedTransaction, 'amount_paid' | 'amount_returned'>,
  refunds: Pick<RefundRow, 'amount' | 'status'>[],
  ...statuses: RefundStatus[]
): number {
  assert(row.amount_paid !== null, 'what is refunded was paid')
  return Math.max(0, row.amount_paid - row.amount_returned - sumOf(refunds, ...statuses))
}

/** The sum of refunds with these statuses. */
export function sumOf(refunds: Pick<RefundRow, 'amount' | 'status'>[], ...statuses: RefundStatus[]): number {
  return refunds.filter(({ status }) => statuses.includes(status)).reduce((sum, { amount }) => sum + amount, 0)
}
