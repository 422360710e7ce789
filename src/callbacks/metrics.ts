import { Counter, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { registerGauges } from '../lib/gauges.ts'
import { findInboxBacklog } from './store.ts'

/** Metrics of the callbacks still to be processed, read at each scrape. */
export function observeInbox({ db, clock, registry }: { db: Db; clock: Clock; registry: Registry }): void {
  const read = async () => {
    const now = clock.now()
    return { ...(await findInboxBacklog(db, now)), now }
  }
  registerGauges(registry, read, [
    {
      name: 'guiche_callbacks_oldest_due_seconds',
      help: 'How long the oldest callback that is due has waited',
      value: ({ oldest, now }) => (oldest ? (now.getTime() - oldest.getTime()) / 1000 : 0),
    },
    {
      name: 'guiche_callbacks_failing',
      help: 'Callbacks that could not be checked at the last attempt and will be tried again',
      value: ({ failing }) => failing,
    },
    {
      name: 'guiche_callbacks_due',
      help: 'Callbacks that are due for a check and not leased by a process',
      value: ({ due }) => due,
    },
  ])
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
