/** Enough to hide the acquirer's answering time, and few enough for its rate limit. */
const atOnceMax = 8

/** Works on some of the items at a time until all are done, one fails, or it is time to stop. Nothing is under way when it returns. */
export async function eachAtOnce<Item>(
  items: Iterable<Item>,
  stopping: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]()
  const failures: unknown[] = []
  const workers = Array.from({ length: atOnceMax }, async () => {
    while (!stopping.aborted && failures.length === 0) {
      const next = waiting.next()
      if (next.done) return
      await work(next.value).catch((error: unknown) => failures.push(error))
    }
  })
  await Promise.all(workers)
  if (failures.length > 0) throw failures[0]
}

/** What PostgreSQL says of a statement that comes behind one that failed in the same transaction. */
const behindFailure = '25P02'

/**
 * Sends statements of one transaction, or of several steps of it, without waiting for the answer to the one before. It waits for all of them:
 * what is still on its way when the transaction is rolled back would come behind that, and be a commit of its own. Fails for the reason
 * that was first.
 */
export async function together<Results extends unknown[]>(
  ...works: { [Place in keyof Results]: Promise<Results[Place]> }
): Promise<Results> {
  const ended = await Promise.allSettled(works)
  const failures = ended.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  if (failures.length > 0) throw failures.find((reason) => reason?.code !== behindFailure) ?? failures[0]
  return await Promise.all(works)
}
