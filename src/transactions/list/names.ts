import type { Logger } from 'pino'
import type { Db } from '../../db/sql.ts'
import type { Clock } from '../../lib/clock.ts'
import { countedAtOnce, countNames, findWrongNames, forgetNames, listCounted, listUncounted } from './name-store.ts'
import { verifyDaily, verifyEach } from './verify.ts'

/**
 * The time of creation is taken before the commit that makes a transaction visible. One that becomes visible later than
 * this makes lists do without the counted names, until they are verified.
 */
const visibleWithinMs = 2 * 60_000

/** Counts the names of customers, merchant by merchant. After an upgrade it reads all transactions once. */
export async function countAllNames(
  { db, clock, atOnce = countedAtOnce }: { db: Db; clock: Clock; atOnce?: number },
  stopping?: AbortSignal,
): Promise<void> {
  const before = new Date(clock.now().getTime() - visibleWithinMs)
  for (const merchantId of await listUncounted(db, before)) {
    for (let isMore = true; isMore; ) {
      isMore = await countNames(db, merchantId, before, atOnce)
      if (stopping?.aborted) return
    }
  }
}

/** Verifies the counted names once a day. */
export async function verifyNamesDaily(
  deps: { db: Db; clock: Clock; log: Pick<Logger, 'error'> },
  stopping?: AbortSignal,
): Promise<void> {
  const { db, log } = deps
  await verifyDaily(deps, { setting: 'names_verified', stopping }, async () => await verifyNames(db, log, stopping))
}

/**
 * Compares the counted names with the transactions, merchant by merchant. Where they differ, the merchant's names are
 * counted again from the beginning; lists do without them meanwhile. Returns these merchants.
 */
export async function verifyNames(db: Db, log: Pick<Logger, 'error'>, stopping?: AbortSignal): Promise<string[]> {
  const forgotten: string[] = []
  const failure = 'the names of a merchant could not be verified'
  const options = { log, failure, readOnly: true, stopping }
  for await (const { merchantId, wrong } of verifyEach(db, await listCounted(db), options, findWrongNames)) {
    log.error({ merchantId, wrong }, 'the counted names of a merchant were wrong and are counted again')
    await forgetNames(db, merchantId)
    forgotten.push(merchantId)
  }
  return forgotten
}
