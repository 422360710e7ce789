import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { createBatcher } from '../lib/batch.ts'
import type { RecordVersion } from '../webhooks/payload.ts'
import { versionAt } from './change.ts'
import type { TransactionResponse } from './schema.ts'
import { findTransactions, type TransactionRow } from './store.ts'
import { toTransactionView } from './view.ts'

/** Transactions read per statement, and statements in progress at once. */
const batchReadsMax = 64
const batchesMax = 2
const minConcurrentBatch = 16

export type TransactionReader = (key: { merchantId: string; recordId: string }) => Promise<TransactionRow | null>

/**
 * Reads all transactions requested during one statement with the next one. Null when the merchant has no such
 * transaction.
 */
export function createTransactionReader(db: Db): TransactionReader {
  return createBatcher({
    maxBatchSize: batchReadsMax,
    maxConcurrency: batchesMax,
    minConcurrentBatch,
    retryIndividually: () => false,
    run: async (keys: Parameters<TransactionReader>[0][]) => {
      const rows = new Map((await findTransactions(db, keys)).map((row) => [row.id, row]))
      return keys.map(({ merchantId, recordId }) => {
        // An id may be written in capitals, and another merchant may have requested the same id in this batch.
        const row = rows.get(recordId.toLowerCase())
        return row?.merchant_id === merchantId ? row : null
      })
    },
  })
}

/** What GET returned for each transaction at the moment of its event: the `data` of a webhook. */
export async function loadTransactionVersions(db: Db, versions: RecordVersion[]): Promise<TransactionResponse[]> {
  const rows = new Map((await findTransactions(db, versions)).map((row) => [row.id, row]))
  return versions.map(({ recordId, snapshot }) => {
    const row = rows.get(recordId)
    assert(row, 'the transaction of an event exists')
    return toTransactionView(versionAt(row, snapshot))
  })
}
