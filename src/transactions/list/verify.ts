import type { Logger } from 'pino'
import { findSetting, saveSetting } from '../../auth/store.ts'
import { runWithoutTimeout } from '../../db/long-work.ts'
import type { Db, Tx } from '../../db/sql.ts'
import type { Clock } from '../../lib/clock.ts'

/** Not at each start of a process, because a verification reads whole tables. */
const verifyEveryMs = 24 * 60 * 60_000

/**
 * Runs `verify`, unless a run finished within the last 24 hours, in any process. An interrupted run starts again with
 * the next process.
 *
 * @param setting keeps when the last run finished
 */
export async function verifyDaily(
  { db, clock }: { db: Db; clock: Clock },
  { setting, stopping }: { setting: string; stopping: AbortSignal | undefined },
  verify: () => Promise<unknown>,
): Promise<void> {
  const verifiedAt = await findSetting(db, setting)
  const sinceMs = verifiedAt === null ? verifyEveryMs : clock.now().getTime() - Date.parse(verifiedAt)
  // A date in the future was written with a wrong clock.
  if (sinceMs >= 0 && sinceMs < verifyEveryMs) return
  await verify()
  if (!stopping?.aborted) await saveSetting(db, setting, clock.now().toISOString())
}

/**
 * Verifies merchant by merchant, and yields those where something is wrong, with what it is. A merchant that cannot be
 * verified is logged with `failure`, and does not stop the others.
 */
export async function* verifyEach<Wrong>(
  db: Db,
  merchantIds: string[],
  options: { log: Pick<Logger, 'error'>; failure: string; readOnly: boolean; stopping: AbortSignal | undefined },
  verify: (tx: Tx, merchantId: string) => Promise<Wrong[]>,
): AsyncGenerator<{ merchantId: string; wrong: Wrong[] }> {
  const { log, failure, readOnly, stopping } = options
  for (const merchantId of merchantIds) {
    const work = async (tx: Tx) => await verify(tx, merchantId)
    const wrong = await runWithoutTimeout(db, { stopping, readOnly }, work).catch((error: unknown): Wrong[] => {
      if (!stopping?.aborted) log.error({ merchantId, err: error }, failure)
      return []
    })
    if (wrong.length > 0) yield { merchantId, wrong }
    if (stopping?.aborted) return
  }
}
