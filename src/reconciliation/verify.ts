import type { Db, Tx } from '../db/sql.ts'
import type { Breach } from '../ledger/verify.ts'
import { findUnequalCorrections } from './verify-store.ts'

/** What must hold between differences and the ledger: each correction is the one that somebody has confirmed, to the cent, and once. */
export async function findCorrectionBreaches(db: Db | Tx): Promise<Breach[]> {
  return (await findUnequalCorrections(db)).map((row) => ({
    rule: 'correction_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `the correction of a difference is to change what the acquirer holds by ${row.expected ?? 'nothing'}, and does by ${row.posted ?? 'nothing'}`,
  }))
}
