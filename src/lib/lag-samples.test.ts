import { expect, it } from 'vitest'
import { createLagSamples } from './lag-samples.ts'

it.each([10, 599, 1_200, 7_200])('finds a lag of %i seconds, however long it lasts', (lag) => {
  const samples = createLagSamples<number>(600)
  const lags: number[] = []
  for (let now = 0; now < 5 * lag; now += 1) {
    samples.add(now, now)
    samples.removeReplayed((position) => position <= now - lag)
    if (now >= lag) lags.push(now - (samples.since() ?? now))
  }
  expect(Math.max(...lags)).toBeLessThanOrEqual(lag)
  expect(Math.min(...lags)).toBeGreaterThanOrEqual(lag - 1 - lag / 200)
})

it('finds the lag again while it becomes shorter', () => {
  const samples = createLagSamples<number>(600)
  for (let now = 0; now < 7_200; now += 1) samples.add(now, now)
  for (let replayed = 0; replayed < 7_190; replayed += 10) {
    samples.removeReplayed((position) => position <= replayed)
    expect(7_200 - (samples.since() ?? 7_200)).toBeGreaterThan(7_200 - replayed - 1 - 36)
  }
  samples.clear()
  expect(samples.since()).toBeNull()
})
