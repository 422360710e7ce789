import { Gauge, type Registry } from 'prom-client'
import { type Db, sql } from '../db/sql.ts'

/** How many jobs wait and for how long, and how busy the connections are: read when the metrics are. */
export function observeJobs({ db, registry }: { db: Db; registry: Registry }): void {
  const age = new Gauge({
    name: 'jobs_oldest_due_seconds',
    help: 'Age of the oldest job that is due',
    registers: [registry],
  })
  const failing = new Gauge({
    name: 'jobs_failing',
    help: 'Jobs that failed at least once and will be tried again',
    registers: [registry],
  })
  const givenUp = new Gauge({
    name: 'jobs_given_up',
    help: 'Jobs that failed for good and wait for the operator',
    registers: [registry],
  })
  new Gauge({
    name: 'jobs_due',
    help: 'Jobs that are due and not done',
    registers: [registry],
    async collect() {
      const [row] = await db.query<{ due: number; age: number; failing: number; given_up: number }>(sql`
        select count(*) filter (where is_open and run_at <= now()) as due,
          coalesce(extract(epoch from now() - min(run_at) filter (where is_open and run_at <= now())), 0)::float8 as age,
          count(*) filter (where is_open and last_error is not null) as failing,
          count(*) filter (where not is_open) as given_up
        from graphile_worker._private_jobs, lateral (select is_available or locked_at is not null) as state (is_open)`)
      this.set(row?.due ?? 0)
      age.set(row?.age ?? 0)
      failing.set(row?.failing ?? 0)
      givenUp.set(row?.given_up ?? 0)
    },
  })
  new Gauge({
    name: 'database_connections',
    help: "This process's connections to PostgreSQL by state; waiting counts callers without one",
    labelNames: ['state'],
    registers: [registry],
    collect() {
      this.set({ state: 'busy' }, db.pool.totalCount - db.pool.idleCount)
      this.set({ state: 'idle' }, db.pool.idleCount)
      this.set({ state: 'waiting' }, db.pool.waitingCount)
    },
  })
}
