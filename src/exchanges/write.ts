import type { Logger } from 'pino'
import type { Exchange } from '../acquirers/record.ts'
import type { Db } from '../db/sql.ts'
import { createBatcher } from '../lib/batch.ts'
import { insertExchanges } from './store.ts'

const batchRowsMax = 200
/** Nobody waits for them. */
const lingerMs = 100
/** Beyond so many that wait the database has other worries: the next ones are dropped. */
const waitingMax = 2_000

/** Keeps exchanges with acquirers as far as that is no trouble: it returns at once, several share a commit, and none is worth an error. */
export function createExchangeWriter({ db, log }: { db: Db; log: Logger }): (exchange: Exchange) => void {
  let waiting = 0
  const insert = createBatcher<Exchange, null>({
    maxBatchSize: batchRowsMax,
    maxConcurrency: 1,
    lingerMs,
    // Not again one by one: whatever it was, it is not worth the time.
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
      .catch((error: unknown) => log.debug({ err: error }, 'an exchange with the acquirer was not kept'))
      .finally(() => {
        waiting -= 1
      })
  }
}
