import { expect, it } from 'vitest'
import { mean, newHistogram, record } from './load/histogram.ts'
import { type Snapshot, stagesBetween } from './stages.ts'

it('shows what all processes recorded between two readings, with the maximum of that time', () => {
  const snapshot = (durations: number[]): Snapshot => {
    const histogram = newHistogram()
    for (const duration of durations) record(histogram, duration)
    return { busyMs: 0, texts: new Map(), stages: new Map([['handler', histogram]]) }
  }
  const before = new Map([
    [1, snapshot([90_000, 20])],
    [2, snapshot([30])],
  ])
  // The third process has started in between.
  const after = new Map([
    [1, snapshot([90_000, 20, 40, 40])],
    [2, snapshot([30])],
    [3, snapshot([100])],
  ])
  const expected = newHistogram()
  for (const duration of [40, 40, 100]) record(expected, duration)
  const stages = stagesBetween(before, after)
  expect([...stages]).toEqual([['handler', expected]])
  expect(mean(stages.get('handler') ?? newHistogram())).toBe(60)
  expect([...stagesBetween(after, after)]).toEqual([])
})
