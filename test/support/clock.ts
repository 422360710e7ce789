import type { Clock } from '../../src/lib/clock.ts'

export type ManualClock = Clock & { advance(ms: number): void; set(date: Date): void }

/** A clock that moves only when a test moves it. */
export function manualClock(start: Date = new Date('2026-03-02T15:00:00.000Z')): ManualClock {
  let now = start.getTime()
  return {
    now: () => new Date(now),
    advance: (ms) => {
      now += ms
    },
    set: (date) => {
      now = date.getTime()
    },
  }
}
