import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import { type DeleteBefore, deleteAttemptsBefore, deleteExchangesBefore, deleteNoticesBefore } from './store.ts'

/** For how many days each is kept. What money is accounted for with (records, events, deliveries, ledger, audit log) is kept for ever. */
export type Retention = { attemptsDays: number; callbacksDays: number; exchangesDays: number }

/** A statement of so many took 42 ms, 69 at the most, for attempts of webhooks: it holds up neither vacuum nor who waits for a row. */
const chunkRows = 5_000
/** Half of the time belongs to others. */
const pauseMs = 50
/**
 * What is beyond it waits for the next run: no job shall hold its place for long. Five million rows of a table, a minute and a half: more
 * than four times what comes in ten minutes of a thousand transactions a second, each with two attempts.
 */
const chunksMax = 1_000

type Kept = { table: string; days: number; deleteBefore: DeleteBefore }

/** What the worker runs to forget what is old: the one way in which the service deletes by age. */
export function retentionJobs({
  db,
  clock,
  retention,
  registry,
}: {
  db: Db
  clock: Clock
  retention: Retention
  registry: Registry
}): Record<string, Job> {
  const kept: Kept[] = [
    { table: 'webhook_attempts', days: retention.attemptsDays, deleteBefore: deleteAttemptsBefore },
    { table: 'callback_inbox', days: retention.callbacksDays, deleteBefore: deleteNoticesBefore },
    { table: 'acquirer_exchanges', days: retention.exchangesDays, deleteBefore: deleteExchangesBefore },
  ]
  const deleted = new Counter({
    name: 'guiche_retention_deleted_rows_total',
    help: 'Rows that were deleted because they were older than they are kept',
    labelNames: ['table'],
    registers: [registry],
  })
  return {
    'retention.forget': async (_, stopping) => {
      for (const { table, days, deleteBefore } of kept) {
        const before = new Date(clock.now().getTime() - days * 24 * 60 * 60_000)
        for (let chunks = 0; chunks < chunksMax && !stopping.aborted; chunks += 1) {
          const count = await deleteBefore(db, before, chunkRows)
          deleted.inc({ table }, count)
          if (count < chunkRows) break
          await sleep(pauseMs, undefined, { signal: stopping }).catch(() => {})
        }
      }
    },
  }
}

export const retentionSchedules: Record<string, JobSchedule> = { 'retention.forget': { everySeconds: 600 } }
