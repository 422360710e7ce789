import { afterEach, expect, it, vi } from 'vitest'
import { createEventStreams } from './event-streams.ts'

afterEach(() => void vi.useRealTimers())

it('a stream ends after half an hour, whether it is silent or sends all the time', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  const streams = createEventStreams({ totalMax: 2, perKeyMax: 1 })
  const [silent, busy] = [streams.open('a', () => {}), streams.open('b', () => {})]
  const step = () => {
    silent?.keepAlive()
    busy?.send('data: {}\n\n')
    return [silent?.isEnded, busy?.isEnded]
  }
  vi.advanceTimersByTime(30 * 60_000)
  expect(step()).toEqual([false, false])
  vi.advanceTimersByTime(1)
  expect(step()).toEqual([true, true])
})
