import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { sql } from '../db/sql.ts'
import { isAnyDue } from './claim.ts'
import { createInstance } from './instances.ts'
import { type Job, type JobSchedule, startJobs } from './jobs.ts'

let database: TestDatabase
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})
afterAll(async () => await database.drop())

async function start(jobs: Record<string, Job>, schedules: Record<string, JobSchedule>) {
  const { db } = database
  const log = pino({ level: 'silent' })
  stops.push((await startJobs({ db, instance: await createInstance(db), log, jobs, schedules })).stop)
}

it('runs a scheduled job at the start, and later only when it is needed', async () => {
  let runs = 0
  let inquiries = 0
  const tick = async () => {
    runs += 1
  }
  const isNeeded = async () => {
    inquiries += 1
    return runs < 2
  }
  await start({ tick }, { tick: { everySeconds: 0.05, isNeeded } })
  await eventually(() => inquiries >= 20 && runs >= 2)
  // The answer may be older than the second run.
  expect(runs).toBeLessThanOrEqual(3)
})

it('finds out by an index that nothing is due', async () => {
  const read = await database.db.transaction(async (tx) => {
    await tx.query(sql`create table work (due_at timestamptz, text text)`)
    await tx.query(sql`create index on work (due_at) where due_at is not null`)
    await tx.query(sql`
      insert into work select case when n % 2 = 0 then now() + interval '1 hour' end, repeat('x', 500)
      from generate_series(1, 5000) n`)
    await tx.query(sql`analyze work`)
    await tx.query(sql`set local plan_cache_mode = force_generic_plan`)
    const queue = { table: sql`work`, dueAt: sql`due_at` }
    expect(await isAnyDue(tx, queue, { now: new Date(), name: 'is-work-due' })).toBe(false)
    const later = new Date(Date.now() + 2 * 3_600_000)
    expect(await isAnyDue(tx, queue, { now: later, name: 'is-work-due' })).toBe(true)
    const [row] = await tx.query<{ rows: number }>(sql`
      select seq_tup_read::int as rows from pg_stat_xact_user_tables where relname = 'work'`)
    return row?.rows
  })
  // The index and the statistics were built from the table itself.
  expect(read).toBeLessThanOrEqual(5_000)
})
