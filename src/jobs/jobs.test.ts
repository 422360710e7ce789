import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { connect, type Db, sql } from '../db/sql.ts'
import { enqueueJob, enqueueJobs, type Job, type JobSchedule, startJobs } from './jobs.ts'
import { observeJobs } from './metrics.ts'

let database: TestDatabase
let db: Db
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
  await db.query(sql`delete from graphile_worker._private_jobs`)
})
afterAll(async () => await database.drop())

/** A worker with connections of its own, as a process has, and what it logged. */
async function start(jobs: Record<string, Job>, schedules: Record<string, JobSchedule> = {}) {
  const own = connect({ connectionString: database.connectionString, connectionsMax: 12, onError: () => {} })
  const lines: { level: number; msg: string; job?: string; err?: { message: string } }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const running = await startJobs({ db: own, log, jobs, schedules })
  let isStopped = false
  const stop = async () => {
    if (isStopped) return
    isStopped = true
    await running.stop()
    await own.pool.end()
  }
  stops.push(stop)
  const cutConnections = async () =>
    await db.query(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state is not null`)
  return { lines, stop, cutConnections }
}

const countJobs = async () =>
  (await db.query<{ count: number }>(sql`select count(*) from graphile_worker.jobs`))[0]?.count

it('does each of many jobs once, in two workers', async () => {
  const done: number[] = []
  const jobs = { count: async (payload: unknown) => void done.push((payload as { number: number }).number) }
  await Promise.all([start(jobs), start(jobs)])
  const numbers = Array.from({ length: 200 }, (_, number) => number)
  await enqueueJobs(
    db,
    numbers.map((number) => ({ name: 'count', payload: { number } })),
  )
  await eventually(async () => (await countJobs()) === 0)
  expect(done.sort((a, b) => a - b)).toEqual(numbers)
})

it('tells of a failure with its cause, and tries again', async () => {
  let tries = 0
  const { lines } = await start({
    fragile: async () => {
      tries += 1
      if (tries === 1) throw new Error('the cause')
    },
  })
  await enqueueJob(db, { name: 'fragile', payload: {} })
  await eventually(() => tries === 2)
  expect(lines.filter(({ level }) => level >= 40)).toMatchObject([
    { level: 40, msg: 'a job failed and will be tried again', job: 'fragile', err: { message: 'the cause' } },
  ])
})

it('lets no job that failed wait longer than a minute', async () => {
  await enqueueJob(db, { name: 'fragile', payload: {} })
  await db.query(sql`update graphile_worker._private_jobs set attempts = 30`)
  const { lines } = await start({
    fragile: async () => {
      throw new Error('again')
    },
  })
  await eventually(() => lines.length > 0)
  const [job] = await db.query(sql`
    select attempts, last_error, round(extract(epoch from run_at - now()) / 10)::int * 10 as seconds from graphile_worker.jobs`)
  expect(job).toEqual({ attempts: 31, last_error: 'again', seconds: 60 })
})

it('says aloud when a job has failed for good', async () => {
  await enqueueJob(db, { name: 'hopeless', payload: { id: 1 } })
  await db.query(sql`update graphile_worker._private_jobs set attempts = max_attempts - 1`)
  const { lines } = await start({
    hopeless: async () => {
      throw new Error('a bug')
    },
  })
  await eventually(() => lines.length > 0)
  expect(lines).toMatchObject([{ level: 50, msg: 'a job failed for good', job: 'hopeless', payload: { id: 1 } }])
})

it.each(['fails', 'dies with its process'])('runs a later job under the key of one whose last try %s', async (end) => {
  const done: unknown[] = []
  const job = { name: 'keyed', key: 'one at a time', whenThere: 'keep' } as const
  await enqueueJob(db, { ...job, payload: { id: 1 } })
  await db.query(sql`update graphile_worker._private_jobs set attempts = max_attempts - 1`)
  if (end === 'dies with its process')
    await db.query(sql`
      update graphile_worker._private_jobs set attempts = max_attempts, locked_by = 'a process that died', locked_at = now()`)
  await start({
    keyed: async (payload) => {
      if ((payload as { id: number }).id === 1) throw new Error('a bug')
      done.push(payload)
    },
  })
  const isGivenUp = async () =>
    (await db.query(sql`select from graphile_worker.jobs where locked_at is null and attempts = max_attempts`)).length >
    0
  await eventually(isGivenUp)
  await enqueueJob(db, { ...job, payload: { id: 2 } })
  await eventually(() => done.length > 0)
  expect(done).toEqual([{ id: 2 }])
  // It stays for the operator to see.
  expect(await isGivenUp()).toBe(true)
})

it('runs again what it claimed without hearing of it', async () => {
  const done: string[] = []
  let release = () => {}
  const { lines } = await start({
    lost: async () => void done.push('lost'),
    slow: async () => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      done.push('slow')
    },
  })
  await enqueueJob(db, { name: 'slow', payload: {} })
  const findInstance = async () =>
    (await db.query<{ by: string | null }>(sql`select locked_by as by from graphile_worker.jobs`))[0]?.by ?? null
  await eventually(async () => (await findInstance()) !== null)
  const instance = await findInstance()
  await db.transaction(async (tx) => {
    await enqueueJob(tx, { name: 'lost', payload: {} })
    await tx.query(sql`
      update graphile_worker._private_jobs set locked_by = ${instance}, locked_at = now(), attempts = 1 where locked_by is null`)
  })
  // Whatever a claim failed of: from then on it is not certain what was claimed.
  await db.query(sql`alter table graphile_worker._private_tasks rename to tasks_away`)
  await eventually(() => lines.some(({ msg }) => msg === 'jobs could not be claimed'))
  await db.query(sql`alter table graphile_worker.tasks_away rename to _private_tasks`)
  await eventually(() => done.includes('lost'))
  release()
  await eventually(async () => (await countJobs()) === 0)
  expect(done).toEqual(['lost', 'slow'])
})

it('takes over what a dead process had in hand, and leaves alone what a living one has', async () => {
  let tries = 0
  let release = () => {}
  const slow = async () => {
    tries += 1
    await new Promise<void>((done) => {
      release = done
    })
  }
  const living = await start({ slow })
  await enqueueJob(db, { name: 'slow', payload: {} })
  await eventually(() => tries === 1)
  const other = await start({ slow, quick: async () => {} })
  await db.transaction(async (tx) => {
    await enqueueJob(tx, { name: 'quick', payload: {} })
    await tx.query(sql`
      update graphile_worker._private_jobs set locked_by = 'a process that died', locked_at = now(), attempts = 1
      where task_id = (select id from graphile_worker._private_tasks where identifier = 'quick')`)
  })
  await eventually(async () => (await countJobs()) === 1)
  expect(other.lines.concat(living.lines).filter(({ level }) => level >= 40)).toMatchObject([
    { msg: 'took over the jobs of processes that ended' },
  ])
  expect(tries).toBe(1)
  release()
  await eventually(async () => (await countJobs()) === 0)
  expect(tries).toBe(1)
})

it('survives that all its connections are cut while jobs end, and does every job', async () => {
  const done = new Set<number>()
  const worker = await start({
    count: async (payload) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      done.add((payload as { number: number }).number)
    },
  })
  for (let round = 0; round < 4; round++) {
    const numbers = Array.from({ length: 50 }, (_, index) => round * 50 + index)
    await enqueueJobs(
      db,
      numbers.map((number) => ({ name: 'count', payload: { number } })),
    )
    await new Promise((resolve) => setTimeout(resolve, 20))
    await worker.cutConnections()
  }
  await eventually(async () => (await countJobs()) === 0)
  expect(done.size).toBe(200)
})

it('runs a recurring job in one process at a time, and again after it failed', async () => {
  let running = 0
  let runningMost = 0
  let runs = 0
  const tick = async () => {
    running += 1
    runningMost = Math.max(running, runningMost)
    runs += 1
    await new Promise((resolve) => setTimeout(resolve, 300))
    running -= 1
    throw new Error('it fails each time')
  }
  const schedules = { tick: { everySeconds: 0.05 } }
  const [one] = await Promise.all([start({ tick }, schedules), start({ tick }, schedules)])
  await eventually(() => runs >= 4)
  expect(runningMost).toBe(1)
  expect(one.lines.every(({ msg, job }) => msg === 'a recurring job failed' && job === 'tick')).toBe(true)
  expect(await countJobs()).toBeLessThanOrEqual(1)
})

it('stops while the database is away', async () => {
  const worker = await start({ count: async () => {} })
  const name = new URL(database.connectionString).pathname.slice(1)
  const admin = new URL(database.connectionString)
  admin.pathname = 'postgres'
  const server = connect({ connectionString: admin.href, connectionsMax: 1, onError: () => {} })
  await server.pool.query(`alter database ${name} allow_connections false`)
  await worker.cutConnections().catch(() => {})
  await worker.stop()
  await server.pool.query(`alter database ${name} allow_connections true`)
  await server.pool.end()
})

it('counts in its metrics what waits, what failed, and what was given up', async () => {
  const registry = new Registry()
  observeJobs({ db, registry })
  await enqueueJobs(
    db,
    ['waiting', 'running', 'failed', 'hopeless', 'later'].map((name) => ({
      name,
      payload: {},
      ...(name === 'later' && { runAt: new Date(Date.now() + 3_600_000) }),
    })),
  )
  const set = async (name: string, columns: ReturnType<typeof sql>) =>
    await db.query(sql`
      update graphile_worker._private_jobs set ${columns}
      where task_id = (select id from graphile_worker._private_tasks where identifier = ${name})`)
  await set('running', sql`attempts = 1, locked_at = now(), locked_by = 'somebody'`)
  await set('failed', sql`attempts = 2, last_error = 'away', run_at = now() - interval '90 seconds'`)
  await set('hopeless', sql`attempts = max_attempts, last_error = 'a bug'`)
  const value = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value
  expect(await value('jobs_due')).toBe(3)
  expect(await value('jobs_failing')).toBe(1)
  expect(await value('jobs_given_up')).toBe(1)
  expect(await value('jobs_oldest_due_seconds')).toBeGreaterThanOrEqual(90)
})
