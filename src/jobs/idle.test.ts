import { hostname } from 'node:os'
import { queryObjects } from 'node:v8'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { sql } from '../db/sql.ts'
import { isAnyDue } from './claim.ts'
import { createInstance } from './instances.ts'
import { enqueueJobs, type Job, type JobSchedule, startJobs } from './jobs.ts'
import { observeJobs } from './metrics.ts'

let database: TestDatabase
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
})
afterAll(async () => await database.drop())

async function start(jobs: Record<string, Job>, schedules: Record<string, JobSchedule>, oneAtOnce: string[] = []) {
  const { db } = database
  const lines: { level: number; msg: string }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const { stop } = await startJobs({ db, instance: await createInstance(db), log, jobs, schedules, oneAtOnce })
  stops.push(stop)
  return lines
}

it('runs a scheduled job at the start, not only at the end of a period', async () => {
  const everySeconds = 59
  // A period has just begun.
  const { now } = Date
  const aheadMs = everySeconds * 1_000 - (now() % (everySeconds * 1_000))
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + aheadMs)
  let runs = 0
  const tick = async () => {
    runs += 1
  }
  try {
    await start({ tick }, { tick: { everySeconds } })
    await eventually(() => runs === 1, undefined, 30_000)
  } finally {
    clock.mockRestore()
  }
})

it('runs a scheduled job only when it is needed', async () => {
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

it('runs jobs that must leave room for others one at a time, and all of them', async () => {
  const begun: unknown[] = []
  let release = () => {}
  const slow: Job = async (payload) => {
    begun.push(payload)
    await new Promise<void>((resolve) => {
      release = resolve
    })
  }
  const all = Array.from({ length: 20 }, (_, id) => ({ id }))
  const jobsNamed = (name: string) => all.map((payload) => ({ name, payload }))
  await enqueueJobs(database.db, jobsNamed('slow'))
  let others = 0
  const quick = async () => {
    others += 1
  }
  await start({ slow, quick }, {}, ['slow'])
  await eventually(() => begun.length === 1)
  await enqueueJobs(database.db, jobsNamed('quick'))
  await eventually(() => others === all.length)
  expect(begun).toHaveLength(1)
  for (let count = 1; count < all.length; count += 1) {
    release()
    await eventually(() => begun.length === count + 1)
  }
  release()
  const left = async () => await database.db.query(sql`select from jobs where name = 'slow'`)
  await eventually(async () => (await left()).length === 0)
  expect(begun.map((payload) => (payload as { id: number }).id).toSorted((a, b) => a - b)).toEqual(
    all.map(({ id }) => id),
  )
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
  expect(read).toBe(0)
})

it('compares the clock of the machine with that of PostgreSQL, at the start and while it runs', async () => {
  const registry = new Registry()
  observeJobs({ db: database.db, registry, timed: [] })
  const read = async () => (await registry.getSingleMetric('guiche_clock_ahead_seconds')?.get())?.values ?? []
  const { now } = Date
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000)
  const lines = await start({}, {})
  const [found] = await read()
  clock.mockRestore()
  expect(found?.labels).toEqual({ host: hostname() })
  expect(Math.round(found?.value ?? 0)).toBe(-3_600)
  expect(lines.map(({ level, msg }) => [level, msg])).toEqual([
    [40, 'the clock of this machine differs from that of PostgreSQL'],
  ])
  await eventually(async () => (await read())[0]?.value === 0)
  await eventually(() => lines[1]?.msg === 'the clock of this machine agrees with that of PostgreSQL again')
})

it('keeps nothing of a round that has ended', async () => {
  let runs = 0
  const count = async () => {
    runs += 1
  }
  const runMany = async (jobs: number) => {
    runs = 0
    await enqueueJobs(
      database.db,
      Array.from({ length: jobs }, (_, id) => ({ name: 'count', payload: { id } })),
    )
    await eventually(() => runs === jobs)
  }
  await start({ count }, {})
  await runMany(100)
  const before = queryObjects(Promise, { format: 'count' })
  // At most eight jobs are claimed in one round.
  await runMany(1_600)
  expect(queryObjects(Promise, { format: 'count' }) - before).toBeLessThan(150)
})
