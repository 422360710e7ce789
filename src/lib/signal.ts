export type Signal = {
  notify(): void
  /** Resolves at the next notify(), at once after one that nobody has waited for yet, or when the time is over. */
  wait(ms: number): Promise<void>
}

/** One loop waits, until somebody notifies it or the time is over. */
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
