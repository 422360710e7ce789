import type { Db, Tx } from '../../src/db/sql.ts'
import type { Breach, Verification } from '../../src/ledger/verify.ts'
import { findBookedFor } from '../../src/ledger/verify-store.ts'

const always = { from: new Date(0), to: null }

/** What is found by looking at what changed since ever, record by record: the same as by looking at everything. */
export async function findByRecord(db: Db | Tx, verification: Verification): Promise<Breach[]> {
  const known = await findBookedFor(db, always)
  return await verification.findBreaches(db, [...known, ...(await verification.findTouched(db, always, known))])
}

/** For breaches that are found in any order. */
export function byText(breaches: Breach[]): string[] {
  return breaches.map((breach) => JSON.stringify(breach)).toSorted()
}
