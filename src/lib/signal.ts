export type Signal = {
  notify(): void
  /** Resolves at the next notify(), immediately if notify() was called since the last wait, or after `ms`. */
  wait(ms: number): Promise<void>
}

/** Lets one loop sleep until it is notified or the time-out has passed. */
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
  /** Records that there was work: the next pauses are short again. */
  noteWork(): void
  /** How long to wait until the next poll. */
  ms(): number
}

/**
 * For a loop that polls for work of which no notification came. Its pause is a tenth of the time since there last was
 * work, but at most `maxMs` and at least `minMs`, which wins if it is larger. So an idle process costs little, and one
 * that was busy a moment ago polls often.
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
