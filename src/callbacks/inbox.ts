import { createPollPause, createSignal } from '../lib/signal.ts'
import { createNoticeProcessor, type ProcessDeps } from './process.ts'
import { leaseMs, toKey } from './receive.ts'
import { claimNotices, type InboxRow, updateNotices } from './store.ts'

/**
 * Concurrent queries to acquirers. A notice is one payment or return that a callback reports. Its query ends before its
 * result is written, so that one commit collects the results of many.
 */
const queriesMax = 64
/** Notices whose acquirer is being queried or whose result is being written. */
const atWorkMax = 256
/**
 * At most this many notices wait in memory, a few hundred bytes each. At 2,000 a second the last of them waits as long
 * as its lease.
 */
const waitingMax = 20_000
/** How often due notices are claimed: those whose pause between two checks, or whose process's lease, has ended. */
const claimEveryMs = { minMs: 250, maxMs: 2_000 }
const claimedMax = 256
/**
 * While this process has more than it can work on, it still claims a few due notices at this interval, and works on
 * them first: they have waited longer.
 */
const claimWhenBusyEveryMs = 1_000
const claimedWhenBusyMax = 16
/** Pause after a database error, in addition to that between two claims. */
const faultPauseMs = 1_000

export type Inbox = {
  /** Works on notices of this process's own callbacks, as soon as they are stored. */
  workOn(notices: InboxRow[]): void
  /** Notices of other processes became due: claim now instead of at the next poll, unless this process is busy. */
  wake(): void
  /** Starts nothing more, releases what has not been started, and waits for what is in progress. */
  stop(): Promise<void>
}

/**
 * Works on the inbox of callbacks. The process that stores a notice leases it at once and works on it from memory,
 * so that it need not be claimed. Any process may take a notice whose lease has ended.
 */
export function startInbox(deps: ProcessDeps & { instance: number }): Inbox {
  const { db, clock, log, instance } = deps
  const processNotice = createNoticeProcessor({
    ...deps,
    writeCheck: async (check) => {
      // The query is over, with or without an answer: the next notice need not wait until the result is written.
      endQuery(toKey(check.acquirer, check.event_key))
      return await deps.writeCheck(check)
    },
  })
  const waiting: InboxRow[] = []
  const atWork = new Map<string, Promise<void>>()
  const querying = new Set<string>()
  const signal = createSignal()
  const pause = createPollPause(claimEveryMs)
  let hasMore = false
  let claimedAt = Number.NEGATIVE_INFINITY
  let isStopping = false
  const running = run()

  return {
    workOn,
    wake: signal.notify,
    async stop() {
      isStopping = true
      signal.notify()
      await running
      await release(waiting.splice(0))
      await Promise.all(atWork.values())
    },
  }

  function workOn(notices: InboxRow[]): void {
    // Those that do not fit are claimed when their lease ends: until then, others have waited longer.
    waiting.push(...notices.slice(0, Math.max(0, waitingMax - waiting.length)))
    begin()
  }

  function begin(): void {
    while (!isStopping && waiting.length > 0 && freeSlots() > 0) {
      for (const notice of waiting.splice(0, freeSlots())) {
        const key = toKey(notice.acquirer, notice.event_key)
        // Its lease ended while it is still being processed, so it was claimed again.
        if (atWork.has(key)) continue
        pause.noteWork()
        querying.add(key)
        atWork.set(key, work(notice, key))
      }
    }
  }

  function freeSlots(): number {
    return Math.min(queriesMax - querying.size, atWorkMax - atWork.size)
  }

  function endQuery(key: string): void {
    querying.delete(key)
    begin()
    if (hasMore && waiting.length === 0) signal.notify()
  }

  async function work(notice: InboxRow, key: string): Promise<void> {
    try {
      await processNotice(notice)
    } catch (error) {
      log.error(
        { err: error, acquirer: notice.acquirer },
        'the check of a callback could not be recorded and will be repeated',
      )
    } finally {
      atWork.delete(key)
      endQuery(key)
    }
  }

  async function run(): Promise<void> {
    while (!isStopping) {
      await claimDue().catch(async (error: unknown) => {
        log.error({ err: error }, 'due callbacks could not be claimed')
        await signal.wait(faultPauseMs)
      })
      await signal.wait(pause.ms())
    }
  }

  async function claimDue(): Promise<void> {
    const isBusy = waiting.length > 0 || freeSlots() <= 0
    if (isBusy && performance.now() - claimedAt < claimWhenBusyEveryMs) return
    claimedAt = performance.now()
    const now = clock.now()
    const leaseUntil = new Date(now.getTime() + leaseMs)
    const limit = isBusy ? claimedWhenBusyMax : claimedMax
    const found = await claimNotices(db, { now, leaseUntil, limit, instance })
    hasMore = found.length === limit
    waiting.unshift(...found)
    begin()
  }

  async function release(notices: InboxRow[]): Promise<void> {
    if (notices.length === 0) return
    const released = { state: 'received', finished_at: null, check_at: clock.now() } as const
    await updateNotices(
      db,
      notices.map((notice) => ({ ...notice, ...released })),
    ).catch((error: unknown) => log.warn({ err: error }, 'the callbacks of a stopping process could not be released'))
  }
}
