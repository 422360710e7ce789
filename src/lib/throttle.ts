import { setTimeout as sleep } from 'node:timers/promises'

/** The longest pause. Without it, a step that waited for minutes would be followed by minutes of pause. */
const pauseMaxMs = 1_000

/**
 * Slows down long background work. Called after each step, it pauses for as long as the step took. Requests then get at
 * least half of the processor and the database.
 * @throws when `stopping` is aborted meanwhile
 */
export function createThrottle(stopping: AbortSignal): () => Promise<void> {
  let begunAt = performance.now()
  return async () => {
    await sleep(Math.min(performance.now() - begunAt, pauseMaxMs), undefined, { signal: stopping })
    begunAt = performance.now()
  }
}
