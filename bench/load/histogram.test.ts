import { describe, expect, it } from 'vitest'
import { merge, newHistogram, percentile, record } from './histogram.ts'

describe('a histogram of durations', () => {
  it('gives percentiles within one part in 128 of the exact ones', () => {
    const histogram = newHistogram()
    const durations = Array.from({ length: 10_000 }, (_, index) => Math.round(1.0012 ** index))
    for (const duration of durations) record(histogram, duration)
    for (const percent of [1, 25, 50, 90, 99, 99.9]) {
      const exact = durations[Math.ceil((percent / 100) * durations.length) - 1] ?? 0
      expect(percentile(histogram, percent)).toBeGreaterThanOrEqual(exact)
      expect(percentile(histogram, percent)).toBeLessThanOrEqual(exact * (1 + 1 / 128))
    }
    expect(percentile(histogram, 100)).toBe(durations.at(-1))
  })

  it('is exact for short durations', () => {
    const histogram = newHistogram()
    for (const duration of [0, 1, 17, 255]) record(histogram, duration)
    expect([25, 50, 75, 100].map((percent) => percentile(histogram, percent))).toEqual([0, 1, 17, 255])
  })

  it('equals, after a merge, one histogram of all durations', () => {
    const [one, other, both] = [newHistogram(), newHistogram(), newHistogram()]
    for (let duration = 1; duration < 5000; duration += 7) {
      record(duration % 2 === 0 ? one : other, duration)
      record(both, duration)
    }
    merge(one, other)
    expect(one).toEqual(both)
  })

  it('has no percentile when it is empty', () => {
    expect(percentile(newHistogram(), 50)).toBeNaN()
  })
})
