import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { createBatcher } from './batch.ts'

const retryIndividually = () => true

/** A `run` that keeps its batches, each of which ends when the test says so. */
function createRuns() {
  const batches: { items: number[]; finish: (error?: Error) => void }[] = []
  const run = (items: number[]) =>
    new Promise<string[]>((resolve, reject) => {
      const finish = (error?: Error) => (error === undefined ? resolve(items.map((item) => `#${item}`)) : reject(error))
      batches.push({ items, finish })
    })
  return { batches, run }
}

describe('a batcher', () => {
  it('batches the items of one turn and returns each its own result', async () => {
    const { batches, run } = createRuns()
    const add = createBatcher({ name: 'test', run, retryIndividually, maxBatchSize: 10, maxConcurrency: 1 })
    const results = Promise.all([add(1), add(2), add(3)])
    await turn()
    batches[0]?.finish()
    expect(await results).toEqual(['#1', '#2', '#3'])
    expect(batches.map(({ items }) => items)).toEqual([[1, 2, 3]])
  })

  it('starts within a turn once a batch is half full, and batches the rest of the turn', async () => {
    const { batches, run } = createRuns()
    const add = createBatcher({
      name: 'test',
      run,
      retryIndividually,
      maxBatchSize: 6,
      maxConcurrency: 2,
      minConcurrentBatch: 2,
    })
    const results = [1, 2, 3].map(add)
    expect(batches.map(({ items }) => items)).toEqual([[1, 2, 3]])
    results.push(add(4), add(5))
    expect(batches).toHaveLength(1)
    await turn()
    expect(batches.map(({ items }) => items)).toEqual([
      [1, 2, 3],
      [4, 5],
    ])
    for (const { finish } of batches) finish()
    expect(await Promise.all(results)).toEqual(['#1', '#2', '#3', '#4', '#5'])
  })

  it('with an interval starts a first item at once, and the next batch after it or with half a batch', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    try {
      const { batches, run } = createRuns()
      const options = { name: 'test', run, retryIndividually, maxBatchSize: 6, maxConcurrency: 1, intervalMs: 100 }
      const add = createBatcher(options)
      const results = [add(1)]
      await turn()
      expect(batches.map(({ items }) => items)).toEqual([[1]])
      batches[0]?.finish()
      await results[0]
      results.push(add(2))
      await vi.advanceTimersByTimeAsync(99)
      results.push(add(3))
      await turn()
      expect(batches).toHaveLength(1)
      await vi.advanceTimersByTimeAsync(1)
      expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3]])
      batches[1]?.finish()
      await Promise.all(results)
      results.push(add(4), add(5))
      await turn()
      expect(batches).toHaveLength(2)
      await vi.advanceTimersByTimeAsync(50)
      results.push(add(6))
      expect(batches[2]?.items).toEqual([4, 5, 6])
      batches[2]?.finish()
      expect(await Promise.all(results)).toEqual(['#1', '#2', '#3', '#4', '#5', '#6'])
      // The interval counts from this start, not from the one before it.
      results.push(add(7))
      await vi.advanceTimersByTimeAsync(99)
      expect(batches).toHaveLength(3)
      await vi.advanceTimersByTimeAsync(1)
      expect(batches[3]?.items).toEqual([7])
      batches[3]?.finish()
      expect(await results[6]).toBe('#7')
    } finally {
      vi.useRealTimers()
    }
  })

  it('with an interval starts no concurrent batch before it, unless half a batch is there', async () => {
    const { batches, run } = createRuns()
    const options = { name: 'test', run, retryIndividually, maxBatchSize: 8, maxConcurrency: 2, minConcurrentBatch: 2 }
    const add = createBatcher({ ...options, intervalMs: 60_000 })
    const results = [add(1)]
    await turn()
    results.push(add(2), add(3), add(4))
    await turn()
    await turn()
    expect(batches.map(({ items }) => items)).toEqual([[1]])
    results.push(add(5))
    expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3, 4, 5]])
    for (const { finish } of batches) finish()
    expect(await Promise.all(results)).toEqual(['#1', '#2', '#3', '#4', '#5'])
  })

  it('keeps items that come at the maximum concurrency for the next batch', async () => {
    const { batches, run } = createRuns()
    const add = createBatcher({ name: 'test', run, retryIndividually, maxBatchSize: 10, maxConcurrency: 1 })
    const first = add(1)
    await turn()
    const later = Promise.all([add(2), add(3)])
    await turn()
    expect(batches).toHaveLength(1)
    batches[0]?.finish()
    expect(await first).toBe('#1')
    await vi.waitFor(() => expect(batches[1]?.items).toEqual([2, 3]))
    batches[1]?.finish()
    expect(await later).toEqual(['#2', '#3'])
  })

  it('starts a concurrent batch only with enough items, and at once when none runs', async () => {
    const { batches, run } = createRuns()
    const add = createBatcher({
      name: 'test',
      run,
      retryIndividually,
      maxBatchSize: 10,
      maxConcurrency: 2,
      minConcurrentBatch: 3,
    })
    const results = [add(1)]
    await turn()
    results.push(add(2), add(3))
    await turn()
    await turn()
    expect(batches.map(({ items }) => items)).toEqual([[1]])
    results.push(add(4))
    await turn()
    await turn()
    expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3, 4]])
    results.push(add(5))
    batches[0]?.finish()
    batches[1]?.finish()
    await vi.waitFor(() => expect(batches[2]?.items).toEqual([5]))
    batches[2]?.finish()
    expect(await Promise.all(results)).toEqual(['#1', '#2', '#3', '#4', '#5'])
  })

  it('lets items that come while a batch runs linger for more if they are few, and starts a single item at once', async () => {
    const { batches, run } = createRuns()
    const add = createBatcher({
      name: 'test',
      run,
      retryIndividually,
      maxBatchSize: 10,
      maxConcurrency: 2,
      minConcurrentBatch: 3,
      lingerMs: 5_000,
    })
    const alone = async (item: number) => {
      const result = add(item)
      await turn()
      batches.at(-1)?.finish()
      const finished = await result
      await turn()
      return finished
    }
    // Each starts in the turn in which it comes.
    expect([await alone(1), await alone(2)]).toEqual(['#1', '#2'])

    const first = add(3)
    await turn()
    const second = add(4)
    batches[2]?.finish()
    await first
    const third = add(5)
    await turn()
    expect(batches).toHaveLength(3)
    // Three are enough for a batch of their own.
    const fourth = add(6)
    await vi.waitFor(() => expect(batches[3]?.items).toEqual([4, 5, 6]))
    batches[3]?.finish()
    expect(await Promise.all([second, third, fourth])).toEqual(['#4', '#5', '#6'])
  })

  it('lingers for as long as the batch before took, not only for the shortest time', async () => {
    const starts: number[] = []
    const add = createBatcher<number, number>({
      name: 'test',
      retryIndividually,
      maxBatchSize: 10,
      maxConcurrency: 1,
      lingerMs: 1,
      run: async (items) => {
        starts.push(performance.now())
        await sleep(20)
        return items
      },
    })
    const first = add(1)
    await turn()
    const second = add(2)
    await first
    const finishedAt = performance.now()
    await second
    expect((starts[1] ?? 0) - finishedAt).toBeGreaterThan(15)
  })

  it('never exceeds maxBatchSize or maxConcurrency', async () => {
    let now = 0
    let concurrencySeen = 0
    let itemsSeen = 0
    const add = createBatcher<number, number>({
      name: 'test',
      retryIndividually,
      run: async (items) => {
        now += 1
        concurrencySeen = Math.max(concurrencySeen, now)
        itemsSeen = Math.max(itemsSeen, items.length)
        await turn()
        now -= 1
        return items.map((item) => item * 2)
      },
      maxBatchSize: 7,
      maxConcurrency: 2,
    })
    const items = Array.from({ length: 1000 }, (_, index) => index)
    expect(await Promise.all(items.map(add))).toEqual(items.map((item) => item * 2))
    expect({ concurrencySeen, itemsSeen }).toEqual({ concurrencySeen: 2, itemsSeen: 7 })
  })

  it('sorts a batch, and still returns every caller its own result', async () => {
    const seen: number[][] = []
    const add = createBatcher<number, string>({
      name: 'test',
      retryIndividually,
      run: async (items) => {
        seen.push(items)
        return items.map((item) => `#${item}`)
      },
      maxBatchSize: 10,
      maxConcurrency: 1,
      sort: (a, b) => a - b,
    })
    expect(await Promise.all([add(3), add(1), add(2)])).toEqual(['#3', '#1', '#2'])
    expect(seen).toEqual([[1, 2, 3]])
  })

  it('lets a bad item fail alone', async () => {
    const add = createBatcher<number, number>({
      name: 'test',
      retryIndividually,
      run: async (items) => {
        if (items.includes(2)) throw new Error('two is bad')
        return items
      },
      maxBatchSize: 10,
      maxConcurrency: 1,
    })
    const settled = await Promise.allSettled([add(1), add(2), add(3)])
    expect(settled).toEqual([
      { status: 'fulfilled', value: 1 },
      { status: 'rejected', reason: new Error('two is bad') },
      { status: 'fulfilled', value: 3 },
    ])
    expect(await add(4)).toBe(4)
  })

  it('does not retry after an error that no item caused', async () => {
    let runs = 0
    const add = createBatcher<number, number>({
      name: 'test',
      run: async () => {
        runs += 1
        throw new Error('connection lost')
      },
      maxBatchSize: 10,
      maxConcurrency: 1,
      retryIndividually: () => false,
    })
    const settled = await Promise.allSettled([add(1), add(2)])
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(runs).toBe(1)
  })

  it('rejects all items when `run` returns too few results', async () => {
    const add = createBatcher<number, number>({
      name: 'test',
      retryIndividually,
      run: async () => [],
      maxBatchSize: 10,
      maxConcurrency: 1,
    })
    const settled = await Promise.allSettled([add(1), add(2)])
    expect(settled.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  })

  it('publishes each batch while somebody listens', async () => {
    const seen: unknown[] = []
    const onBatch = (message: unknown) => seen.push(message)
    const add = createBatcher({
      name: 'double',
      run: async (items: number[]) => items.map((item) => item * 2),
      retryIndividually,
      maxBatchSize: 10,
      maxConcurrency: 1,
    })
    subscribe('guiche:batch', onBatch)
    await Promise.all([add(1), add(2)])
    await turn()
    unsubscribe('guiche:batch', onBatch)
    await add(3)
    const ms = expect.any(Number)
    expect(seen).toEqual([{ name: 'double', waitsMs: [ms, ms], runMs: ms, items: 2 }])
  })
})
