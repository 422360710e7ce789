import type { Db, Tx } from '../db/sql.ts'
import type { Among } from '../ledger/among-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'
import { findMisplaced, findTouched, findUnequalCorrections } from './verify-store.ts'

/**
 * What must hold between differences and the ledger: each correction is the one that somebody has confirmed, to the cent, and once; and every
 * transfer with an acquirer is with that of its record.
 */
export async function findCorrectionBreaches(db: Db | Tx, among: Among = null): Promise<Breach[]> {
  const misplaced = (await findMisplaced(db, among)).map((row) => ({
    rule: 'clearing_account',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `a transfer is with ${row.account}, and the acquirer of its record is ${row.acquirer}`,
  }))
  const unequal = (await findUnequalCorrections(db, among)).map((row) => ({
    rule: 'correction_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `the correction of a difference is to change what the acquirer holds by ${row.expected ?? 'nothing'}, and does by ${row.posted ?? 'nothing'}`,
  }))
  return [...misplaced, ...unequal]
}

export const correctionVerification: Verification = { findBreaches: findCorrectionBreaches, findTouched }
