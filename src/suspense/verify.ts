import type { Db, Tx } from '../db/sql.ts'
import type { Among } from '../ledger/among-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'
import { findMisplaced, findTouched, findUnequalTransfers, findUnequalUndoings } from './verify-store.ts'

/**
 * What must hold between payments in suspense and the ledger at any moment: each has exactly the transfers of its
 * history, a reversal takes what its attribution gave, and no payment is both in suspense and posted for a
 * transaction.
 */
export async function findSuspenseBreaches(db: Db | Tx, among: Among = null): Promise<Breach[]> {
  const transfers = (await findUnequalTransfers(db, among)).map((row) => ({
    rule: 'suspense_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.kind} under ${row.event_key} should be ${row.expected ?? 'none'}, and is ${row.posted ?? 'none'}`,
  }))
  const undoings = (await findUnequalUndoings(db, among)).map((row) => ({
    rule: 'match_undone',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `an attribution of ${row.amount} cents was reversed with ${row.undone} cents, with ${row.fee} cents of fee returned`,
  }))
  const misplaced = (await findMisplaced(db, among)).map((row) => ({
    rule: 'suspense_payment_once',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `the payment ${row.end_to_end} is in suspense, and pays another transaction than the one that it is attributed to`,
  }))
  return [...transfers, ...undoings, ...misplaced]
}

export const suspenseVerification: Verification = { findBreaches: findSuspenseBreaches, findTouched }
