import type { FastifyBaseLogger } from 'fastify'
import type { Db } from '../db/sql.ts'
import { createPolling } from '../lib/polling.ts'
import { findFeeds } from './feed-store.ts'

/** A reader notices no delay, and the database has one statement each time for all readers of this process. */
const pollEveryMs = 200
/** Each waiting request is an open connection: at most a fifth of those of a process (http/server.ts) wait. */
const limitsDefault = { totalMax: 2_000, perMerchantMax: 20 }

export type FeedWatch = {
  /**
   * True when the merchant has an event after this number, or one without a number yet. False after `ms`, if too many
   * requests wait, if the client disconnects (`signal`), or if the service stops.
   */
  wait(feed: { merchantId: string; after: number }, limits: { ms: number; signal: AbortSignal }): Promise<boolean>
  /** Ends all waits for good. */
  stop(): Promise<void>
}

type Waiting = { merchantId: string; after: number; end: (hasNew: boolean) => void }

/** Lets requests wait for events, whichever process commits them. */
export function createFeedWatch({ db, log }: { db: Db; log: FastifyBaseLogger }, limits = limitsDefault): FeedWatch {
  const waiting = new Set<Waiting>()
  const polling = createPolling({
    isNeeded: () => waiting.size > 0,
    poll: async () => {
      const merchantIds = [...new Set([...waiting].map(({ merchantId }) => merchantId))]
      const feeds = new Map((await findFeeds(db, merchantIds)).map((feed) => [feed.merchantId, feed]))
      for (const { merchantId, after, end } of waiting) {
        const feed = feeds.get(merchantId)
        if (feed && (feed.hasNew || feed.lastNumber > after)) end(true)
      }
    },
    onError: (error) => log.error({ err: error }, 'requests that wait for events could not be notified'),
    pauseMs: () => pollEveryMs,
  })

  return {
    async wait({ merchantId, after }, { ms, signal: disconnected }) {
      const ofMerchant = [...waiting].filter((one) => one.merchantId === merchantId).length
      if (polling.isStopped || disconnected.aborted || ms <= 0) return false
      if (waiting.size >= limits.totalMax || ofMerchant >= limits.perMerchantMax) return false
      return await new Promise<boolean>((resolve) => {
        const one = { merchantId, after, end }
        const giveUp = () => end(false)
        const timer = setTimeout(giveUp, ms)
        function end(hasNew: boolean) {
          clearTimeout(timer)
          disconnected.removeEventListener('abort', giveUp)
          waiting.delete(one)
          resolve(hasNew)
        }
        disconnected.addEventListener('abort', giveUp, { once: true })
        waiting.add(one)
        polling.begin()
      })
    },
    async stop() {
      for (const { end } of waiting) end(false)
      await polling.stop()
    },
  }
}
