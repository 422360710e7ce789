import type { Logger } from 'pino'
import { findSetting, saveSetting } from '../../auth/store.ts'
import { runWithoutTimeout } from '../../db/long-work.ts'
import type { Db } from '../../db/sql.ts'
import type { Clock } from '../../lib/clock.ts'
import { type CountCorrection, correctCounts, listMerchants } from './count-store.ts'

/** How often every merchant is counted again. Not at each start of a process, because it reads the whole table. */
const verifyEveryMs = 24 * 60 * 60_000
/** When the last run finished, in any process. */
const verifiedSetting = 'counts_verified'

/**
 * Verifies the counts, unless a run finished within the last day. An interrupted run starts again with the next
 * process.
 */
export async function verifyCountsDaily(
  { db, clock, log }: { db: Db; clock: Clock; log: Pick<Logger, 'error'> },
  stopping: AbortSignal,
): Promise<void> {
  const verifiedAt = await findSetting(db, verifiedSetting)
  const sinceMs = verifiedAt === null ? verifyEveryMs : clock.now().getTime() - Date.parse(verifiedAt)
  // A date in the future was written with a wrong clock.
  if (sinceMs >= 0 && sinceMs < verifyEveryMs) return
  await verifyCounts(db, log, stopping)
  if (!stopping.aborted) await saveSetting(db, verifiedSetting, clock.now().toISOString())
}

/**
 * Compares the counts behind the lists' totals with the transactions, merchant by merchant, and corrects differences.
 * None are expected, because the database counts in the commit that writes; a restore without its triggers would
 * cause them. A merchant that cannot be counted is logged, and does not stop the others.
 */
export async function verifyCounts(
  db: Db,
  log: Pick<Logger, 'error'>,
  stopping?: AbortSignal,
): Promise<(CountCorrection & { merchantId: string })[]> {
  const found: (CountCorrection & { merchantId: string })[] = []
  for (const merchantId of await listMerchants(db)) {
    const corrections = await runWithoutTimeout(
      db,
      { stopping, readOnly: false },
      async (tx) => await correctCounts(tx, merchantId),
    ).catch((error: unknown) => {
      if (!stopping?.aborted)
        log.error({ merchantId, err: error }, 'the transaction counts of a merchant could not be verified')
      return []
    })
    if (corrections.length > 0) {
      log.error(
        { merchantId, corrections: corrections.slice(0, 100) },
        'the transaction counts of a merchant were wrong and have been corrected',
      )
      found.push(...corrections.map((correction) => ({ ...correction, merchantId })))
    }
    if (stopping?.aborted) break
  }
  return found
}
