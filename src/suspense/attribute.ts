import type { Tx } from '../db/sql.ts'
import type { Posting } from '../ledger/post.ts'
import { attributed, attributionReversed } from '../ledger/transfers.ts'
import { type SuspenseRow, updateSuspense } from './store.ts'

/**
 * Attributes a locked payment in suspense. Returns the posting that takes it out of suspense; the caller posts it in
 * the same commit as the payment of the transaction.
 */
export async function leaveSuspense(
  tx: Tx,
  row: SuspenseRow,
  transaction: { merchantId: string; id: string },
  now: Date,
): Promise<Posting> {
  const set = {
    attributed_merchant_id: transaction.merchantId,
    attributed_transaction_id: transaction.id,
    error_message: null,
    check_at: null,
  }
  const { statuses } = await updateSuspense(tx, row, { to: 'matched', now, set })
  const eventKey = `suspense:${row.id}:matched:${statuses.length}`
  return { ...toPosting(row, now), eventKey, transfers: attributed(row.amount) }
}

/**
 * Reverses the attribution of a locked payment, which is then in suspense again. Returns the posting that puts it
 * there; the caller posts it in the same commit as the transfers that take it from the transaction.
 */
export async function returnToSuspense(tx: Tx, row: SuspenseRow, now: Date): Promise<Posting> {
  const set = { attributed_merchant_id: null, attributed_transaction_id: null, check_at: null }
  const { statuses } = await updateSuspense(tx, row, { to: 'held', now, set })
  const eventKey = `suspense:${row.id}:undone:${statuses.length}`
  return { ...toPosting(row, now), eventKey, transfers: attributionReversed(row.amount) }
}

function toPosting(row: SuspenseRow, now: Date) {
  const { merchant_id: merchantId, id: recordId, acquirer } = row
  return { merchantId, recordType: 'suspense', recordId, acquirer, now } as const
}
