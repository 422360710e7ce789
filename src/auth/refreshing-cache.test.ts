import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createRefreshingCache } from './refreshing-cache.ts'

const minuteMs = 60_000

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** A cache of a source whose reads are counted. With `isPending`, each read waits until the test ends it. */
function cachedSource() {
  const pending: { resolve(value: number): void; reject(error: Error): void }[] = []
  let readings = 0
  const state = { isDown: false, isPending: false }
  const cached = createRefreshingCache(async () => {
    readings += 1
    if (state.isDown) throw new Error('down')
    const value = readings
    return state.isPending ? await new Promise<number>((resolve, reject) => pending.push({ resolve, reject })) : value
  })
  return { cached, state, pending, readings: () => readings }
}

it('reads once in ten minutes, and once for concurrent callers', async () => {
  const { cached } = cachedSource()
  expect(await Promise.all([cached.get(), cached.get(), cached.get()])).toEqual([1, 1, 1])
  vi.advanceTimersByTime(10 * minuteMs - 1)
  expect(await cached.get()).toBe(1)
  vi.advanceTimersByTime(1)
  // The second caller does not wait for the read of the first.
  expect(await Promise.all([cached.get(), cached.get()])).toEqual([2, 1])
  expect(await cached.get()).toBe(2)
})

it('reads again on request, though not within five seconds of the last read', async () => {
  const { cached, readings } = cachedSource()
  await cached.get()
  expect(await cached.renew()).toBe(1)
  vi.advanceTimersByTime(4_999)
  expect(await cached.renew()).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await cached.renew()).toBe(2)
  expect(readings()).toBe(2)
})

it('uses the cached value for a day when reading fails, and retries at most every five seconds', async () => {
  const { cached, state, readings } = cachedSource()
  await cached.get()
  state.isDown = true
  vi.advanceTimersByTime(11 * minuteMs)
  for (let i = 0; i < 3; i += 1) expect(await cached.get()).toBe(1)
  expect(await cached.renew()).toBe(1)
  expect(readings()).toBe(2)
  vi.advanceTimersByTime(24 * 60 * minuteMs - 11 * minuteMs - 1)
  expect(await cached.get()).toBe(1)
  vi.advanceTimersByTime(1)
  await expect(cached.get()).rejects.toThrow('down')
  state.isDown = false
  expect(await cached.get()).toBe(readings())
})

it('throws the error while nothing is cached, and tries at each call', async () => {
  const { cached, state, readings } = cachedSource()
  state.isDown = true
  await expect(cached.get()).rejects.toThrow('down')
  await expect(cached.renew()).rejects.toThrow('down')
  expect(readings()).toBe(2)
  state.isDown = false
  expect(await cached.get()).toBe(3)
})

it('lets one caller wait for a read that hangs, and the others continue', async () => {
  const { cached, state, pending } = cachedSource()
  await cached.get()
  state.isPending = true
  vi.advanceTimersByTime(11 * minuteMs)
  const waiting = cached.get()
  expect(await cached.get()).toBe(1)
  pending[0]?.reject(new Error('timed out'))
  expect(await waiting).toBe(1)
})
