import type { Db, Tx } from '../db/sql.ts'
import type { Among } from '../ledger/among-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'
import { findMisplaced, findTouched, findUnequalCorrections } from './verify-store.ts'

/**
 * Checks the ledger against discrepancies: each correction was confirmed by a person, is exact to the cent and posted
 * once; and every transfer with an acquirer's account is with the acquirer of its record.
 */
export async function findCorrectionBreaches(db: Db | Tx, among: Among = null): Promise<Breach[]> {
  const misplaced = (await findMisplaced(db, among)).map((row) => ({
    rule: 'clearing_account',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `a transfer uses ${row.account}, but the acquirer of its record is ${row.acquirer}`,
  }))
  const unequal = (await findUnequalCorrections(db, among)).map((row) => ({
    rule: 'correction_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `the correction of a discrepancy must change the acquirer’s balance by ${row.expected ?? 'nothing'}, but changed it by ${row.posted ?? 'nothing'}`,
  }))
  return [...misplaced, ...unequal]
}

export const correctionVerification: Verification = { findBreaches: findCorrectionBreaches, findTouched }
