import { setTimeout as sleep } from 'node:timers/promises'

/** After a step that waited for somebody else for minutes, say. */
const restMaxMs = 1_000

/**
 * For long work that nobody waits for: called after each step, it leaves processor and database to others for as long as the step took.
 * Without it, who waits for an answer shares them with the work all the time that it takes.
 *
 * @throws when `stopping` is aborted meanwhile
 */
export function createPace(stopping: AbortSignal): () => Promise<void> {
  let begunAt = performance.now()
  return async () => {
    await sleep(Math.min(performance.now() - begunAt, restMaxMs), undefined, { signal: stopping })
    begunAt = performance.now()
  }
}
