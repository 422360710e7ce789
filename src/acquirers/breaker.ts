import {
  BrokenCircuitError,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhen,
} from 'cockatiel'
import { AcquirerUnavailable } from './acquirer.ts'
import type { Log } from './bacen/renewal.ts'

// After this many requests in a row without an outcome, the next ones are refused without being sent: each would take
// its whole time-out.
const failuresMax = 5
// Then one request at a time tests whether the acquirer answers again. The pause between two tests grows.
const restMs = { initialDelay: 2_000, maxDelay: 60_000 }

export type Breaker = {
  /** Calls `ask`, or throws {@link AcquirerUnavailable} at once while the circuit is open: then nothing was sent. */
  guard<Result>(ask: () => Promise<Result>): Promise<Result>
  isClosed(): boolean
  /** 0 closed, 1 open, 2 one request at a time. */
  state(): number
}

/**
 * A circuit breaker: while an acquirer does not answer, it gets no load and its callers do not wait. A refusal counts
 * as an answer; an unknown outcome does not.
 */
export function createBreaker({ name, log }: { name: string; log: Log }): Breaker {
  const policy = circuitBreaker(
    handleWhen((error) => error instanceof AcquirerUnavailable),
    { halfOpenAfter: new ExponentialBackoff(restMs), breaker: new ConsecutiveBreaker(failuresMax) },
  )
  policy.onBreak(() => log.warn({ acquirer: name }, 'an acquirer does not answer: requests to it are paused'))
  policy.onReset(() => log.info({ acquirer: name }, 'an acquirer answers again'))
  return {
    async guard(ask) {
      try {
        return await policy.execute(ask)
      } catch (cause) {
        if (!(cause instanceof BrokenCircuitError)) throw cause
        throw new AcquirerUnavailable('The acquirer did not answer lately, so the request was not sent', { cause })
      }
    },
    isClosed: () => policy.state === CircuitState.Closed,
    state: () => policy.state,
  }
}
