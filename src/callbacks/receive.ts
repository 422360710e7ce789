import type { CallbackNotice } from '../acquirers/acquirer.ts'
import { type Db, mayBeOneRowsFault } from '../db/sql.ts'
import { createBatcher } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import { type InboxRow, insertNotices, type NewNotice } from './store.ts'

/**
 * For so long a notice is its process' own, from the commit that keeps it. Longer than a look nearly always takes; when it does take
 * longer, somebody else looks as well, and the second to know finds it done.
 */
export const leaseMs = 10_000
/** Callbacks in one commit, and commits under way at once. Most callbacks tell of one payment. */
const batchCallbacksMax = 128
const batchesMax = 2
const minConcurrentBatch = 16
const lingerMs = 3
/** Of one callback in one commit: one that tells of thousands would else keep all that are told meanwhile waiting. */
const partMax = 500

export type ReceiveDeps = {
  /** Keeps a callback's notices and gives those that are new. */
  keepNotices: (notices: NewNotice[]) => Promise<InboxRow[]>
  /** Works on notices that were kept. What is lost of them on the way is found when their lease is over. */
  workOn: (notices: InboxRow[]) => void
}

/** Keeps a callback, which may be answered once this resolves, and has what is new of it worked on. Cut between parts, it is told again. */
export async function receiveCallback(
  deps: ReceiveDeps,
  { acquirer, notices }: { acquirer: string; notices: CallbackNotice[] },
): Promise<void> {
  for (let start = 0; start < notices.length; start += partMax) {
    const part = notices.slice(start, start + partMax)
    deps.workOn(await deps.keepNotices(part.map((notice) => ({ ...notice, acquirer }))))
  }
}

/** One commit for all callbacks that arrive while another commit is under way. */
export function createNoticeWriter({ db, clock }: { db: Db; clock: Clock }): ReceiveDeps['keepNotices'] {
  return createBatcher({
    maxBatchSize: batchCallbacksMax,
    maxConcurrency: batchesMax,
    minConcurrentBatch,
    lingerMs,
    retryIndividually: mayBeOneRowsFault,
    run: async (callbacks: NewNotice[][]) => {
      const now = clock.now()
      const leaseUntil = new Date(now.getTime() + leaseMs)
      const kept = await insertNotices(db, callbacks.flat(), { now, leaseUntil })
      const fresh = new Map(kept.map((row) => [toKey(row.acquirer, row.event_key), row]))
      // What two callbacks tell of is given to the first of them only.
      const take = (key: string): InboxRow[] => {
        const row = fresh.get(key)
        fresh.delete(key)
        return row ? [row] : []
      }
      return callbacks.map((notices) => notices.flatMap((one) => take(toKey(one.acquirer, one.eventKey))))
    },
  })
}

/** A row of the inbox, by its primary key. */
export function toKey(acquirer: string, eventKey: string): string {
  return `${acquirer} ${eventKey}`
}
