import type { Payment } from '../acquirers/acquirer.ts'
import type { Tx } from '../db/sql.ts'
import type { Posting } from '../ledger/post.ts'
import { returnedFromSuspense } from '../ledger/transfers.ts'
import { toTxid } from '../pix/ids.ts'
import { type SuspenseRow, updateSuspense } from './store.ts'

/**
 * Records returns of a locked payment in suspense that Guichê did not request: returns under MED, and those that a
 * person made at the acquirer. It records the difference between the reported and the recorded sum, so the same payment
 * may be reported any number of times. Returns what to post.
 */
export async function takeReturns(tx: Tx, row: SuspenseRow, payment: Payment, now: Date): Promise<Posting[]> {
  // The transaction of an attributed payment handles its returns.
  if (row.status !== 'held' && row.status !== 'returning') return []
  const taken = Math.min(row.amount, takenOf(payment, row.return_id))
  const more = taken - row.taken_amount
  if (more <= 0) return []
  const isGone = taken === row.amount
  await updateSuspense(tx, row, {
    to: isGone ? 'returned' : row.status,
    now,
    set: {
      taken_amount: taken,
      // Nothing is left that our own return could send.
      ...(isGone && { return_id: null, return_amount: null, error_message: null }),
      check_at: isGone ? null : row.check_at,
    },
  })
  return [
    {
      merchantId: row.merchant_id,
      eventKey: `suspense:${row.id}:taken:${taken}`,
      recordType: 'suspense',
      recordId: row.id,
      acquirer: row.acquirer,
      now,
      transfers: returnedFromSuspense(more),
    },
  ]
}

/** What was certainly returned, other than by our own return. */
export function takenOf(payment: Payment, returnId: string | null): number {
  const ownReturnId = returnId === null ? null : toTxid(returnId)
  return payment.returns
    .filter(({ id, isDone }) => isDone && id.toLowerCase() !== ownReturnId)
    .reduce((sum, { amount }) => sum + amount, 0)
}
