import type { Db, Tx } from '../db/sql.ts'
import type { RecordFilter } from '../ledger/record-filter-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'
import { findTouched, findUnequalEntries } from './verify-store.ts'

/**
 * What must hold between the operator's entries and the ledger: each has exactly the transfers of its type and
 * amount, and every such transfer has an entry.
 */
export async function findEntryBreaches(db: Db | Tx, filter: RecordFilter = null): Promise<Breach[]> {
  return (await findUnequalEntries(db, filter)).map((row) => ({
    rule: 'entry_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `the entry ${row.type ?? '(missing)'} should have posted ${row.amount ?? 'no'} cents and has posted ${row.posted ?? 'no'}, or its transfers have wrong accounts or another acquirer`,
  }))
}

export const entryVerification: Verification = { findBreaches: findEntryBreaches, findTouched }
