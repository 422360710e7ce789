export type Bell = {
  ring(): void
  /** Resolves at the next ring, at once for one that nobody heard yet, or when the time is over. */
  wait(ms: number): Promise<void>
}

/** Something for one loop to wait at, until it rings or the time is over. */
export function createBell(): Bell {
  let isRung = false
  let wake = () => {}
  return {
    ring() {
      isRung = true
      wake()
    },
    async wait(ms) {
      if (!isRung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      wake = () => {}
      isRung = false
    },
  }
}
