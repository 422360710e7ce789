import type { Logger } from 'pino'
import type { Db } from '../../db/sql.ts'
import type { Clock } from '../../lib/clock.ts'
import { type CountCorrection, correctCounts, listMerchants } from './count-store.ts'
import { verifyDaily, verifyEach } from './verify.ts'

/** Verifies the counts once a day. */
export async function verifyCountsDaily(
  deps: { db: Db; clock: Clock; log: Pick<Logger, 'error'> },
  stopping: AbortSignal,
): Promise<void> {
  const { db, log } = deps
  const run = { setting: 'counts_verified', stopping }
  await verifyDaily(deps, run, async () => await verifyCounts(db, log, stopping))
}

/**
 * Compares the counts behind the lists' totals with the transactions, merchant by merchant, and corrects differences.
 * None are expected, because the database counts in the commit that writes; a restore without its triggers would
 * cause them.
 */
export async function verifyCounts(
  db: Db,
  log: Pick<Logger, 'error'>,
  stopping?: AbortSignal,
): Promise<(CountCorrection & { merchantId: string })[]> {
  const found: (CountCorrection & { merchantId: string })[] = []
  const failure = 'the transaction counts of a merchant could not be verified'
  const options = { log, failure, readOnly: false, stopping }
  for await (const { merchantId, wrong } of verifyEach(db, await listMerchants(db), options, correctCounts)) {
    log.error(
      { merchantId, corrections: wrong.slice(0, 100) },
      'the transaction counts of a merchant were wrong and have been corrected',
    )
    found.push(...wrong.map((correction) => ({ ...correction, merchantId })))
  }
  return found
}
