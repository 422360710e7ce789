import type { Logger } from 'pino'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { type By, byService } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { enqueueJob, type Job } from '../jobs/jobs.ts'
import { type Window, windowOf } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { newUuid } from '../lib/secrets.ts'
import { type CloseDeps, closeDay } from './close.ts'
import { deletePairs } from './pairs-store.ts'
import { reconcile, recordRun } from './run.ts'

/**
 * The job of a requested run. A user of the dashboard requests a comparison or a close; the service requests a
 * comparison after the database lost commits. Its key is {@link keyOfRun}.
 */
export const requestedRunJob = 'reconciliation.requested-run'

/** The request: a day, which is compared and closed, or a window, which is compared. */
type RunRequest = { acquirer: string; day: string } | { acquirer: string; window: Window }

const Payload = Type.Object({
  runId: Type.String(),
  acquirer: Type.String(),
  day: Type.Union([Type.String(), Type.Null()]),
  from: Type.String(),
  to: Type.String(),
  isOfService: Type.Optional(Type.Boolean()),
})

/** Enqueues the run for the worker, since it may take minutes. Returns the id of the future run. */
export async function requestRun(
  { db, clock }: { db: Db; clock: Clock },
  request: RunRequest & { by: By },
): Promise<string> {
  return await db.transaction(async (tx) => await enqueueRun(tx, { ...request, now: clock.now() }))
}

/** `runAt`: not before this moment. */
export async function enqueueRun(
  tx: Tx,
  { by, now, runAt, ...request }: RunRequest & { by: By; now: Date; runAt?: Date },
): Promise<string> {
  const runId = newUuid()
  const { from, to } = 'window' in request ? request.window : { from: null, to: null }
  const payload = {
    runId,
    acquirer: request.acquirer,
    day: 'day' in request ? request.day : null,
    from: from?.toISOString() ?? '',
    to: to?.toISOString() ?? '',
    isOfService: by.actor === byService.actor,
  }
  const run =
    'window' in request
      ? { kind: 'manual' as const, window: request.window }
      : { kind: 'daily' as const, window: windowOf(request.day) }
  await recordRun(tx, { ...run, acquirer: request.acquirer, startedAt: now }, by)
  await enqueueJob(tx, { name: requestedRunJob, payload, key: keyOfRun(runId), ...(runAt && { runAt }) })
  return runId
}

/** While a job has this key, the run is waiting or in progress. */
export function keyOfRun(runId: string): string {
  return `${requestedRunJob} ${runId}`
}

/**
 * A run that fails is repeated if a stop of the process interrupted it, or if the service requested it. Any other run
 * is not repeated.
 */
export function requestedRunJobs(deps: CloseDeps & { log: Logger }): Record<string, Job> {
  return {
    [requestedRunJob]: async (payload, stopping) => {
      const { runId, acquirer: name, day, from, to, isOfService = false } = Value.Parse(Payload, payload)
      // A stop does not cancel a request, and nobody would repeat a request of the service.
      const isRepeated = () => stopping.aborted || isOfService
      // Rows of this run, and of no other: those that remain from a process that ended in the middle of it.
      await deletePairs(deps.db, { runId, before: new Date(0) })
      try {
        const run = { acquirer: deps.acquirers.named(name), runId, stopping }
        const window = { from: new Date(from), to: new Date(to) }
        const ended =
          day === null
            ? await reconcile(deps, { ...run, kind: 'manual', window })
            : await closeDay(deps, { ...run, day })
        if (ended.state === 'interrupted' && isRepeated())
          throw new Error(`the comparison was interrupted: ${ended.error}`)
      } catch (error) {
        if (isRepeated()) throw error
        // A comparison that failed is stored as interrupted. If only the close failed, the run is stored as complete,
        // and the day is not closed. The user may request either again.
        deps.log.error({ err: error, acquirer: name, runId }, 'a requested comparison failed')
      }
    },
  }
}
