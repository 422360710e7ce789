import type { Tx } from '../db/sql.ts'
import type { Posting } from '../ledger/post.ts'
import { heldAgain, heldMatched } from '../ledger/transfers.ts'
import { type SuspenseRow, updateSuspense } from './store.ts'

/** What a locked held payment was for is known: gives what is to be posted, together with the payment where it belongs. */
export async function leaveSuspense(
  tx: Tx,
  row: SuspenseRow,
  transaction: { merchantId: string; id: string },
  now: Date,
): Promise<Posting> {
  const set = {
    matched_merchant_id: transaction.merchantId,
    matched_transaction_id: transaction.id,
    error_message: null,
    check_at: null,
  }
  const { statuses } = await updateSuspense(tx, row, { to: 'matched', now, set })
  const eventKey = `suspense:${row.id}:matched:${statuses.length}`
  return { ...postingOf(row, now), eventKey, transfers: heldMatched(row.amount) }
}

/** The match of a locked payment was wrong: it is held again. Gives what is to be posted, together with what takes it from where it was. */
export async function returnToSuspense(tx: Tx, row: SuspenseRow, now: Date): Promise<Posting> {
  const set = { matched_merchant_id: null, matched_transaction_id: null, check_at: null }
  const { statuses } = await updateSuspense(tx, row, { to: 'held', now, set })
  const eventKey = `suspense:${row.id}:undone:${statuses.length}`
  return { ...postingOf(row, now), eventKey, transfers: heldAgain(row.amount) }
}

function postingOf(row: SuspenseRow, now: Date) {
  const { merchant_id: merchantId, id: recordId, acquirer } = row
  return { merchantId, recordType: 'suspense', recordId, acquirer, now } as const
}
