import type { Db, Tx } from '../db/sql.ts'
import type { Among } from '../ledger/among-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'
import { findMisplaced, findTouched, findUnequalTransfers, findUnequalUndoings } from './verify-store.ts'

/**
 * What must hold between payments in suspense and the ledger, at any moment: each has exactly the transfers of its history, what a match
 * gave its undoing took, and none is held here and booked for a transaction as well.
 */
export async function findSuspenseBreaches(db: Db | Tx, among: Among = null): Promise<Breach[]> {
  const transfers = (await findUnequalTransfers(db, among)).map((row) => ({
    rule: 'suspense_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.kind} under ${row.event_key} is to be ${row.expected ?? 'none'}, and is ${row.posted ?? 'none'}`,
  }))
  const undoings = (await findUnequalUndoings(db, among)).map((row) => ({
    rule: 'match_undone',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `a match of ${row.amount} cents was undone by ${row.undone} cents, with ${row.fee} cents of fee given back`,
  }))
  const misplaced = (await findMisplaced(db, among)).map((row) => ({
    rule: 'suspense_payment_once',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `the payment ${row.end_to_end} is in suspense, and pays another transaction than the one that it is matched to`,
  }))
  return [...transfers, ...undoings, ...misplaced]
}

export const suspenseVerification: Verification = { findBreaches: findSuspenseBreaches, findTouched }
