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
