import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextAttempt, waitsMs } from './schedule.ts'

const now = new Date('2026-03-02T15:00:00.000Z')

describe('the schedule', () => {
  it('waits 5 s, 30 s, 2 min, 5 min, 15 min, 1 h, 3 h, 6 h, 12 h, 24 h, 24 h and then gives up', () => {
    const seconds = waitsMs.map((_, index) => {
      const next = nextAttempt({ made: index + 1, now, retryAfter: null, random: 0.5 })
      return ((next?.getTime() ?? 0) - now.getTime()) / 1000
    })
    expect(seconds).toEqual([5, 30, 120, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 86_400])
    expect(nextAttempt({ made: 12, now, retryAfter: null, random: 0.5 })).toBeNull()
  })

  it('varies each wait by at most a fifth', () => {
    const random = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 11 }), random, (made, random) => {
        const wait = waitsMs[made - 1] ?? 0
        const next = nextAttempt({ made, now, retryAfter: null, random })
        const waited = (next?.getTime() ?? 0) - now.getTime()
        expect(waited).toBeGreaterThanOrEqual(wait * 0.8 - 1)
        expect(waited).toBeLessThanOrEqual(wait * 1.2 + 1)
      }),
    )
  })

  it('lets Retry-After postpone an attempt, and never bring it forward', () => {
    const later = new Date(now.getTime() + 60_000)
    expect(nextAttempt({ made: 1, now, retryAfter: later, random: 0.5 })).toEqual(later)
    expect(nextAttempt({ made: 6, now, retryAfter: later, random: 0.5 })).toEqual(new Date(now.getTime() + 3_600_000))
    expect(nextAttempt({ made: 12, now, retryAfter: later, random: 0.5 })).toBeNull()
  })
})
