import { leaseMs } from '../../src/callbacks/receive.ts'
import { claimNotices } from '../../src/callbacks/store.ts'
import { enqueueJob } from '../../src/jobs/jobs.ts'
import { claimJobs, deleteJob, postponeJob } from '../../src/jobs/store.ts'
import { isInjected } from './attempt.ts'
import type { World } from './world.ts'

/**
 * The scheduled jobs that can change money or statuses. The verification of the ledger, which can freeze payouts, is
 * enqueued only by the step `runScheduled`.
 */
export const scheduledJobs = [
  'transactions.check',
  'transactions.check-refunds',
  'transactions.poll',
  'transactions.poll-returns',
  'transactions.disputes',
  'withdrawals.check',
  'withdrawals.returns',
]

/**
 * Takes some jobs of the queue and some callbacks of the inbox, and works on them, concurrently or one after the other.
 * It uses the program's own statements and jobs, without the timers between them. The next process finds what this one
 * did not finish.
 */
export async function work(
  world: World,
  { limit, isConcurrent }: { limit: number; isConcurrent: boolean },
): Promise<string[]> {
  const { instance, deps, jobs, processNotice } = world.process
  const run: string[] = []
  try {
    const claimed = await claimJobs(deps.db, { instance, names: Object.keys(jobs), oneAtOnce: [], limit, inHand: [] })
    claimed.sort((a, b) => a.id - b.id)
    const runOne = async ({ id, name, payload }: (typeof claimed)[number]) => {
      run.push(name)
      const error = await runJob(world, name, payload)
      if (error === null) await deleteJob(deps.db, { instance, id })
      else await postponeJob(deps.db, { instance, id, pauseSeconds: 0, error: error.message })
    }
    const works = [
      ...claimed.map((job) => async () => await runOne(job)),
      ...(await takeNotices(world, limit)).map((notice) => async () => {
        run.push('callback')
        await processNotice(notice)
      }),
    ]
    if (isConcurrent) await settleAll(world.random.shuffle(works).map(async (one) => await one()))
    else for (const one of world.random.shuffle(works)) await one()
  } catch (error) {
    if (!isInjected(error)) throw error
    // The process still lives, but no longer works on what it had claimed. The job runner would release its jobs: here
    // a new process takes its place.
    if (!world.process.injector.isDead()) await world.restartProcess()
  }
  return run
}

/**
 * The notices that the process has already taken, and those that are due. Those of a dead process are due when their
 * lease ends.
 */
async function takeNotices({ process: { instance, deps, inHand }, clock }: World, limit: number) {
  const now = clock.now()
  const leaseUntil = new Date(now.getTime() + leaseMs)
  return [...inHand.splice(0, limit), ...(await claimNotices(deps.db, { now, leaseUntil, limit, instance }))]
}

export async function enqueueScheduled(world: World, name: string): Promise<void> {
  try {
    await enqueueJob(world.process.deps.db, { name, payload: {}, key: name, ifQueued: 'keep' })
  } catch (error) {
    if (!isInjected(error)) throw error
  }
}

/** Runs everything until nothing is left, or only what fails every time. */
export async function workUntilQuiet(world: World): Promise<void> {
  for (const name of scheduledJobs) await enqueueScheduled(world, name)
  for (let rounds = 0; rounds < 40; rounds++)
    if ((await work(world, { limit: 40, isConcurrent: false })).length === 0) return
}

async function runJob({ process: { jobs }, errors }: World, name: string, payload: unknown): Promise<Error | null> {
  try {
    await jobs[name]?.(payload, new AbortController().signal)
    return null
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    errors.push(error)
    return error
  }
}

/** Waits for all of them before it throws the first failure: nothing of a step continues in the next. */
export async function settleAll(works: Promise<void>[]): Promise<void> {
  for (const one of await Promise.allSettled(works)) if (one.status === 'rejected') throw one.reason
}
