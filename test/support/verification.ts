import type { Db, Tx } from '../../src/db/sql.ts'
import type { Breach, Verification } from '../../src/ledger/verify.ts'
import { findPostedFor } from '../../src/ledger/verify-store.ts'

const always = { from: new Date(0), to: null }

/** The breaches that the verification of changed records finds if all records have changed. */
export async function findByRecord(db: Db | Tx, verification: Verification): Promise<Breach[]> {
  const known = await findPostedFor(db, always)
  return await verification.findBreaches(db, [...known, ...(await verification.findTouched(db, always, known))])
}

/** Sorts breaches, which are found in any order. */
export function byText(breaches: Breach[]): string[] {
  return breaches.map((breach) => JSON.stringify(breach)).toSorted()
}
