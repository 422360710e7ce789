import { EventEmitter } from 'node:events'
import { Logger, type Runner, run, runMigrations, type Task } from 'graphile-worker'
import type { Logger as Log } from 'pino'
import { type Db, sql, type Tx } from '../db/sql.ts'
import { holdInstanceLock, unlockJobsOfDeadInstances } from './instances.ts'

/** What the worker runs under a name. It may be run again after a crash, so it does its work once however often it is called. */
export type Job = (payload: unknown) => Promise<void>

export type JobSchedule = {
  /** The longest pause between two runs, whatever the number of processes. */
  everySeconds: number
}

export type Jobs = { stop(): Promise<void> }

const attemptsMax = 25
const concurrency = 8
const pollIntervalMs = 1_000
const unlockEveryMs = 2_000

/** Puts a job into the queue in the caller's transaction. With a `key`, a job that waits under the same key is replaced. */
export async function enqueueJob(
  db: Db | Tx,
  job: { name: string; payload: object; key?: string; runAt?: Date },
): Promise<void> {
  await db.query(sql`
    select graphile_worker.add_job(
      ${job.name}, ${JSON.stringify(job.payload)}::json, run_at => coalesce(${job.runAt ?? null}::timestamptz, now()),
      max_attempts => ${attemptsMax}, job_key => ${job.key ?? null})`)
}

/** Creates or updates the queue's own tables. */
export async function migrateJobs(db: Db, log: Log): Promise<void> {
  await runMigrations({ pgPool: db.pool, logger: toJobLogger(log) })
}

type Options = { db: Db; log: Log; jobs: Record<string, Job>; schedules: Record<string, JobSchedule> }

/**
 * Runs jobs until stopped. A job that throws is tried again later and later; one whose process died is taken over within seconds,
 * since each process holds a lock in the database for as long as it lives.
 */
export async function startJobs(options: Options): Promise<Jobs> {
  const { db, log } = options
  const runner = await startRunner(options)
  const lock = await holdInstanceLock(db, runner.poolId)
  const timers = [
    repeat(unlockEveryMs, log, async () => {
      const unlocked = await unlockJobsOfDeadInstances(db)
      if (unlocked.length > 0) log.warn({ instances: unlocked }, 'took over the jobs of processes that ended')
    }),
    ...Object.entries(options.schedules).map(([name, { everySeconds }]) =>
      // Under a key of its own the job waits once, however many processes ask for it.
      repeat(everySeconds * 1000, log, async () => await enqueueJob(db, { name, payload: {}, key: name })),
    ),
  ]
  return {
    async stop() {
      for (const timer of timers) clearInterval(timer)
      await runner.stop()
      await lock.release()
    },
  }
}

async function startRunner(options: Options): Promise<{ poolId: string; stop(): Promise<void> }> {
  let poolId = ''
  const taskList: Record<string, Task> = Object.fromEntries(
    Object.entries(options.jobs).map(([name, job]) => [name, async (payload: unknown) => await job(payload)]),
  )
  const events = new EventEmitter()
  events.on('pool:create', ({ workerPool }: { workerPool: { id: string } }) => {
    poolId = workerPool.id
  })
  const runner: Runner = await run({
    pgPool: options.db.pool,
    taskList,
    concurrency,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    logger: toJobLogger(options.log),
    events,
    crontab: '',
  })
  return { poolId, stop: async () => await runner.stop() }
}

function repeat(everyMs: number, log: Log, work: () => Promise<void>): NodeJS.Timeout {
  let isRunning = false
  return setInterval(() => {
    if (isRunning) return
    isRunning = true
    work()
      .catch((error: unknown) => log.error({ err: error }, 'a recurring task failed'))
      .finally(() => {
        isRunning = false
      })
  }, everyMs)
}

function toJobLogger(log: Log): Logger {
  return new Logger(() => (level, message, meta) => {
    if (level === 'error') log.error({ job: meta?.job }, message)
    else if (level === 'warning') log.warn(message)
    else log.debug(message)
  })
}
