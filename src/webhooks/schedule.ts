const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** The waits between attempts; the first attempt is made at once. After the last one the delivery is exhausted. */
export const waitsMs = [
  5 * second,
  30 * second,
  2 * minute,
  5 * minute,
  15 * minute,
  hour,
  3 * hour,
  6 * hour,
  12 * hour,
  24 * hour,
  24 * hour,
]

/**
 * The share of a wait that is random, in both directions, so that deliveries that failed together are not repeated
 * together.
 */
export const jitter = 0.2

type Failure = {
  /** Attempts made on this schedule, including the one that just failed. */
  made: number
  now: Date
  /** Until when the receiver asked us to wait (`Retry-After`). */
  retryAfter: Date | null
  /** Between 0 and 1. */
  random: number
}

/**
 * When to try again, or null after the last attempt. `Retry-After` postpones an attempt and never brings it forward:
 * otherwise a receiver that always sends `Retry-After: 0` would use up all attempts within a second.
 */
export function nextAttempt({ made, now, retryAfter, random }: Failure): Date | null {
  const wait = waitsMs[made - 1]
  if (wait === undefined) return null
  const jittered = Math.round(wait * (1 + jitter * (2 * random - 1)))
  return new Date(Math.max(now.getTime() + jittered, retryAfter?.getTime() ?? 0))
}
