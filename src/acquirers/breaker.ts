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

// So many questions in a row without an outcome, and the next ones are refused unasked: each would take its whole time-out.
const failuresMax = 5
// Then one question at a time tries whether it answers again, at first soon.
const restMs = { initialDelay: 2_000, maxDelay: 60_000 }

export type Breaker = {
  /** Asks, or throws {@link AcquirerUnavailable} at once: not asked, hence not sent. */
  guard<Result>(ask: () => Promise<Result>): Promise<Result>
  isClosed(): boolean
  /** 0 closed, 1 open, 2 one question at a time. */
  state(): number
}

/** Spares an acquirer that does not answer, and its callers the wait. A refusal is an answer; an unknown outcome is none. */
export function createBreaker({ name, log }: { name: string; log: Log }): Breaker {
  const policy = circuitBreaker(
    handleWhen((error) => error instanceof AcquirerUnavailable),
    { halfOpenAfter: new ExponentialBackoff(restMs), breaker: new ConsecutiveBreaker(failuresMax) },
  )
  policy.onBreak(() => log.warn({ acquirer: name }, 'an acquirer does not answer: it is asked again in a while'))
  policy.onReset(() => log.info({ acquirer: name }, 'an acquirer answers again'))
  return {
    async guard(ask) {
      try {
        return await policy.execute(ask)
      } catch (cause) {
        if (!(cause instanceof BrokenCircuitError)) throw cause
        throw new AcquirerUnavailable('The acquirer did not answer lately, and was not asked', { cause })
      }
    },
    isClosed: () => policy.state === CircuitState.Closed,
    state: () => policy.state,
  }
}
