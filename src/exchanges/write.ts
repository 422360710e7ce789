import type { Logger } from 'pino'
import type { Exchange } from '../acquirers/record.ts'
import type { Db } from '../db/sql.ts'
import { createBatcher } from '../lib/batch.ts'
import { insertExchanges } from './store.ts'

const batchRowsMax = 200
/** No caller waits for the insert: several exchanges share it even when they are few. */
const intervalMs = 250
/** With this many waiting the database is overloaded: further exchanges are dropped. */
const waitingMax = 2_000

/**
 * Records exchanges with acquirers, best effort: it returns at once, several share a commit, and a failure is logged at
 * `debug`.
 */
export function createExchangeWriter({ db, log }: { db: Db; log: Logger }): (exchange: Exchange) => void {
  let waiting = 0
  const insert = createBatcher<Exchange, null>({
    name: 'exchanges',
    maxBatchSize: batchRowsMax,
    maxConcurrency: 1,
    intervalMs,
    // A failed batch is not retried one by one: the rows are not worth the time.
    retryIndividually: () => false,
    run: async (exchanges) => {
      await insertExchanges(db, exchanges)
      return exchanges.map(() => null)
    },
  })
  return (exchange) => {
    if (waiting >= waitingMax) return
    waiting += 1
    insert(exchange)
      .catch((error: unknown) => log.debug({ err: error }, 'an exchange with the acquirer was not recorded'))
      .finally(() => {
        waiting -= 1
      })
  }
}
