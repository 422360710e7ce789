import { Gauge, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import { findJobBacklog } from './store.ts'

/** How many jobs wait and for how long, and how busy the connections are: read when the metrics are. */
export function observeJobs({ db, registry }: { db: Db; registry: Registry }): void {
  const age = new Gauge({
    name: 'guiche_jobs_oldest_due_seconds',
    aggregator: 'max',
    help: 'Age of the oldest job that is due',
    registers: [registry],
  })
  const failing = new Gauge({
    name: 'guiche_jobs_failing',
    aggregator: 'max',
    help: 'Jobs that failed at least once and will be tried again',
    registers: [registry],
  })
  const givenUp = new Gauge({
    name: 'guiche_jobs_given_up',
    aggregator: 'max',
    help: 'Jobs that failed for good and wait for the operator',
    registers: [registry],
  })
  new Gauge({
    name: 'guiche_jobs_due',
    aggregator: 'max',
    help: 'Jobs that are due and not done',
    registers: [registry],
    async collect() {
      const backlog = await findJobBacklog(db)
      this.set(backlog.due)
      age.set(backlog.oldestDueSeconds)
      failing.set(backlog.failing)
      givenUp.set(backlog.givenUp)
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
