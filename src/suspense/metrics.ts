import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import { countOtherCells } from './other-cell-store.ts'
import { countOpenSuspense } from './store.ts'

/** How many payments wait for a decision or for their return, and are of other cells, read at each scrape. */
export function observeSuspense({ db, registry }: { db: Db; registry: Registry }): void {
  new Gauge({
    name: 'guiche_suspense_payments',
    aggregator: 'max',
    help: 'Payments in suspense: held, until an operator decides, or returning, until the acquirer confirms the return',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      const counts = await countOpenSuspense(db)
      for (const status of ['held', 'returning'] as const) this.set({ status }, counts[status])
    },
  })
  new Gauge({
    name: 'guiche_other_cell_payments',
    aggregator: 'max',
    help: 'Payments of another cell that an acquirer listed here: its account is configured in two cells',
    labelNames: ['cell'],
    registers: [registry],
    async collect() {
      for (const { cell, count } of await countOtherCells(db)) this.set({ cell }, count)
    },
  })
}
