import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { RecordMoment } from '../webhooks/payload.ts'
import { atSnapshot } from './change.ts'
import type { TransactionWire } from './schema.ts'
import { findTransactions } from './store.ts'
import { toTransactionView } from './view.ts'

/** What GET answered of each transaction at the moment of its event: the `data` of a webhook. */
export async function loadTransactionMoments(db: Db, moments: RecordMoment[]): Promise<TransactionWire[]> {
  const rows = new Map((await findTransactions(db, moments)).map((row) => [row.id, row]))
  return moments.map(({ recordId, snapshot }) => {
    const row = rows.get(recordId)
    assert(row, 'the transaction of an event exists')
    return toTransactionView(atSnapshot(row, snapshot))
  })
}
