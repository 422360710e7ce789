import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createBacklogLimit } from './backlog.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

it('accepts notices up to the limit, and counts the stored ones only when the limit may be reached', async () => {
  const requested: string[] = []
  const hasRoom = createBacklogLimit(async (acquirer) => {
    requested.push(acquirer)
    return 4
  }, 10)
  // Concurrently, as after a start: counted once.
  expect(await Promise.all([2, 2, 2].map(async (notices) => await hasRoom('psp', notices)))).toEqual([true, true, true])
  expect(await hasRoom('psp', 1)).toBe(false)
  expect(await hasRoom('other', 6)).toBe(true)
  expect(requested).toEqual(['psp', 'other'])
})

it('counts at most once a second while the limit is reached', async () => {
  let stored = 10
  const hasRoom = createBacklogLimit(async () => stored, 10)
  expect(await hasRoom('psp', 1)).toBe(false)
  stored = 9
  vi.advanceTimersByTime(999)
  expect(await hasRoom('psp', 1)).toBe(false)
  vi.advanceTimersByTime(1)
  expect(await hasRoom('psp', 1)).toBe(true)
})

it('counts again after the database failed', async () => {
  let isDown = true
  const hasRoom = createBacklogLimit(async () => {
    if (isDown) throw new Error('down')
    return 0
  }, 10)
  await expect(hasRoom('psp', 1)).rejects.toThrow('down')
  isDown = false
  expect(await hasRoom('psp', 10)).toBe(true)
  expect(await hasRoom('psp', 1)).toBe(false)
})
