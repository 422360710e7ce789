import type { Clock } from '../src/lib/clock.ts'

/** How many tokens an address has asked for. */
export type TokenLimit = {
  /** Counts one more; false when it is too many. */
  take(address: string): boolean
}

const windowMs = 60_000
// More than ask for tokens here at once. When it is full it is emptied.
const addressesMax = 10_000

/** So many in each minute from the first on. Null is no limit. */
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
