import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { findSetting, saveSetting } from '../auth/store.ts'
import { workLong } from '../db/long-work.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { type CountCorrection, correctCounts, listMerchants } from './count-store.ts'

/** Pauses between two merchants, as a multiple of what the last one took: it is in no hurry, and payments are. */
const pauseFactor = 9

/** Every merchant is counted again this often, and not at each start of a process: it reads the whole table. */
const verifyEveryMs = 24 * 60 * 60_000
/** When the last run came to its end, in whatever process. */
const verifiedSetting = 'counts_verified'

/** Verifies the counts, unless that was done within a day. A run that is cut short begins again with the next process. */
export async function verifyCountsDaily(
  { db, clock, log }: { db: Db; clock: Clock; log: Pick<Logger, 'error'> },
  stopping: AbortSignal,
): Promise<void> {
  const verifiedAt = await findSetting(db, verifiedSetting)
  const sinceMs = verifiedAt === null ? verifyEveryMs : clock.now().getTime() - Date.parse(verifiedAt)
  // One in the future is of a clock that was wrong.
  if (sinceMs >= 0 && sinceMs < verifyEveryMs) return
  await verifyCounts(db, log, stopping)
  if (!stopping.aborted) await saveSetting(db, verifiedSetting, clock.now().toISOString())
}

/**
 * Compares the counts that the lists' totals come from with the transactions, merchant by merchant, and puts right what differs. Nothing
 * ever should: the database counts in the commit that writes. It would after a restore without its triggers. A merchant that cannot be
 * counted is told in the log, and keeps nobody else from it.
 */
export async function verifyCounts(
  db: Db,
  log: Pick<Logger, 'error'>,
  stopping?: AbortSignal,
): Promise<(CountCorrection & { merchantId: string })[]> {
  const found: (CountCorrection & { merchantId: string })[] = []
  for (const merchantId of await listMerchants(db)) {
    const startedAt = performance.now()
    const corrections = await workLong(
      db,
      { stopping, readOnly: false },
      async (tx) => await correctCounts(tx, merchantId),
    ).catch((error: unknown) => {
      if (!stopping?.aborted) log.error({ merchantId, err: error }, 'the totals of a list could not be verified')
      return []
    })
    if (corrections.length > 0) {
      log.error(
        { merchantId, corrections: corrections.slice(0, 100) },
        'the totals of a list were wrong, and are corrected',
      )
      found.push(...corrections.map((correction) => ({ ...correction, merchantId })))
    }
    await sleep((performance.now() - startedAt) * pauseFactor, null, { signal: stopping }).catch(() => null)
    if (stopping?.aborted) break
  }
  return found
}
