import { processNotice } from '../../src/callbacks/process.ts'
import { leaseMs } from '../../src/callbacks/receive.ts'
import { claimNotices } from '../../src/callbacks/store.ts'
import { enqueueJob } from '../../src/jobs/jobs.ts'
import { claimJobs, deleteJob, postponeJob } from '../../src/jobs/store.ts'
import { isInjected } from './attempt.ts'
import type { World } from './world.ts'

/** What a schedule asks for. The look at the books is a step of its own. */
export const sweeps = [
  'transactions.check',
  'transactions.poll',
  'transactions.infractions',
  'withdrawals.check',
  'withdrawals.returns',
]

/**
 * Takes some jobs of the queue, and callbacks of the inbox, and works on them, at once or one after the other: the program's own statements
 * and jobs, without the timers between them. What its process did not live to finish is there for the next process.
 */
export async function work(world: World, { limit, isAtOnce }: { limit: number; isAtOnce: boolean }): Promise<string[]> {
  const { instance, deps, jobs } = world.process
  const run: string[] = []
  try {
    const claimed = await claimJobs(deps.db, { instance, names: Object.keys(jobs), limit })
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
        await processNotice(deps, notice)
      }),
    ]
    if (isAtOnce) await settleAll(world.random.shuffle(works).map(async (one) => await one()))
    else for (const one of world.random.shuffle(works)) await one()
  } catch (error) {
    if (!isInjected(error)) throw error
    // Alive, it does not know what it has in hand; as the runner does, it gives back what it took.
    if (!world.process.life.isDead()) await world.revive()
  }
  return run
}

/** Those in the process' hands, and those that are due: a dead process' when its lease is over. */
async function takeNotices({ process: { deps, inHand }, clock }: World, limit: number) {
  const now = clock.now()
  const leaseUntil = new Date(now.getTime() + leaseMs)
  return [...inHand.splice(0, limit), ...(await claimNotices(deps.db, { now, leaseUntil, limit }))]
}

export async function sweep(world: World, name: string): Promise<void> {
  try {
    await enqueueJob(world.process.deps.db, { name, payload: {}, key: name, whenThere: 'keep' })
  } catch (error) {
    if (!isInjected(error)) throw error
  }
}

/** Runs all that there is to run, until nothing is left or what is left fails every time. */
export async function workUntilQuiet(world: World): Promise<void> {
  for (const name of sweeps) await sweep(world, name)
  for (let rounds = 0; rounds < 40; rounds++)
    if ((await work(world, { limit: 40, isAtOnce: false })).length === 0) return
}

async function runJob({ process: { jobs, errors } }: World, name: string, payload: unknown): Promise<Error | null> {
  try {
    await jobs[name]?.(payload, new AbortController().signal)
    return null
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown))
    errors.push(error)
    return error
  }
}

/** All of them have ended before the first failure is told: nothing of a step goes on in the next. */
export async function settleAll(works: Promise<void>[]): Promise<void> {
  for (const one of await Promise.allSettled(works)) if (one.status === 'rejected') throw one.reason
}
