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
