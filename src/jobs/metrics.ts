import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import { registerGauges } from '../lib/gauges.ts'
import { findJobBacklog, listClocks } from './store.ts'

/**
 * How many jobs wait and for how long, the clocks of the machines, and the connections of this process. Read whenever
 * the metrics are requested. `timed`: the names of the jobs whose waiting time is measured. A job of another version,
 * or whose setting is missing, is known to no process and never runs, so it is left out.
 */
export function observeJobs({ db, registry, timed }: { db: Db; registry: Registry; timed: string[] }): void {
  registerGauges(registry, async () => await findJobBacklog(db, timed), [
    {
      name: 'guiche_jobs_oldest_due_seconds',
      help: 'Seconds since the oldest waiting job became due, without scheduled reports and jobs that no process knows',
      value: ({ oldestDueSeconds }) => oldestDueSeconds,
    },
    {
      name: 'guiche_jobs_failing',
      help: 'Jobs that failed at least once and will be tried again',
      value: ({ failing }) => failing,
    },
    {
      name: 'guiche_jobs_given_up',
      help: 'Jobs that failed for good and wait for the operator',
      value: ({ givenUp }) => givenUp,
    },
    { name: 'guiche_jobs_due', help: 'Jobs that are due and not done', value: ({ due }) => due },
  ])
  new Gauge({
    name: 'guiche_clock_ahead_seconds',
    aggregator: 'max',
    help: 'How far the clock of a machine was last found to be ahead of that of PostgreSQL; negative if it is behind',
    labelNames: ['host'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { host, aheadMs } of await listClocks(db)) this.set({ host }, aheadMs / 1_000)
    },
  })
  new Gauge({
    name: 'guiche_database_connections',
    help: "The service's connections to PostgreSQL by state; waiting counts callers without one",
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'busy' }, db.pool.totalCount - db.pool.idleCount)
      this.set({ state: 'idle' }, db.pool.idleCount)
      this.set({ state: 'waiting' }, db.pool.waitingCount)
    },
  })
}
