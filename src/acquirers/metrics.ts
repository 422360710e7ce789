import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Clock } from '../lib/clock.ts'
import type { Acquirer } from './acquirer.ts'
import type { Breaker } from './breaker.ts'
import type { Observed } from './record.ts'

const dayMs = 24 * 60 * 60_000

/** Counts requests to acquirers and measures how long each took. */
export function createRequestObserver(registry: Registry): (request: Observed) => void {
  const requests = new Counter({
    name: 'guiche_acquirer_requests_total',
    help: 'Requests to acquirers by outcome; unknown is a time-out, a broken connection, a 429 or 5xx, an unreadable answer, or an open circuit',
    labelNames: ['acquirer', 'operation', 'outcome'],
    registers: [registry],
  })
  const seconds = new Histogram({
    name: 'guiche_acquirer_request_seconds',
    help: 'How long requests to acquirers took; for a list, processing its entries is included',
    labelNames: ['acquirer', 'operation'],
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  return ({ acquirer, operation, outcome, durationMs }) => {
    requests.inc({ acquirer, operation, outcome })
    seconds.observe({ acquirer, operation }, durationMs / 1000)
  }
}

/** The state of each acquirer, read when the metrics are scraped. */
export function observeAcquirers({
  registry,
  clock,
  acquirers,
}: {
  registry: Registry
  clock: Clock
  acquirers: readonly { acquirer: Acquirer; breaker: Breaker | null }[]
}): void {
  new Gauge({
    name: 'guiche_acquirer_circuit_state',
    aggregator: 'max',
    help: '0: closed, requests are sent; 1: open, it did not answer and gets no requests; 2: half open, one probe checks whether it answers again',
    labelNames: ['acquirer'],
    registers: [registry],
    collect() {
      for (const { acquirer, breaker } of acquirers) this.set({ acquirer: acquirer.name }, breaker?.state() ?? 0)
    },
  })
  new Gauge({
    name: 'guiche_acquirer_certificate_expires_in_days',
    aggregator: 'min',
    help: 'Days until our client certificate at the acquirer expires',
    labelNames: ['acquirer'],
    registers: [registry],
    collect() {
      for (const { acquirer } of acquirers) {
        const end = acquirer.certificate?.expiresAt()
        if (end) this.set({ acquirer: acquirer.name }, (end.getTime() - clock.now().getTime()) / dayMs)
      }
    },
  })
}
