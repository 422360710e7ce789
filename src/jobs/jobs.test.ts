import { spawn } from 'node:child_process'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, afterEach, beforeAll, expect, inject, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { connect, type Db, sql } from '../db/sql.ts'
import { createInstance } from './instances.ts'
import { enqueueJob, enqueueJobs, type Job, type JobSchedule, startJobs } from './jobs.ts'
import { observeJobs } from './metrics.ts'

/** An instance whose process died. */
const dead = 1_000_000

let database: TestDatabase
let db: Db
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
})
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop()
  await db.query(sql`delete from jobs`)
})
afterAll(async () => await database.drop())

/** A worker with connections of its own, as a process has, and what it logged. */
async function start(jobs: Record<string, Job>, schedules: Record<string, JobSchedule> = {}) {
  const own = connect({
    connectionString: database.connectionString,
    connectionsMax: 12,
    waitMs: 60_000,
    onError: () => {},
  })
  const lines: {
    level: number
    msg: string
    job?: string
    attempt?: number
    instances?: number[]
    err?: { message: string }
  }[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => lines.push(JSON.parse(line)) })
  const running = await startJobs({ db: own, instance: await createInstance(db), log, jobs, schedules })
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

const countJobs = async () => (await db.query<{ count: number }>(sql`select count(*) from jobs`))[0]?.count

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

it('logs the cause of a failure, and tries again', async () => {
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
  await db.query(sql`update jobs set attempts = 30`)
  const { lines } = await start({
    fragile: async () => {
      throw new Error('again')
    },
  })
  await eventually(() => lines.length > 0)
  const [job] = await db.query(sql`
    select attempts, last_error, round(extract(epoch from run_at - now()) / 10)::int * 10 as seconds from jobs`)
  expect(job).toEqual({ attempts: 31, last_error: 'again', seconds: 60 })
})

it('logs an error when a job has failed for good', async () => {
  await enqueueJob(db, { name: 'hopeless', payload: { id: 1 } })
  await db.query(sql`update jobs set attempts = attempts_max - 1`)
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
  const job = { name: 'keyed', key: 'one at a time', ifQueued: 'keep' } as const
  await enqueueJob(db, { ...job, payload: { id: 1 } })
  await db.query(sql`update jobs set attempts = attempts_max - 1`)
  if (end === 'dies with its process')
    await db.query(sql`
      update jobs set attempts = attempts_max, locked_by = ${dead}, locked_at = now()`)
  await start({
    keyed: async (payload) => {
      if ((payload as { id: number }).id === 1) throw new Error('a bug')
      done.push(payload)
    },
  })
  const isGivenUp = async () =>
    (await db.query(sql`select from jobs where locked_at is null and attempts = attempts_max`)).length > 0
  await eventually(isGivenUp)
  await enqueueJob(db, { ...job, payload: { id: 2 } })
  await eventually(() => done.length > 0)
  expect(done).toEqual([{ id: 2 }])
  // The job that was given up stays in the table, so that the operator sees it.
  expect(await isGivenUp()).toBe(true)
})

it('runs a job that it claimed in a statement whose answer was lost, also if the server carried it out later', async () => {
  const done: string[] = []
  let release = () => {}
  const { lines } = await start({
    lost: async () => void done.push('lost'),
    later: async () => void done.push('later'),
    slow: async () => {
      await new Promise<void>((resolve) => {
        release = resolve
      })
      done.push('slow')
    },
  })
  await enqueueJob(db, { name: 'slow', payload: {} })
  const findInstance = async () =>
    (await db.query<{ by: number | null }>(sql`select locked_by as by from jobs`))[0]?.by ?? null
  await eventually(async () => (await findInstance()) !== null)
  const instance = await findInstance()
  const claimUnnoticed = async (name: string) =>
    await db.transaction(async (tx) => {
      await enqueueJob(tx, { name, payload: {} })
      await tx.query(sql`
        update jobs set locked_by = ${instance}, locked_at = now(), attempts = 1 where locked_by is null`)
    })
  await claimUnnoticed('lost')
  // After a claim has failed for any reason, it is not certain which jobs it claimed.
  await db.query(sql`alter table jobs rename to jobs_hidden`)
  await eventually(() => lines.some(({ msg }) => msg === 'jobs could not be claimed'))
  await db.query(sql`alter table jobs_hidden rename to jobs`)
  await eventually(() => done.includes('lost'))
  // A server that was frozen carries out a claim long after its connection has ended.
  await claimUnnoticed('later')
  await eventually(() => done.includes('later'))
  release()
  await eventually(async () => (await countJobs()) === 0)
  expect(done).toEqual(['lost', 'later', 'slow'])
})

it('takes over the jobs of a dead process, and leaves those of a living one alone', async () => {
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
      update jobs set locked_by = ${dead}, locked_at = now(), attempts = 1
      where name = 'quick'`)
  })
  await eventually(async () => (await countJobs()) === 1)
  expect(other.lines.concat(living.lines).filter(({ level }) => level >= 40)).toMatchObject([
    { msg: 'took over the work of processes that ended or lost their connection' },
  ])
  expect(tries).toBe(1)
  release()
  await eventually(async () => (await countJobs()) === 0)
  expect(tries).toBe(1)
})

it('takes over a job when its process is killed', async () => {
  await enqueueJob(db, { name: 'slow', payload: { id: 1 } })
  const compiled = (path: string) => JSON.stringify(pathToFileURL(`${inject('build')}/src/${path}`).href)
  const source = `
    import { connect } from ${compiled('db/sql.js')}
    import { createInstance } from ${compiled('jobs/instances.js')}
    import { startJobs } from ${compiled('jobs/jobs.js')}
    const db = connect({ connectionString: process.argv[1], connectionsMax: 4, waitMs: 60_000, onError: () => {} })
    const log = { info() {}, warn() {}, error() {} }
    const slow = () => new Promise(() => process.stdout.write('runs'))
    await startJobs({ db, instance: await createInstance(db), log, jobs: { slow }, schedules: {} })`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, database.connectionString], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise((resolve) => child.stdout.once('data', resolve))
  const done: unknown[] = []
  const { lines } = await start({ slow: async (payload) => void done.push(payload) })
  const [claimed] = await db.query<{ locked_by: number | null }>(sql`select locked_by from jobs`)
  expect(claimed?.locked_by).not.toBeNull()
  child.kill('SIGKILL')
  await eventually(async () => (await countJobs()) === 0)
  expect(done).toEqual([{ id: 1 }])
  expect(lines).toMatchObject([
    { msg: 'took over the work of processes that ended or lost their connection', instances: [claimed?.locked_by] },
  ])
})

/** A job that runs until it is released, and what it was called with. */
function createSlowJob() {
  const calls: unknown[] = []
  const releases: (() => void)[] = []
  const run: Job = async (payload) => {
    calls.push((payload as { id: number }).id)
    await new Promise<void>((resolve) => void releases.push(resolve))
  }
  return { calls, run, release: () => releases.shift()?.() }
}

it('runs a job while an earlier one under its key is running, and tries the earlier one again if it fails', async () => {
  const slow = createSlowJob()
  const { lines } = await start({
    keyed: async (payload, stopping) => {
      await slow.run(payload, stopping)
      if (slow.calls.length === 2) throw new Error('the first run fails')
    },
  })
  const job = { name: 'keyed', key: 'one' }
  await enqueueJob(db, { ...job, payload: { id: 1 } })
  await eventually(() => slow.calls.length === 1)
  await enqueueJob(db, { ...job, payload: { id: 2 }, ifQueued: 'keep' })
  await enqueueJob(db, { ...job, payload: { id: 3 } })
  await eventually(() => slow.calls.length === 2)
  expect(await db.query(sql`select payload, key from jobs order by id`)).toEqual([
    { payload: { id: 1 }, key: null },
    { payload: { id: 3 }, key: 'one' },
  ])
  slow.release()
  await eventually(() => slow.calls.length === 3)
  expect(slow.calls).toEqual([1, 3, 1])
  slow.release()
  slow.release()
  await eventually(async () => (await countJobs()) === 0)
  expect(lines).toMatchObject([{ msg: 'a job failed and will be tried again', job: 'keyed', attempt: 1 }])
})

it('never runs a job twice at once in one process, even after another process took this one for dead', async () => {
  const slow = createSlowJob()
  await start({ slow: slow.run })
  await enqueueJob(db, { name: 'slow', payload: { id: 1 }, key: 'one' })
  await eventually(() => slow.calls.length === 1)
  await db.query(sql`update jobs set locked_by = ${dead}`)
  const isReleased = async () => (await db.query(sql`select from jobs where locked_by is null`)).length === 1
  await eventually(isReleased)
  await enqueueJob(db, { name: 'slow', payload: { id: 2 }, key: 'one' })
  await enqueueJob(db, { name: 'slow', payload: { id: 3 } })
  await eventually(() => slow.calls.length === 2)
  expect(slow.calls).toEqual([1, 3])
  slow.release()
  await eventually(() => slow.calls.length === 3)
  expect(slow.calls).toEqual([1, 3, 2])
  slow.release()
  slow.release()
  await eventually(async () => (await countJobs()) === 0)
})

it.each(['replace', 'keep'] as const)(
  'keeps one waiting job per key, however many are enqueued at once: %s',
  async (ifQueued) => {
    const add = async (id: number) => await enqueueJob(db, { name: 'keyed', key: 'one', payload: { id }, ifQueued })
    await add(0)
    await Promise.all(Array.from({ length: 20 }, async (_, index) => await add(index + 1)))
    await enqueueJob(db, { name: 'keyed', key: 'one', payload: { id: 21 }, ifQueued })
    const waiting = await db.query(sql`select payload, attempts from jobs`)
    expect(waiting).toEqual([{ payload: { id: ifQueued === 'keep' ? 0 : 21 }, attempts: 0 }])
  },
)

it('runs the last payload that is enqueued under a key, even if the one before it is being claimed', async () => {
  const runs: number[] = []
  const jobs = { keyed: async (payload: unknown) => void runs.push((payload as { id: number }).id) }
  await Promise.all([start(jobs), start(jobs)])
  for (let id = 1; id <= 100; id++) await enqueueJob(db, { name: 'keyed', key: 'one', payload: { id } })
  await eventually(async () => (await countJobs()) === 0)
  expect(runs).toContain(100)
  expect(new Set(runs).size).toBe(runs.length)
})

it('does every job although all connections of the worker are cut while jobs end', async () => {
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
  let runningMax = 0
  let runs = 0
  const tick = async () => {
    running += 1
    runningMax = Math.max(running, runningMax)
    runs += 1
    await new Promise((resolve) => setTimeout(resolve, 300))
    running -= 1
    throw new Error('it fails each time')
  }
  const schedules = { tick: { everySeconds: 0.05 } }
  const workers = await Promise.all([start({ tick }, schedules), start({ tick }, schedules)])
  await eventually(() => runs >= 4)
  expect(runningMax).toBe(1)
  const lines = workers.flatMap((worker) => worker.lines)
  expect(new Set(lines.map(({ msg, job }) => `${msg}: ${job}`))).toEqual(new Set(['a recurring job failed: tick']))
  expect(await countJobs()).toBeLessThanOrEqual(1)
})

it('stops while the database cannot be reached', async () => {
  const worker = await start({ count: async () => {} })
  const name = new URL(database.connectionString).pathname.slice(1)
  const admin = new URL(database.connectionString)
  admin.pathname = 'postgres'
  const server = connect({ connectionString: admin.href, connectionsMax: 1, waitMs: 60_000, onError: () => {} })
  await server.pool.query(`alter database ${name} allow_connections false`)
  await worker.cutConnections().catch(() => {})
  await worker.stop()
  await server.pool.query(`alter database ${name} allow_connections true`)
  await server.pool.end()
})

it('counts waiting, failed and given-up jobs in its metrics', async () => {
  const registry = new Registry()
  const timed = ['waiting', 'running', 'failed', 'hopeless', 'later']
  observeJobs({ db, registry, timed })
  await enqueueJobs(
    db,
    [...timed, 'unknown'].map((name) => ({
      name,
      payload: {},
      ...(name === 'later' && { runAt: new Date(Date.now() + 3_600_000) }),
    })),
  )
  const set = async (name: string, columns: ReturnType<typeof sql>) =>
    await db.query(sql`
      update jobs set ${columns}
      where name = ${name}`)
  await set('running', sql`attempts = 1, locked_at = now(), locked_by = ${dead}, run_at = now() - interval '1 hour'`)
  await set('unknown', sql`run_at = now() - interval '1 hour'`)
  await set('failed', sql`attempts = 2, last_error = 'away', run_at = now() - interval '90 seconds'`)
  await set('hopeless', sql`attempts = attempts_max, last_error = 'a bug'`)
  const value = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value
  expect(await value('guiche_jobs_due')).toBe(4)
  expect(await value('guiche_jobs_failing')).toBe(1)
  expect(await value('guiche_jobs_given_up')).toBe(1)
  const oldest = await value('guiche_jobs_oldest_due_seconds')
  expect(oldest).toBeGreaterThanOrEqual(90)
  expect(oldest, 'a job that runs is not late, nor one that no process knows').toBeLessThan(3_600)
})
