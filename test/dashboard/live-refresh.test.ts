import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import type { createRefresher as Create, pauseList as Pause } from '../../dashboard/src/live-refresh.ts'

let createRefresher: typeof Create
let pauseList: typeof Pause
beforeAll(async () => {
  vi.stubGlobal('location', { origin: 'https://pix.test' })
  ;({ createRefresher, pauseList } = await import('../../dashboard/src/live-refresh.ts'))
  vi.unstubAllGlobals()
})
beforeEach(() => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
})

it('reads the figures of today once more after the last change, also if it came while they were read again', async () => {
  const { change, reads } = await show('overview')
  change()
  await vi.advanceTimersByTimeAsync(4_000)
  expect(reads()).toBe(2)
  change()
  await vi.advanceTimersByTimeAsync(2_500)
  expect(reads()).toBe(3)
  await vi.advanceTimersByTimeAsync(60_000)
  expect(reads()).toBe(4)
})

it('keeps a list as it is from the moment it is paused, and reads a change that waited when it is released', async () => {
  const { change, reads } = await show('transactions')
  change()
  await vi.advanceTimersByTimeAsync(100)
  change()
  const release = pauseList('transactions')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(reads()).toBe(1)
  release()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(reads()).toBe(2)
})

/** Shows a query. `reads` counts how often it was read after it was shown. */
async function show(root: string): Promise<{ change: () => void; reads: () => number }> {
  const queries = new QueryClient()
  const queryFn = vi.fn(async () => 0)
  onTestFinished(new QueryObserver(queries, { queryKey: [root], queryFn }).subscribe(() => {}))
  await vi.advanceTimersByTimeAsync(1_000)
  queryFn.mockClear()
  const refresher = createRefresher(queries)
  const changed = { kind: 'transaction' as const, clientId: 'a-client', status: 'PAID', count: 1, records: [] }
  return {
    change: () => refresher.refresh({ changes: [changed], isMore: false }),
    reads: () => queryFn.mock.calls.length,
  }
}
