import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { countOtherCells } from './other-cell-store.ts'
import { countOpenSuspense } from './store.ts'

/**
 * For how long after it was first seen a payment of another cell counts. So the alert lasts longer than a weekend, and
 * ends automatically some days after the cause is fixed.
 */
const otherCellMs = 7 * 24 * 60 * 60_000

type Deps = { db: Db; clock: Clock; registry: Registry }

/**
 * Gauges: the number of payments in suspense, the age of the oldest, and the number of payments that belong to other
 * cells. The database is queried at each scrape.
 */
export function observeSuspense({ db, clock, registry }: Deps): void {
  const shared = { aggregator: 'max' as const, labelNames: ['status'], registers: [registry] }
  new Gauge({
    ...shared,
    name: 'guiche_suspense_payments',
    help: 'Payments in suspense: held, until an operator decides, or returning, until the acquirer confirms the return',
    async collect() {
      const { held, returning } = await countOpenSuspense(db)
      this.set({ status: 'held' }, held)
      this.set({ status: 'returning' }, returning)
    },
  })
  new Gauge({
    ...shared,
    name: 'guiche_suspense_oldest_seconds',
    help: 'How long the oldest payment in suspense has had this status; 0 while there is none',
    async collect() {
      const { waitingSince, returningSince } = await countOpenSuspense(db)
      const age = (since: Date | null) => (since ? Math.max(0, clock.now().getTime() - since.getTime()) / 1000 : 0)
      this.set({ status: 'held' }, age(waitingSince))
      this.set({ status: 'returning' }, age(returningSince))
    },
  })
  new Gauge({
    name: 'guiche_other_cell_payments',
    aggregator: 'max',
    help: 'Payments that belong to another cell (another Guichê installation) and that an acquirer first listed here in the last seven days: its account is configured in both',
    labelNames: ['cell'],
    registers: [registry],
    async collect() {
      this.reset()
      const since = new Date(clock.now().getTime() - otherCellMs)
      for (const { cell, count } of await countOtherCells(db, { since })) this.set({ cell }, count)
    },
  })
}
