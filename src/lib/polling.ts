import { createSignal } from './signal.ts'

export type Polling = {
  readonly isStopped: boolean
  /** Starts to poll, until it is no longer needed. Does nothing if it polls already, or after a stop. */
  begin(): void
  /** Ends for good, after the poll that is running. */
  stop(): Promise<void>
}

/** Polls only while somebody waits for what it finds. */
export function createPolling({
  isNeeded,
  poll,
  onError,
  pauseMs,
}: {
  isNeeded: () => boolean
  poll: () => Promise<void>
  onError: (error: unknown) => void
  /** The pause after a poll that took this long. */
  pauseMs: (tookMs: number) => number
}): Polling {
  const signal = createSignal()
  let isStopped = false
  let isPolling = false
  let polling = Promise.resolve()

  async function repeat(): Promise<void> {
    isPolling = true
    while (isNeeded() && !isStopped) {
      const begunAt = performance.now()
      await poll().catch(onError)
      await signal.wait(pauseMs(performance.now() - begunAt))
    }
    isPolling = false
  }

  return {
    get isStopped() {
      return isStopped
    },
    begin() {
      if (!isPolling) polling = repeat()
    },
    async stop() {
      isStopped = true
      signal.notify()
      await polling
    },
  }
}
