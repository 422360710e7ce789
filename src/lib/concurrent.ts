/** Enough to hide the acquirer's response time, few enough for its rate limit. */
const concurrencyMax = 8

/**
 * Processes up to `concurrency` items at once until all are done, one fails, or `stopping` is aborted. No work is in
 * progress when it returns, unlike after p-map, which does not wait for the others when one fails or it is aborted.
 */
export async function forEachConcurrent<Item>(
  items: Iterable<Item>,
  stopping: AbortSignal,
  work: (item: Item) => Promise<void>,
  concurrency = concurrencyMax,
): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const failures: unknown[] = []
  const workers = Array.from({ length: concurrency }, async () => {
    while (!stopping.aborted && failures.length === 0) {
      const next = waiting.next()
      if (next.done) return
      await work(next.value).catch((error: unknown) => failures.push(error))
    }
  })
  await Promise.all(workers)
  if (failures.length > 0) throw failures[0]
}

/** Runs what it is given unless `max` are running; then it returns null at once. */
export function createLimit(max: number): <Result>(work: () => Promise<Result>) => Promise<Result | null> {
  let running = 0
  return async (work) => {
    if (running >= max) return null
    running += 1
    try {
      return await work()
    } finally {
      running -= 1
    }
  }
}

/** The SQLSTATE of a statement that PostgreSQL skips because an earlier one of its transaction failed. */
const skippedAfterFailure = '25P02'

/**
 * Sends several statements of a transaction without waiting for each other's answers, and waits for all of them: a
 * statement still in flight during the rollback would run after it and commit on its own. Throws the error that caused
 * the others to fail.
 */
export async function pipelined<Results extends unknown[]>(
  ...works: { [Place in keyof Results]: Promise<Results[Place]> }
): Promise<Results> {
  const ended = await Promise.allSettled(works)
  const failures = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  if (failures.length > 0) throw failures.find((reason) => reason?.code !== skippedAfterFailure) ?? failures[0]
  return await Promise.all(works)
}
