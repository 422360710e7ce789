export type Signal = {
  notify(): void
  /** Resolves at the next notify(), immediately if notify() was called since the last wait, or after `ms`. */
  wait(ms: number): Promise<void>
}

/** Lets one loop sleep until it is notified or the time is over. */
export function createSignal(): Signal {
  let isNotified = false
  let wake = () => {}
  return {
    notify() {
      isNotified = true
      wake()
    },
    async wait(ms) {
      if (!isNotified) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      wake = () => {}
      isNotified = false
    },
  }
}

export type PollPause = {
  /** There was something to do. */
  noteWork(): void
  /** How long to wait until the next poll. */
  ms(): number
}

/**
 * For a poll that finds what no notification announced. While it finds nothing its pause grows, up to `maxMs`: a tenth
 * of the time since there was something to do. So an idle process costs little, and what was done lately is repeated
 * in time.
 */
export function createPollPause({ minMs, maxMs }: { minMs: number; maxMs: number }): PollPause {
  let workedAt = performance.now()
  return {
    noteWork() {
      workedAt = performance.now()
    },
    ms: () => Math.max(minMs, Math.min(maxMs, (performance.now() - workedAt) / 10)),
  }
}
