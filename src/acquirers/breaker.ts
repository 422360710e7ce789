import { AcquirerUnavailable, TooManyRequests } from './acquirer.ts'
import type { Log } from './bacen/renewal.ts'

/**
 * After this many requests in a row without an outcome, the next ones are refused without being sent: each would take
 * its whole time-out.
 */
const failuresMax = 5
/**
 * The pause before a request tests whether the acquirer answers again: `first`, doubled after each failed test, up to
 * `max`. It is shortened at random, by half at most.
 */
const pauseMs = { first: 2_000, max: 60_000 }

export type Breaker = {
  /** Makes the call, or throws {@link AcquirerUnavailable} at once during a pause: then nothing was sent. */
  guard<Result>(call: () => Promise<Result>): Promise<Result>
  isClosed(): boolean
  /** True while requests are refused. After that, while the circuit is still open, one is sent to test it. */
  isPausing(): boolean
  /** 0 closed, 1 open, 2 one request tests whether it answers again. */
  state(): number
}

/**
 * CLOSED: requests are sent. OPEN: they are refused until `until`, by `performance.now()`, which nobody can set back.
 * TESTING: one request is in progress, and the others wait for its end. `tests`: the failed tests since the circuit was
 * closed.
 */
type State =
  | { mode: 'CLOSED'; failures: number }
  | { mode: 'OPEN'; until: number; tests: number }
  | { mode: 'TESTING'; ended: Promise<unknown> }

const numbers = { CLOSED: 0, OPEN: 1, TESTING: 2 }

/**
 * A circuit breaker: while an acquirer does not answer, it gets no load and its callers do not wait. A refusal counts
 * as an answer, and so does a 429, which may concern one kind of request only. An unknown outcome does not, and neither
 * does a refused token.
 */
export function createBreaker({ name, log }: { name: string; log: Log }): Breaker {
  let state: State = { mode: 'CLOSED', failures: 0 }

  function isPausing(): boolean {
    return state.mode === 'OPEN' && performance.now() < state.until
  }

  async function guard<Result>(call: () => Promise<Result>): Promise<Result> {
    while (state.mode === 'TESTING') await state.ended
    if (state.mode === 'CLOSED') return await count(call)
    if (isPausing()) throw new AcquirerUnavailable('The acquirer did not answer lately, so the request was not sent')
    const { tests } = state
    const testing = { mode: 'TESTING' as const, ended: Promise.resolve<unknown>(null) }
    // Before the call: it may fail, and open the circuit again, at once.
    state = testing
    const answer = test(call, tests)
    testing.ended = answer.catch(() => {})
    return await answer
  }

  /** A request that ends after others have opened the circuit changes nothing. */
  async function count<Result>(call: () => Promise<Result>): Promise<Result> {
    try {
      const result = await call()
      if (state.mode === 'CLOSED') state.failures = 0
      return result
    } catch (error) {
      if (state.mode === 'CLOSED' && error instanceof AcquirerUnavailable) {
        state.failures = error instanceof TooManyRequests ? 0 : state.failures + 1
        if (state.failures >= failuresMax) open(0)
      }
      throw error
    }
  }

  async function test<Result>(call: () => Promise<Result>, tests: number): Promise<Result> {
    try {
      const result = await call()
      close()
      return result
    } catch (error) {
      if (error instanceof AcquirerUnavailable && !(error instanceof TooManyRequests)) open(tests + 1)
      else close()
      throw error
    }
  }

  /** The pause varies, so that several processes do not test at the same moment. */
  function open(tests: number): void {
    const pause = Math.min(pauseMs.first * 2 ** tests, pauseMs.max) * (0.5 + Math.random() / 2)
    state = { mode: 'OPEN', until: performance.now() + pause, tests }
    log.warn({ acquirer: name }, 'an acquirer does not answer: requests to it are paused')
  }

  function close(): void {
    state = { mode: 'CLOSED', failures: 0 }
    log.info({ acquirer: name }, 'an acquirer answers again')
  }

  return {
    guard,
    isClosed: () => state.mode === 'CLOSED',
    isPausing,
    state: () => numbers[state.mode],
  }
}
