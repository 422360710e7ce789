import type { Db } from '../db/sql.ts'
import { createBatcher } from '../lib/batch.ts'
import { setNewest } from '../lib/newest.ts'
import type { TransactionResponse } from './schema.ts'
import type { TransactionStatus } from './status.ts'
import { findTransactions, findTransactionVersions, type TransactionRow, type Versioned } from './store.ts'
import { toTransactionView } from './view.ts'

/** Transactions read per statement, and statements in progress at once. */
const batchReadsMax = 64
const batchesMax = 2
const minConcurrentBatch = 16
/** 3 kB each. */
const keptMax = 4_000

type Key = { merchantId: string; recordId: string }

/** Null when the merchant has no such transaction. */
export type TransactionReader = (key: Key) => Promise<Versioned<TransactionRow> | null>

/** Reads transactions as they are now. */
export function createTransactionReader(db: Db): TransactionReader {
  return batchByKey('find transactions', async (keys) => await findTransactions(db, keys))
}

/** A transaction as JSON. */
export type WrittenTransaction = { id: string; status: TransactionStatus; json: Buffer }

/**
 * Returns transactions as they are now, as JSON. Shops ask for the same open charge again and again: its JSON is kept,
 * and used as long as the database says that the row has not changed. That costs less than half of reading and writing
 * it again.
 */
export function createTransactionFetcher({ db, readTransaction }: { db: Db; readTransaction: TransactionReader }) {
  const kept = new Map<string, Versioned<WrittenTransaction>>()
  const findVersion = batchByKey('find versions', async (keys) => await findTransactionVersions(db, keys))
  return async (key: Key, toJson: (view: TransactionResponse) => string): Promise<WrittenTransaction | null> => {
    const known = kept.get(key.recordId)
    // Another merchant's request finds no version.
    if (known !== undefined && (await findVersion(key))?.version === known.version) return known
    const row = await readTransaction(key)
    if (row === null) return null
    const { id, status, version } = row
    const written = { id, status, version, json: Buffer.from(toJson(toTransactionView(row))) }
    // A paid one shows refunds, disputes and returns, which may change without its row.
    if (row.end_to_end === null) setNewest(kept, key.recordId, written, keptMax)
    return written
  }
}

/** Reads all that is requested during one statement with the next one. */
function batchByKey<Row extends Pick<TransactionRow, 'id' | 'merchant_id'>>(
  name: string,
  find: (keys: Key[]) => Promise<Row[]>,
): (key: Key) => Promise<Row | null> {
  return createBatcher({
    name,
    maxBatchSize: batchReadsMax,
    maxConcurrency: batchesMax,
    minConcurrentBatch,
    retryIndividually: () => false,
    run: async (keys: Key[]) => {
      const rows = new Map((await find(keys)).map((row) => [row.id, row]))
      return keys.map(({ merchantId, recordId }) => {
        // An id may be written in capitals, and another merchant may have requested the same id in this batch.
        const row = rows.get(recordId.toLowerCase())
        return row?.merchant_id === merchantId ? row : null
      })
    },
  })
}
