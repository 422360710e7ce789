import { GuicheError } from './errors.ts'
import { pause, timerMaxMs } from './http.ts'

/** The limits of a wait. */
export type WaitOptions = {
  /** Time limit of the whole wait, in milliseconds. 30,000 by default. */
  timeoutMs?: number | undefined
  /** Aborts the wait, which then throws the signal's reason. */
  signal?: AbortSignal | undefined
}

type Wait<Found> = {
  fits: (found: Found) => boolean
  /** The current state, without a full stop. `last` is `undefined` if nothing was fetched yet. */
  describe: (last: Found | undefined) => string
  options: WaitOptions
}

const waitMsDefault = 30_000
/** Simulated payments settle within this time. People take longer, so the pauses grow. */
const firstPauseMs = 100
const longestPauseMs = 5_000
/** The last poll begins this long before the end, or a tenth of the wait if that is shorter: an answer takes time. */
const lastPollMs = 1_000

/**
 * Polls until the record fits.
 *
 * @throws {GuicheError} `wait_timed_out`
 */
export async function waitUntil<Found>(
  poll: (signal: AbortSignal) => Promise<Found>,
  { fits, describe, options: { timeoutMs = waitMsDefault, signal } }: Wait<Found>,
): Promise<Found> {
  signal?.throwIfAborted()
  const lastPollAt = performance.now() + timeoutMs - Math.min(lastPollMs, timeoutMs / 10)
  let last: Found | undefined
  // One signal ends a poll and a pause alike, with the reason to throw.
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const giveUp = () => {
    const detail = `${describe(last)}, after ${timeoutMs} ms. Wait longer, or check again later.`
    controller.abort(new GuicheError({ code: 'wait_timed_out', detail }))
  }
  const timer = setTimeout(giveUp, Math.min(timeoutMs, timerMaxMs))
  try {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
      last = await poll(controller.signal)
      if (fits(last)) return last
      const leftMs = lastPollAt - performance.now()
      await pause(leftMs > 0 ? Math.min(pauseMs, leftMs) : pauseMs, controller.signal)
    }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}
