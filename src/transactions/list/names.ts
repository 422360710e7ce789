import type { Logger } from 'pino'
import { findSetting, saveSetting } from '../../auth/store.ts'
import { runWithoutTimeout } from '../../db/long-work.ts'
import type { Db } from '../../db/sql.ts'
import type { Clock } from '../../lib/clock.ts'
import { countedAtOnce, countNames, findWrongNames, forgetNames, listCounted, listUncounted } from './name-store.ts'

/**
 * A transaction becomes visible some time after the moment of its creation, which its process takes. One that becomes
 * visible later than this makes lists do without the counted names, until they are verified.
 */
const visibleWithinMs = 2 * 60_000

/** Counts the names of customers, merchant by merchant. After an upgrade it reads all transactions once. */
export async function countAllNames(
  { db, clock, atOnce = countedAtOnce }: { db: Db; clock: Clock; atOnce?: number },
  stopping?: AbortSignal,
): Promise<void> {
  const before = new Date(clock.now().getTime() - visibleWithinMs)
  for (const merchantId of await listUncounted(db, before)) {
    for (let counted = atOnce; counted >= atOnce; ) {
      counted = await countNames(db, merchantId, before, atOnce)
      if (stopping?.aborted) return
    }
  }
}

const verifyEveryMs = 24 * 60 * 60_000
const verifiedSetting = 'names_verified'

/** Verifies the counted names, unless a run finished within the last day. */
export async function verifyNamesDaily(
  { db, clock, log }: { db: Db; clock: Clock; log: Pick<Logger, 'error'> },
  stopping?: AbortSignal,
): Promise<void> {
  const verifiedAt = await findSetting(db, verifiedSetting)
  const sinceMs = verifiedAt === null ? verifyEveryMs : clock.now().getTime() - Date.parse(verifiedAt)
  // A date in the future was written with a wrong clock.
  if (sinceMs >= 0 && sinceMs < verifyEveryMs) return
  await verifyNames(db, log, stopping)
  if (!stopping?.aborted) await saveSetting(db, verifiedSetting, clock.now().toISOString())
}

/**
 * Compares the counted names with the transactions, merchant by merchant. Where they differ, the merchant's names are
 * counted again from the beginning; lists do without them meanwhile. Returns these merchants.
 */
export async function verifyNames(db: Db, log: Pick<Logger, 'error'>, stopping?: AbortSignal): Promise<string[]> {
  const forgotten: string[] = []
  for (const merchantId of await listCounted(db)) {
    const wrong = await runWithoutTimeout(
      db,
      { stopping, readOnly: true },
      async (tx) => await findWrongNames(tx, merchantId),
    ).catch((error: unknown) => {
      if (!stopping?.aborted) log.error({ merchantId, err: error }, 'the names of a merchant could not be verified')
      return []
    })
    if (wrong.length > 0) {
      log.error({ merchantId, wrong }, 'the counted names of a merchant were wrong and are counted again')
      await forgetNames(db, merchantId)
      forgotten.push(merchantId)
    }
    if (stopping?.aborted) break
  }
  return forgotten
}
