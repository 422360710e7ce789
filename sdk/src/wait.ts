import { GuicheError } from './errors.ts'
import { pause, timerMaxMs } from './http.ts'

/** How long to wait, and what ends the wait before. */
export type WaitOptions = {
  /** For the whole wait, in milliseconds: 30,000 by default. */
  timeoutMs?: number | undefined
  /** Aborts the wait, which then throws the signal's reason. */
  signal?: AbortSignal | undefined
}

type Wait<Found> = {
  fits: (found: Found) => boolean
  /** What is the case instead, without a full stop; `undefined` when nothing was learned. */
  describe: (last: Found | undefined) => string
  options: WaitOptions
}

const waitMsDefault = 30_000
/** What is simulated settles within this; a person takes longer, and is asked about less and less often. */
const firstPauseMs = 100
const longestPauseMs = 5_000

/**
 * Looks until what it sees fits.
 *
 * @throws {GuicheError} `wait_timed_out`
 */
export async function waitUntil<Found>(
  look: (signal: AbortSignal) => Promise<Found>,
  { fits, describe, options: { timeoutMs = waitMsDefault, signal } }: Wait<Found>,
): Promise<Found> {
  signal?.throwIfAborted()
  let last: Found | undefined
  // One signal ends a look and a pause alike, with the reason to throw.
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  const giveUp = () => {
    const detail = `${describe(last)}, after ${timeoutMs} ms. Wait longer, or look again later.`
    controller.abort(new GuicheError({ code: 'wait_timed_out', detail }))
  }
  const timer = setTimeout(giveUp, Math.min(timeoutMs, timerMaxMs))
  try {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)) {
      last = await look(controller.signal)
      if (fits(last)) return last
      await pause(pauseMs, controller.signal)
    }
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}
