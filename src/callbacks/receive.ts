import type { CallbackNotice } from '../acquirers/acquirer.ts'
import { type Db, mayBeOneRowsFault } from '../db/sql.ts'
import { createBatcher } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import { type InboxRow, insertNotices, type NewNotice } from './store.ts'

/**
 * How long a notice is leased to the process that stored it. A check nearly always takes less; if one takes longer,
 * another process checks too, and the second finds it done.
 */
export const leaseMs = 10_000
/** Callbacks in one commit, and commits in progress at once. Most callbacks announce one payment. */
const batchCallbacksMax = 128
const batchesMax = 2
const minConcurrentBatch = 4
/**
 * Callbacks that come closer together share a commit, and then also the queries and commits that follow. With it and
 * the simulated bank's own interval, 1,000 creates a second with one in ten paid cost 1.22 ms of processor time each,
 * instead of 1.37.
 */
const intervalMs = 15
/**
 * At most this many notices of one callback are in one commit: otherwise a callback with thousands would delay all
 * others.
 */
const partMax = 500

export type ReceiveDeps = {
  /** Stores a callback's notices, and returns those that are new. */
  keepNotices: (notices: NewNotice[]) => Promise<InboxRow[]>
  /** Works on stored notices. If any are lost here, they are claimed when their lease ends. */
  workOn: (notices: InboxRow[]) => void
}

/**
 * Stores a callback, which may be answered once this resolves, and starts work on its new notices. If it is
 * interrupted between parts, the acquirer repeats the callback.
 */
export async function receiveCallback(
  deps: ReceiveDeps,
  { acquirer, notices }: { acquirer: string; notices: CallbackNotice[] },
): Promise<void> {
  for (let start = 0; start < notices.length; start += partMax) {
    const part = notices.slice(start, start + partMax)
    deps.workOn(await deps.keepNotices(part.map((notice) => ({ ...notice, acquirer }))))
  }
}

/** One commit for all callbacks that arrive while another commit is in progress, or within the interval. */
export function createNoticeWriter({
  db,
  clock,
  instance,
}: {
  db: Db
  clock: Clock
  instance: number
}): ReceiveDeps['keepNotices'] {
  return createBatcher({
    name: 'keep notices',
    maxBatchSize: batchCallbacksMax,
    maxConcurrency: batchesMax,
    minConcurrentBatch,
    intervalMs,
    retryIndividually: mayBeOneRowsFault,
    run: async (callbacks: NewNotice[][]) => {
      const now = clock.now()
      const leaseUntil = new Date(now.getTime() + leaseMs)
      const kept = await insertNotices(db, callbacks.flat(), { now, leaseUntil, instance })
      const fresh = new Map(kept.map((row) => [toKey(row.acquirer, row.event_key), row]))
      // A notice that two callbacks contain is returned to the first of them only.
      const take = (key: string): InboxRow[] => {
        const row = fresh.get(key)
        fresh.delete(key)
        return row ? [row] : []
      }
      return callbacks.map((notices) => notices.flatMap((one) => take(toKey(one.acquirer, one.eventKey))))
    },
  })
}

/** The key of an inbox row: its primary key as text. */
export function toKey(acquirer: string, eventKey: string): string {
  return `${acquirer} ${eventKey}`
}
