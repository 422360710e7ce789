import type { Db } from '../db/sql.ts'
import { createBatcher } from '../lib/batch.ts'
import { setNewest } from '../lib/newest.ts'
import type { TransactionResponse } from './schema.ts'
import type { TransactionStatus } from './status.ts'
import {
  findTransactionVersions,
  findVersionedTransactions,
  type TransactionKey,
  type TransactionRow,
  type Versioned,
} from './store.ts'
import { toTransactionView } from './view.ts'

/** The most transactions that one statement reads. */
const batchReadsMax = 64
/** The most statements at the same time. */
const batchesMax = 2
/** While a statement runs, another one starts only if this many requests wait. */
const minConcurrentBatch = 16
/** With at most 8 kB each: 16 MB. Usually one has 3 kB. */
export const keptMax = 2_000
const keptBytesMax = 8_192
/** Nothing is kept longer: what is erased in the database is soon gone here as well. */
const keptMs = 5 * 60_000

/** Null when the merchant has no such transaction. */
export type TransactionReader = (key: TransactionKey) => Promise<Versioned<TransactionRow> | null>

/** Reads transactions as they are now. */
export function createTransactionReader(db: Db): TransactionReader {
  return batchByKey('find transactions', async (keys) => await findVersionedTransactions(db, keys))
}

/** A transaction as JSON. */
export type WrittenTransaction = { id: string; status: TransactionStatus; json: Buffer }

/**
 * Returns transactions as they are now, as JSON. Shops ask for the same open charge again and again: its JSON is kept,
 * and used as long as the database says that the row has not changed. That costs less than half of reading and writing
 * it again.
 */
export function createTransactionFetcher({ db, readTransaction }: { db: Db; readTransaction: TransactionReader }) {
  const kept = new Map<string, Versioned<WrittenTransaction> & { merchantId: string }>()
  const timer = setInterval(() => kept.clear(), keptMs).unref()
  const findVersion = batchByKey('find versions', async (keys) => await findTransactionVersions(db, keys))

  async function findUnchanged(key: TransactionKey): Promise<WrittenTransaction | null> {
    const id = key.recordId.toLowerCase()
    const known = kept.get(id)
    if (known?.merchantId !== key.merchantId) return null
    if ((await findVersion(key))?.version === known.version) return known
    kept.delete(id)
    return null
  }

  return {
    async fetch(
      key: TransactionKey,
      toJson: (view: TransactionResponse) => string,
    ): Promise<WrittenTransaction | null> {
      const unchanged = await findUnchanged(key)
      if (unchanged) return unchanged
      const row = await readTransaction(key)
      if (row === null) return null
      const { id, status, version } = row
      const written = { id, status, json: Buffer.from(toJson(toTransactionView(row))) }
      // Only while it is open: a paid one shows refunds, disputes and returns, which may change without its row.
      if (status === 'PIX_QRCODE_GENERATED' && written.json.length <= keptBytesMax)
        setNewest(kept, id, { ...written, version, merchantId: key.merchantId }, keptMax)
      return written
    },
    stop: () => clearInterval(timer),
  }
}

/** Requests that arrive while a statement runs are read together by the next one. */
function batchByKey<Row extends Pick<TransactionRow, 'id' | 'merchant_id'>>(
  name: string,
  find: (keys: TransactionKey[]) => Promise<Row[]>,
): (key: TransactionKey) => Promise<Row | null> {
  return createBatcher({
    name,
    maxBatchSize: batchReadsMax,
    maxConcurrency: batchesMax,
    minConcurrentBatch,
    retryIndividually: () => false,
    run: async (keys: TransactionKey[]) => {
      const rows = new Map((await find(keys)).map((row) => [row.id, row]))
      return keys.map(({ merchantId, recordId }) => {
        // An id may be written in capitals, and another merchant may have requested the same id in this batch.
        const row = rows.get(recordId.toLowerCase())
        return row?.merchant_id === merchantId ? row : null
      })
    },
  })
}
