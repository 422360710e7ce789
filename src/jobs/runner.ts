import { EventEmitter } from 'node:events'
import { Logger, type Runner, run, runMigrations, type Task } from 'graphile-worker'
import type { Logger as Log } from 'pino'
import type { Db } from '../db/sql.ts'
import { holdInstanceLock } from './instances.ts'
import type { Job } from './jobs.ts'

export type QueueRunner = {
  /** Resolves when it runs no more, asked to or not. */
  ended: Promise<void>
  /** Takes no more jobs and waits for those in hand. */
  stop(): Promise<void>
}

type Options = {
  db: Db
  log: Log
  jobs: Record<string, Job>
  /** Names of jobs that a schedule asks for: one that fails is not tried again before that. */
  recurring: string[]
  stopping: AbortSignal
}

const concurrency = 8
const pollIntervalMs = 1_000

/** The library's worker, with the lock that shows others that it lives. */
export async function startQueueRunner(options: Options): Promise<QueueRunner> {
  const { db, log, stopping } = options
  let instance = ''
  const events = new EventEmitter()
  events.on('pool:create', ({ workerPool }: { workerPool: { id: string } }) => {
    instance = workerPool.id
  })
  let open = () => {}
  const lockKnown = new Promise<void>((resolve) => {
    open = resolve
  })
  const stop = new Promise<void>((resolve) => {
    if (stopping.aborted) resolve()
    stopping.addEventListener('abort', () => resolve(), { once: true })
  })

  const runner: Runner = await run({
    preset: {
      worker: {
        // Unbatched, the library awaits nobody's answer to "this job is done": a connection lost at that moment would end the process.
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
    pgPool: db.pool,
    taskList: Object.fromEntries(Object.keys(options.jobs).map((name) => [name, toTask(name, options)])),
    concurrency,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    logger: toJobLogger(log),
    events,
    crontab: '',
    // Asked before each claim: a job is taken only while the lock is held, or it would be taken from us again.
    forbiddenFlags: async () => {
      await Promise.race([lockKnown.then(async () => await lock.held()), stop])
      return null
    },
  })
  const lock = holdInstanceLock(db, { instance, log })
  open()
  const ended = runner.promise.then(
    async () => await lock.release(),
    async () => await lock.release(),
  )
  return {
    ended,
    async stop() {
      // It rejects when the runner has ended by itself, which `ended` tells as well.
      await runner.stop().catch(() => {})
      await ended
    },
  }
}

function toTask(name: string, { log, jobs, recurring, stopping }: Options): Task {
  return async (payload, { job: { attempts, max_attempts: attemptsMax } }) => {
    try {
      await jobs[name]?.(payload, stopping)
    } catch (error) {
      if (recurring.includes(name)) return log.error({ err: error, job: name }, 'a recurring job failed')
      if (attempts < attemptsMax)
        log.warn({ err: error, job: name, attempt: attempts }, 'a job failed and will be tried again')
      else log.error({ err: error, job: name, payload }, 'a job failed for good')
      throw error
    }
  }
}

export async function migrateQueue(db: Db, log: Log): Promise<void> {
  await runMigrations({ pgPool: db.pool, logger: toJobLogger(log) })
}

function toJobLogger(log: Log): Logger {
  return new Logger(() => (level, message, meta) => {
    // A job that failed was told of above, with its cause.
    if (meta?.failure === true) return
    if (level === 'error') log.error(message)
    else if (level === 'warning') log.warn(message)
    else log.debug(message)
  })
}
