import type { Logger as Log } from 'pino'
import type { Db, Tx } from '../db/sql.ts'
import { type ReleaseLeases, releaseDeadInstances } from './instances.ts'
import { startQueueRunner } from './runner.ts'
import { insertJobs, insertOrReplaceJob, type JobRow, releaseJobsOf } from './store.ts'

/**
 * A function that the worker runs under a name. It may run again after a crash, so repeated calls must have the effect
 * of one. A long job checks `stopping` between steps.
 */
export type Job = (payload: unknown, stopping: AbortSignal) => Promise<void>

export type JobSchedule = {
  /** The longest pause before a run that is needed, whatever the number of processes. */
  everySeconds: number
  /** Whether a run would find anything to do. Without it, there is a run each time. */
  isNeeded?: () => Promise<boolean>
}

export type Jobs = { stop(): Promise<void> }

export type NewJob = JobRow & {
  /**
   * What happens to an existing job with the same key: a waiting one is replaced (the default), or it is kept and the
   * new one is dropped.
   */
  ifQueued?: 'replace' | 'keep'
}

/** About a week of attempts, a minute apart: as far back as the payment poller reads. */
const attemptsMax = 10_000
/** How soon others notice that a process has died. */
const releaseEveryMs = 1_000
/** How often a process that is alone checks for others. They notify it when they start, but that may be lost. */
const releaseWhenAloneEveryMs = 10_000
/** Jobs with longer periods read much data: a process that has just started serves its first requests before them. */
const longPeriodMs = 60_000
const longJobsStartAfterMs = 10_000

/** Puts a job into the queue in the caller's transaction. */
export async function enqueueJob(db: Db | Tx, { ifQueued = 'replace', ...job }: NewJob): Promise<void> {
  if (ifQueued === 'keep') await insertJobs(db, [job], attemptsMax)
  else await insertOrReplaceJob(db, job, attemptsMax)
}

/** The same for many. One whose key exists already is dropped. */
export async function enqueueJobs(db: Db | Tx, jobs: JobRow[]): Promise<void> {
  if (jobs.length > 0) await insertJobs(db, jobs, attemptsMax)
}

type Options = {
  db: Db
  instance: number
  log: Log
  jobs: Record<string, Job>
  schedules: Record<string, JobSchedule>
  /** Names of jobs that take long and that nobody waits for: of each name a process runs one at a time. */
  oneAtOnce?: string[]
  /** Releases what dead instances had leased in the other queues. */
  releaseLeases?: ReleaseLeases
  /** Called when such leases were released. */
  onReleased?: () => void
}

/**
 * Runs jobs until stopped. A job that throws is retried after pauses of up to a minute, or, if it has a schedule, at
 * its next time. Each process holds a database lock for as long as it lives, so other processes take over the jobs of
 * one that died within seconds.
 */
export async function startJobs(options: Options): Promise<Jobs> {
  const { db, instance, log, jobs, schedules, oneAtOnce = [], releaseLeases = async () => {}, onReleased } = options
  const stopping = new AbortController()
  let lastBeganAt = 0
  let nextReleaseAt = 0
  const runner = startQueueRunner({
    db,
    instance,
    log,
    jobs,
    recurring: Object.keys(schedules),
    oneAtOnce,
    onNewInstance: () => {
      lastBeganAt = performance.now()
      nextReleaseAt = 0
    },
    stopping: stopping.signal,
  })
  // When the start is reported, other processes must already see this one.
  await runner.alive()
  const all = Object.entries(schedules).map(([name, { everySeconds, isNeeded }]) => ({
    name,
    everyMs: everySeconds * 1000,
    isNeeded: isNeeded ?? (async () => true),
  }))
  // After a crash, no job with a short period should have to wait for its first one. One after another and in one
  // statement: many at the same time would open as many connections.
  const starting = attempt(log, async () => {
    const needed: JobRow[] = []
    for (const { name, everyMs, isNeeded } of all)
      if (everyMs < longPeriodMs && (await isNeeded())) needed.push(toRecurring(name))
    await enqueueJobs(db, needed)
  })
  const recurring = [
    repeat({ everyMs: releaseEveryMs, phase: 0, firstAfterMs: 0 }, log, async () => {
      if (performance.now() < nextReleaseAt) return
      const beganAfter = lastBeganAt
      const { dead, isAlone } = await releaseDeadInstances(db, instance, async (tx, instances) => {
        await releaseJobsOf(tx, instances)
        await releaseLeases(tx, instances)
      })
      if (isAlone && beganAfter === lastBeganAt) nextReleaseAt = performance.now() + releaseWhenAloneEveryMs
      if (dead.length === 0) return
      onReleased?.()
      log.warn({ instances: dead }, 'took over the work of processes that ended or lost their connection')
    }),
    // Each job at a different time, which is the same in every process.
    ...all.map(({ name, everyMs, isNeeded }, index) => {
      const first = everyMs < longPeriodMs ? {} : { firstAfterMs: longJobsStartAfterMs }
      return repeat({ everyMs, phase: index / all.length, ...first }, log, async () => {
        if (await isNeeded()) await enqueueJobs(db, [toRecurring(name)])
      })
    }),
  ]
  return {
    async stop() {
      stopping.abort()
      await Promise.all([starting, ...recurring.map(async (one) => await one.stop())])
      await runner.ended()
    },
  }
}

/** Under a key of its own it waits or runs once, however many processes ask for it. */
function toRecurring(name: string): JobRow {
  return { name, payload: {}, key: name }
}

async function attempt(log: Log, work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => log.error({ err: error }, 'a recurring task failed'))
}

/**
 * Runs a function periodically, at times that are whole periods since 1970 plus the phase; never twice concurrently.
 * `firstAfterMs`: for the first time after this time, instead of at the end of the current period.
 */
function repeat(
  { everyMs, phase, firstAfterMs }: { everyMs: number; phase: number; firstAfterMs?: number },
  log: Log,
  work: () => Promise<void>,
): { stop(): Promise<void> } {
  let running: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined
  const runAndSchedule = () => {
    running ??= attempt(log, work).finally(() => {
      running = null
    })
    schedule()
  }
  // A timer may fire slightly early, and would then be set for the same time again.
  const schedule = () => {
    timer = setTimeout(runAndSchedule, Math.ceil(everyMs - ((Date.now() - phase * everyMs) % everyMs)) + 1)
  }
  if (firstAfterMs === undefined) schedule()
  else if (firstAfterMs === 0) runAndSchedule()
  else timer = setTimeout(runAndSchedule, firstAfterMs)
  return {
    async stop() {
      clearTimeout(timer)
      await running
    },
  }
}
