import { Gauge, type Registry } from 'prom-client'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Db } from '../db/sql.ts'
import { sumMoves } from '../entries/store.ts'

/** What the page over all cells needs to know of this one (operator/cells.ts). Without a cell they have no values. */
export function observeCell({
  db,
  registry,
  acquirers: { cell },
  version,
}: {
  db: Db
  registry: Registry
  acquirers: Pick<Acquirers, 'cell'>
  version: string
}): void {
  const info = new Gauge({
    name: 'guiche_cell_info',
    aggregator: 'max',
    help: '1, with the name of this cell and the version of its service; absent if it is no cell',
    labelNames: ['cell', 'version'],
    registers: [registry],
  })
  if (cell !== null) info.set({ cell, version }, 1)
  new Gauge({
    name: 'guiche_moved_cents',
    aggregator: 'max',
    help: 'Sum of the merchants’ balances that were moved to another cell, and from it, in cents',
    labelNames: ['direction', 'cell'],
    registers: [registry],
    async collect() {
      for (const { direction, cell, cents } of await sumMoves(db)) this.set({ direction, cell }, cents)
    },
  })
}
