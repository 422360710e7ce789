import { AppError } from './errors.ts'

type Waiting = { start: () => void }

export type FairQueue = { run<Result>(key: string, work: () => Promise<Result>): Promise<Result> }

/** The longest pause after one job. */
const pauseMsMax = 1_000

/**
 * Limits how many jobs run at once, in total and per key, and for which share of the time the jobs of one key may run.
 * Jobs above a limit wait. The keys take turns, so a key with many waiting jobs does not delay the others.
 */
export function createFairQueue(options: {
  maxConcurrency: number
  maxPerKey: number
  /**
   * From 0 to 1. A key has `maxPerKey` slots, and each may be busy for this share of the time. So after a job its slot
   * pauses, which delays only a key that always has a waiting job. The pause is at most `pauseMsMax`, so with long jobs
   * the share is exceeded.
   */
  maxBusyShare: number
  /** Further jobs of the same key are rejected. */
  maxWaitingPerKey: number
}): FairQueue {
  /** Slots in use per key, with those that pause after a job. */
  const running = new Map<string, number>()
  const waiting = new Map<string, Waiting[]>()
  /** Jobs that run now: slots that pause do not count. */
  let count = 0

  const mayStart = (key: string) => count < options.maxConcurrency && (running.get(key) ?? 0) < options.maxPerKey

  function begin(key: string): void {
    count += 1
    running.set(key, (running.get(key) ?? 0) + 1)
  }

  function end(key: string, elapsedMs: number): void {
    count -= 1
    const pauseMs = Math.min(pauseMsMax, elapsedMs * (1 / options.maxBusyShare - 1))
    if (pauseMs === 0) leave(key)
    else {
      startNext()
      setTimeout(leave, pauseMs, key).unref()
    }
  }

  function leave(key: string): void {
    const left = (running.get(key) ?? 0) - 1
    if (left > 0) running.set(key, left)
    else running.delete(key)
    startNext()
  }

  function startNext(): void {
    for (const [next, line] of waiting) {
      if (!mayStart(next)) continue
      // Reinserted at the end of the map: the other keys come first next time.
      waiting.delete(next)
      const first = line.shift()
      if (line.length > 0) waiting.set(next, line)
      begin(next)
      first?.start()
      return
    }
  }

  return {
    async run(key, work) {
      if (mayStart(key)) begin(key)
      else {
        const line = waiting.get(key) ?? []
        if (line.length >= options.maxWaitingPerKey) throw tooManyAtOnce()
        await new Promise<void>((resolve) => {
          line.push({ start: resolve })
          waiting.set(key, line)
        })
      }
      const startedAt = performance.now()
      try {
        return await work()
      } finally {
        end(key, performance.now() - startedAt)
      }
    },
  }
}

function tooManyAtOnce(): AppError {
  return new AppError('rate_limited', {
    detail: 'Too many of your list and search requests are waiting. Wait 1 s, then send fewer at the same time.',
    headers: { 'retry-after': '1' },
  })
}
