import type { Db, Tx } from '../db/sql.ts'
import type { Among } from '../ledger/among-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'
import { findTouched, findUnequalCorrections } from './verify-store.ts'

/** What must hold between differences and the ledger: each correction is the one that somebody has confirmed, to the cent, and once. */
export async function findCorrectionBreaches(db: Db | Tx, among: Among = null): Promise<Breach[]> {
  return (await findUnequalCorrections(db, among)).map((row) => ({
    rule: 'correction_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `the correction of a difference is to change what the acquirer holds by ${row.expected ?? 'nothing'}, and does by ${row.posted ?? 'nothing'}`,
  }))
}

export const correctionVerification: Verification = { findBreaches: findCorrectionBreaches, findTouched }
