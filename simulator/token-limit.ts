import type { Clock } from '../src/lib/clock.ts'

/** Counts token requests per client address. */
export type TokenLimit = {
  /** Counts one more. False if it exceeds the limit. */
  take(address: string): boolean
}

const windowMs = 60_000
// More addresses than request tokens here at the same time. A full map is emptied.
const addressesMax = 10_000

/** Allows this many in each minute from the first on. Null is no limit. */
export function createTokenLimit(clock: Clock, perMinute: number | null): TokenLimit {
  const counted = new Map<string, { since: number; count: number }>()
  return {
    take(address) {
      if (perMinute === null) return true
      const now = clock.now().getTime()
      if (counted.size >= addressesMax) counted.clear()
      const known = counted.get(address)
      const entry = known && now - known.since < windowMs ? known : { since: now, count: 0 }
      entry.count += 1
      counted.set(address, entry)
      return entry.count <= perMinute
    },
  }
}
