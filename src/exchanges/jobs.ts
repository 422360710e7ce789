import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import { deleteExchangesBefore } from './store.ts'

/** For as long as somebody may ask what the bank said: the acquirer's own logs of that time are no older. */
const keptMs = 30 * 24 * 60 * 60_000
const deletedAtOnce = 5_000

/** What the worker runs for exchanges with acquirers: it forgets those that are old. */
export function exchangeJobs({ db, clock }: { db: Db; clock: Clock }): Record<string, Job> {
  return {
    'exchanges.forget': async (_, stopping) => {
      const before = new Date(clock.now().getTime() - keptMs)
      while (!stopping.aborted) {
        if ((await deleteExchangesBefore(db, before, deletedAtOnce)) < deletedAtOnce) return
      }
    },
  }
}

export const exchangeSchedules: Record<string, JobSchedule> = { 'exchanges.forget': { everySeconds: 600 } }
