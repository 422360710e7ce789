import type { Logger } from 'pino'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Db } from '../db/sql.ts'
import { enqueueJob, type Job } from '../jobs/jobs.ts'
import type { Window } from '../lib/brasilia.ts'
import { newUuid } from '../lib/secrets.ts'
import { type CloseDeps, closeDay } from './close.ts'
import { deletePairs } from './pairs-store.ts'
import { reconcile } from './run.ts'

/** The job that compares, and closes, what somebody asks for at the dashboard. Its key is {@link keyOfAsked}. */
export const byHandJob = 'reconciliation.by-hand'

/** What is asked for: a day, which is compared and closed, or a window, which is compared. */
type Asked = { acquirer: string; day: string } | { acquirer: string; window: Window }

const Payload = Type.Object({
  runId: Type.String(),
  acquirer: Type.String(),
  day: Type.Union([Type.String(), Type.Null()]),
  from: Type.String(),
  to: Type.String(),
})

/** Has it done by the worker, since it may take minutes. Gives the id of the run to come. */
export async function askForRun(db: Db, asked: Asked): Promise<string> {
  const runId = newUuid()
  const { from, to } = 'window' in asked ? asked.window : { from: null, to: null }
  const payload = {
    runId,
    acquirer: asked.acquirer,
    day: 'day' in asked ? asked.day : null,
    from: from?.toISOString() ?? '',
    to: to?.toISOString() ?? '',
  }
  await db.transaction(async (tx) => await enqueueJob(tx, { name: byHandJob, payload, key: keyOfAsked(runId) }))
  return runId
}

/** While a job has this key, the run is to come or under way. */
export function keyOfAsked(runId: string): string {
  return `${byHandJob} ${runId}`
}

export function byHandJobs(deps: CloseDeps & { log: Logger }): Record<string, Job> {
  return {
    [byHandJob]: async (payload, stopping) => {
      const { runId, acquirer: name, day, from, to } = Value.Parse(Payload, payload)
      // What a process left behind that ended in the middle.
      await deletePairs(deps.db, { runId, before: new Date(0) })
      try {
        const acquirer = deps.acquirers.named(name)
        if (day !== null) await closeDay(deps, { acquirer, day, runId, stopping })
        else {
          const window = { from: new Date(from), to: new Date(to) }
          await reconcile(deps, { acquirer, kind: 'manual', window, runId, stopping })
        }
      } catch (error) {
        // The run says that it was interrupted. Whoever asked for it asks again, or not.
        deps.log.error({ err: error, acquirer: name, runId }, 'what was asked for could not be compared')
      }
    },
  }
}
