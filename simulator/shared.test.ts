import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { openShared } from './shared.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

it('the shared value is read at most once a second, however many callers there are', async () => {
  const read = vi.fn(async () => read.mock.calls.length)
  const shared = openShared(read)
  expect(await Promise.all([shared.current(), shared.current()])).toEqual([1, 1])
  vi.advanceTimersByTime(1_000)
  expect(await shared.current()).toBe(1)
  vi.advanceTimersByTime(1)
  expect(await shared.current()).toBe(2)
})

it('the shared value is up to date immediately in the process that changed it, even during a read', async () => {
  let answer: (value: string) => void = () => {}
  const shared = openShared(() => new Promise<string>((resolve) => (answer = resolve)))
  const before = shared.current()
  shared.set('new')
  answer('old')
  expect(await before).toBe('old')
  expect(await shared.current()).toBe('new')
})

it('the shared value is read again after a failed read', async () => {
  const read = vi.fn(async () => 'found').mockRejectedValueOnce(new Error('no database'))
  const shared = openShared(read)
  await expect(shared.current()).rejects.toThrow('no database')
  expect(await shared.current()).toBe('found')
})
