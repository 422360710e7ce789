import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { createBatcher } from '../lib/batch.ts'
import type { RecordMoment } from '../webhooks/payload.ts'
import { atSnapshot } from './change.ts'
import type { TransactionWire } from './schema.ts'
import { findTransactions, type TransactionRow } from './store.ts'
import { toTransactionView } from './view.ts'

/** Read in one statement, and statements under way at once. */
const batchReadsMax = 64
const batchesMax = 2
const minConcurrentBatch = 16

export type TransactionReader = (key: { merchantId: string; recordId: string }) => Promise<TransactionRow | null>

/** One statement for all that is asked for while another is under way. Null where the merchant has no such transaction. */
export function createTransactionReader(db: Db): TransactionReader {
  return createBatcher({
    maxBatchSize: batchReadsMax,
    maxConcurrency: batchesMax,
    minConcurrentBatch,
    retryIndividually: () => false,
    run: async (keys: Parameters<TransactionReader>[0][]) => {
      const rows = new Map((await findTransactions(db, keys)).map((row) => [row.id, row]))
      return keys.map(({ merchantId, recordId }) => {
        // An id may be written in capitals; and another merchant may have asked for the same one in this very batch.
        const row = rows.get(recordId.toLowerCase())
        return row?.merchant_id === merchantId ? row : null
      })
    },
  })
}

/** What GET answered of each transaction at the moment of its event: the `data` of a webhook. */
export async function loadTransactionMoments(db: Db, moments: RecordMoment[]): Promise<TransactionWire[]> {
  const rows = new Map((await findTransactions(db, moments)).map((row) => [row.id, row]))
  return moments.map(({ recordId, snapshot }) => {
    const row = rows.get(recordId)
    assert(row, 'the transaction of an event exists')
    return toTransactionView(atSnapshot(row, snapshot))
  })
}
