import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import { countOpenSuspense } from './store.ts'

/** How much waits for somebody, or for its return: read when the metrics are. */
export function observeSuspense({ db, registry }: { db: Db; registry: Registry }): void {
  new Gauge({
    name: 'suspense_payments',
    aggregator: 'max',
    help: 'Payments in suspense: held, for somebody to look at, or returning, until the acquirer has said what became of that',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      const counts = await countOpenSuspense(db)
      for (const status of ['held', 'returning'] as const) this.set({ status }, counts[status])
    },
  })
}
