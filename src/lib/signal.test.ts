import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createPollPause } from './signal.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => vi.useRealTimers())

it('polls more rarely the longer there was nothing to do, within bounds', () => {
  const pause = createPollPause({ minMs: 250, maxMs: 2_000 })
  const after = (ms: number) => {
    vi.advanceTimersByTime(ms)
    return pause.ms()
  }
  expect([after(0), after(2_000), after(8_000), after(60_000)]).toEqual([250, 250, 1_000, 2_000])
  pause.noteWork()
  expect(after(0)).toBe(250)
})

it('keeps the shortest pause if it is longer than the longest', () => {
  expect(createPollPause({ minMs: 60_000, maxMs: 2_000 }).ms()).toBe(60_000)
})
