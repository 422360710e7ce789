import { channel } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { assert } from './assert.ts'

/** Publishes each batch when it has ended, if anybody listens: `npm run bench` does. */
const batches = channel('guiche:batch')

export type BatchMessage = { name: string; waitsMs: number[]; runMs: number; items: number }

export type BatcherOptions<Item, Result> = {
  /** What its batches do, for those who measure them. */
  name: string
  /**
   * Does the work of a batch in one go and returns the results in the order of its items. After an error that one item
   * may have caused, it runs again, item by item.
   */
  run: (items: Item[]) => Promise<Result[]>
  maxBatchSize: number
  /** Batches that run at the same time. */
  maxConcurrency: number
  /**
   * While a batch runs, another one starts only with this many items: a single item is not worth a commit of its own.
   * 1 if absent.
   */
  minConcurrentBatch?: number
  /** The order within a batch. Two batches that lock the same rows in opposite order would deadlock. */
  sort?: (a: Item, b: Item) => number
  /**
   * Whether one item may have caused this error, so that nothing was done. If not, nothing is retried: after a lost
   * connection all of it may have been done.
   */
  retryIndividually: (error: unknown) => boolean
  /**
   * After a batch, the few items that came during it wait for more, because a statement for one item costs as much as
   * for ten. They wait for as long as that batch took: the busier the process or the database, the longer. This is the
   * shortest wait, `lingerMsMax` the longest. No wait, if absent.
   */
  lingerMs?: number
  /**
   * The least time between the starts of two batches, unless half a batch is there: items that come one by one, but
   * faster than that, share one. The first item after a longer pause starts at once. A caller that awaits each result
   * before the next item gets one batch per interval. No least time, if absent.
   */
  intervalMs?: number
}

/** Short compared with the other waits of a busy process. */
const lingerMsMax = 25

/** `since` is 0 while nobody listens. */
type Waiting<Item, Result> = {
  item: Item
  since: number
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

/**
 * Lets callers share a commit. While no batch runs, an item starts one at once (with `intervalMs`, once that has passed
 * since the last start). Items that come while a batch runs form the next one. So an idle service adds no delay, and
 * batches grow with the load (6,000 rows per second one by one, 31,000 at 32).
 *
 * When one item may have made a batch fail, its items are retried one by one, so that a bad item fails alone.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): (item: Item) => Promise<Result> {
  let waiting: Waiting<Item, Result>[] = []
  let running = 0
  let isScheduled = false
  let timer: NodeJS.Timeout | undefined
  let lastStartAt = Number.NEGATIVE_INFINITY
  const half = Math.ceil(options.maxBatchSize / 2)

  function mayStart(): boolean {
    if (waiting.length === 0 || running >= options.maxConcurrency) return false
    return running === 0 || waiting.length >= (options.minConcurrentBatch ?? 1)
  }

  function schedule(): void {
    if (isScheduled || !mayStart()) return
    isScheduled = true
    const startAll = () => {
      isScheduled = false
      timer = undefined
      while (mayStart()) start()
    }
    const untilNextMs = lastStartAt + (options.intervalMs ?? 0) - performance.now()
    if (untilNextMs > 0 && waiting.length < half) timer = setTimeout(startAll, untilNextMs)
    // After the I/O of this turn: requests that arrived together are all queued before the first batch starts.
    else setImmediate(startAll)
  }

  function start(): void {
    if (timer !== undefined) {
      // Half a batch was there first. The next interval begins now.
      clearTimeout(timer)
      timer = undefined
      isScheduled = false
    }
    const batch = waiting.slice(0, options.maxBatchSize)
    waiting = waiting.slice(options.maxBatchSize)
    running += 1
    const startedAt = performance.now()
    lastStartAt = startedAt
    void runBatch(options, batch)
      .then(() => {
        const runMs = performance.now() - startedAt
        publish(batch, startedAt, runMs)
        return linger(runMs)
      })
      .finally(() => {
        running -= 1
        schedule()
      })
  }

  async function linger(batchMs: number): Promise<void> {
    const isEnough = waiting.length >= (options.minConcurrentBatch ?? options.maxBatchSize)
    if (options.lingerMs === undefined || waiting.length === 0 || isEnough) return
    await sleep(Math.max(options.lingerMs, Math.min(batchMs, lingerMsMax)))
  }

  function publish(batch: Waiting<Item, Result>[], startedAt: number, runMs: number): void {
    if (!batches.hasSubscribers) return
    const waitsMs = batch.filter(({ since }) => since > 0).map(({ since }) => startedAt - since)
    batches.publish({ name: options.name, waitsMs, runMs, items: batch.length } satisfies BatchMessage)
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, since: batches.hasSubscribers ? performance.now() : 0, resolve, reject })
      // Within this turn: the database then works while the process still reads the other requests that arrived
      // together.
      if (waiting.length >= half && mayStart()) start()
      else schedule()
    })
}

async function runBatch<Item, Result>(
  options: BatcherOptions<Item, Result>,
  batch: Waiting<Item, Result>[],
): Promise<void> {
  const { sort, retryIndividually } = options
  if (sort !== undefined) batch.sort((a, b) => sort(a.item, b.item))
  try {
    await runOnce(options, batch)
  } catch (error) {
    const isFinal = batch.length === 1 || !retryIndividually(error)
    if (isFinal) for (const { reject } of batch) reject(error)
    else for (const one of batch) await runOnce(options, [one]).catch(one.reject)
  }
}

async function runOnce<Item, Result>(
  options: BatcherOptions<Item, Result>,
  batch: Waiting<Item, Result>[],
): Promise<void> {
  const results = await options.run(batch.map(({ item }) => item))
  assert(results.length === batch.length, 'a batch returned as many results as it had items')
  for (const [index, result] of results.entries()) batch[index]?.resolve(result)
}
