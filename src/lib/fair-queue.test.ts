import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createFairQueue } from './fair-queue.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Jobs that finish when the test says so, in a queue that runs three at a time and two per key. */
function setUp() {
  const queue = createFairQueue({ maxConcurrency: 3, maxPerKey: 2, maxBusyShare: 1, maxWaitingPerKey: 3 })
  const started: string[] = []
  const ends = new Map<string, () => void>()
  const add = (key: string, name: string) =>
    queue.run(key, async () => {
      started.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
    })
  const end = async (name: string) => {
    ends.get(name)?.()
    await vi.advanceTimersByTimeAsync(0)
  }
  return { queue, started, add, end }
}

it('leaves capacity for other keys when one key has many jobs, and serves the keys in turn', async () => {
  const { started, add, end } = setUp()
  for (const name of ['a1', 'a2', 'a3', 'a4']) void add('a', name)
  expect(started).toEqual(['a1', 'a2'])
  void add('b', 'b1')
  void add('b', 'b2')
  void add('c', 'c1')
  expect(started).toEqual(['a1', 'a2', 'b1'])
  await end('b1')
  expect(started.at(-1)).toBe('b2')
  await end('a1')
  expect(started.at(-1)).toBe('a3')
  await end('a2')
  // c was queued before a4 could start.
  expect(started.at(-1)).toBe('c1')
  await end('b2')
  expect(started).toEqual(['a1', 'a2', 'b1', 'b2', 'a3', 'c1', 'a4'])
})

it('rejects a key that has too many jobs waiting, and no other key', async () => {
  const { started, add, end } = setUp()
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void add('a', name)
  await expect(add('a', 'a6')).rejects.toMatchObject({ code: 'rate_limited' })
  void add('b', 'b1')
  expect(started).toEqual(['a1', 'a2', 'b1'])
  await end('a1')
  void add('a', 'a6')
  for (const name of ['a2', 'a3', 'a4', 'a5', 'a6']) await end(name)
  expect(started).toEqual(['a1', 'a2', 'b1', 'a3', 'a4', 'a5', 'a6'])
})

it('continues after a job fails, and rejects its caller', async () => {
  const queue = createFairQueue({ maxConcurrency: 1, maxPerKey: 1, maxBusyShare: 1, maxWaitingPerKey: 1 })
  const failing = queue.run('a', async () => await Promise.reject(new Error('no')))
  const next = queue.run('a', async () => 'yes')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('yes')
})

it('keeps a key’s place empty after a job, in proportion to the job’s time and for a second at most', async () => {
  const queue = createFairQueue({ maxConcurrency: 1, maxPerKey: 1, maxBusyShare: 0.25, maxWaitingPerKey: 3 })
  const started: string[] = []
  const add = (key: string, name: string, ms: number) =>
    queue.run(key, async () => {
      started.push(name)
      await new Promise((resolve) => setTimeout(resolve, ms))
    })
  void add('a', 'a1', 10)
  void add('a', 'a2', 60_000)
  void add('b', 'b1', 5)
  await vi.advanceTimersByTimeAsync(10)
  // Another key does not wait for this pause.
  expect(started).toEqual(['a1', 'b1'])
  await vi.advanceTimersByTimeAsync(29)
  expect(started).toEqual(['a1', 'b1'])
  await vi.advanceTimersByTimeAsync(1)
  expect(started).toEqual(['a1', 'b1', 'a2'])
  void add('a', 'a3', 1)
  await vi.advanceTimersByTimeAsync(60_000 + 999)
  expect(started).toEqual(['a1', 'b1', 'a2'])
  await vi.advanceTimersByTimeAsync(1)
  expect(started).toEqual(['a1', 'b1', 'a2', 'a3'])
})
