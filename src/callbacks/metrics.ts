import { Counter, Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { findInboxBacklog } from './store.ts'

/** Metrics of the callbacks still to be processed, read at each scrape. */
export function observeInbox({ db, clock, registry }: { db: Db; clock: Clock; registry: Registry }): void {
  const age = new Gauge({
    name: 'guiche_callbacks_oldest_due_seconds',
    aggregator: 'max',
    help: 'How long the oldest callback that is due has waited',
    registers: [registry],
  })
  const failing = new Gauge({
    name: 'guiche_callbacks_failing',
    aggregator: 'max',
    help: 'Callbacks that could not be checked at the last attempt and will be tried again',
    registers: [registry],
  })
  new Gauge({
    name: 'guiche_callbacks_due',
    aggregator: 'max',
    help: 'Callbacks that are due for a check and not leased by a process',
    registers: [registry],
    async collect() {
      const now = clock.now()
      const backlog = await findInboxBacklog(db, now)
      this.set(backlog.due)
      age.set(backlog.oldest ? (now.getTime() - backlog.oldest.getTime()) / 1000 : 0)
      failing.set(backlog.failing)
    },
  })
}

/** Counts refused calls, and skipped entries of calls. */
export function countRefusals(registry: Registry): (acquirer: string, reason: string) => void {
  const refused = new Counter({
    name: 'guiche_callbacks_refused_total',
    help: 'Callbacks that were refused, and payments in callbacks that were skipped, by reason',
    labelNames: ['acquirer', 'reason'],
    registers: [registry],
  })
  return (acquirer, reason) => refused.inc({ acquirer, reason })
}
