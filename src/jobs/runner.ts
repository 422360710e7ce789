import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger as Log } from 'pino'
import type { Db } from '../db/sql.ts'
import { createPollPause, createSignal } from '../lib/signal.ts'
import { inSpan } from '../lib/spans.ts'
import { holdInstanceLock } from './instances.ts'
import type { Job } from './jobs.ts'
import { type ClaimedJob, claimJobs, deleteJob, postponeJob, releaseJobs } from './store.ts'

export type QueueRunner = {
  /** Resolves when this process holds the lock that shows other processes that it is alive, or when it is stopped. */
  alive(): Promise<void>
  /** To be called after `stopping` was aborted. Waits for the jobs in progress, then releases the lock. */
  ended(): Promise<void>
}

type Options = {
  db: Db
  /** Claims the jobs. */
  instance: number
  log: Log
  jobs: Record<string, Job>
  /** Names of jobs that a schedule enqueues: one that fails is not tried again before the schedule enqueues it. */
  recurring: string[]
  /**
   * Names of long jobs. This process runs at most one job of each of these names at a time, so that there is capacity
   * for jobs that somebody waits for.
   */
  oneAtOnce: string[]
  /** Called when an instance has started, also this one. */
  onNewInstance: () => void
  stopping: AbortSignal
}

const atOnceMax = 8
/** A notification announces a new job at once; a postponed one is found by polling. */
const pollEveryMs = { minMs: 1_000, maxMs: 2_000 }
/** The pause after a database error: when the database is available again, it must not get a burst of requests. */
const faultPauseMs = 1_000
/**
 * For this long after an error, this process releases jobs that it has claimed according to the database but does not
 * run. A server that was frozen, or that waits for a standby, may carry out a claim long after the connection has
 * ended. Without this, such a job would stay claimed until the process ends.
 */
const doubtMs = 60_000
/** The longest pause before a failed job is tried again. Many jobs call an acquirer, which may be available by then. */
const retryPauseMaxSeconds = 60

/**
 * Runs the jobs of the queue until stopped. A connection that breaks at any moment neither ends the process nor loses a
 * job.
 */
export function startQueueRunner({
  db,
  instance,
  log,
  jobs,
  recurring,
  oneAtOnce,
  onNewInstance,
  stopping,
}: Options): QueueRunner {
  const signal = createSignal()
  const pause = createPollPause(pollEveryMs)
  const lock = holdInstanceLock(db, { instance, log, onNewJob: signal.notify, onNewInstance, stopping })
  const inHand = new Map<number, { name: string; work: Promise<void> }>()
  let doubtEndsAt = 0
  const beginDoubt = () => {
    doubtEndsAt = performance.now() + doubtMs
  }
  stopping.addEventListener('abort', signal.notify, { once: true })
  const running = runRounds()

  return {
    alive: lock.held,
    async ended() {
      await running
      await Promise.all([...inHand.values()].map(async ({ work }) => await work))
      await lock.release()
    },
  }

  async function runRounds(): Promise<void> {
    while (!stopping.aborted) {
      // Jobs are claimed only while the lock is held; otherwise they would be taken from us again.
      await lock.held()
      const hasMore = await runRound().catch(async (error: unknown) => {
        beginDoubt()
        log.error({ err: error }, 'jobs could not be claimed')
        await sleep(faultPauseMs, undefined, { signal: stopping }).catch(() => {})
        return false
      })
      if (!hasMore) await signal.wait(pause.ms())
    }
  }

  /** True when there may be more that is due. */
  async function runRound(): Promise<boolean> {
    if (stopping.aborted) return false
    if (performance.now() < doubtEndsAt) await releaseJobs(db, { instance, inHand: [...inHand.keys()] })
    const limit = atOnceMax - inHand.size
    if (limit === 0) return false
    const running = new Set([...inHand.values()].map(({ name }) => name))
    const names = Object.keys(jobs).filter((name) => !(oneAtOnce.includes(name) && running.has(name)))
    const claimed = await claimJobs(db, { instance, names, oneAtOnce, limit, inHand: [...inHand.keys()] })
    for (const job of claimed) {
      pause.noteWork()
      const work = runJob(job).finally(() => {
        // The loop is woken only if this job may have prevented a claim: the process ran its maximum number of jobs, or
        // the job is one of `oneAtOnce`.
        if (inHand.size === atOnceMax || oneAtOnce.includes(job.name)) signal.notify()
        inHand.delete(job.id)
      })
      inHand.set(job.id, { name: job.name, work })
    }
    return claimed.length === limit
  }

  async function runJob({ id, name, payload, attempts, attemptsMax }: ClaimedJob): Promise<void> {
    const failure = await attempt(name, payload)
    try {
      if (failure === null || recurring.includes(name)) await deleteJob(db, { instance, id })
      else {
        const pauseSeconds = Math.min(retryPauseMaxSeconds, 2 ** (attempts - 1))
        await postponeJob(db, { instance, id, pauseSeconds, error: failure.message })
      }
    } catch (error) {
      beginDoubt()
      log.error({ err: error, job: name }, 'the end of a job could not be written, so it will be run again')
    }
    if (failure === null) return
    const data = { err: failure, job: name, attempt: attempts }
    if (recurring.includes(name)) log.error(data, 'a recurring job failed')
    else if (attempts < attemptsMax) log.warn(data, 'a job failed and will be tried again')
    else log.error({ ...data, payload }, 'a job failed for good')
  }

  async function attempt(name: string, payload: unknown): Promise<Error | null> {
    const job = jobs[name]
    try {
      await inSpan(
        `job ${name}`,
        () => ({ kind: 'consumer', parent: null }),
        async () => await job?.(payload, stopping),
      )
      return null
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
  }
}
