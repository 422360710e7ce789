import { Counter, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import {
  type DeleteBefore,
  deleteApiRequestsBefore,
  deleteAttemptsBefore,
  deleteExchangesBefore,
  deleteFullBuckets,
  deleteNoticesBefore,
} from './store.ts'

/**
 * For how many days delivery attempts, callbacks and recorded requests to acquirers are kept. Accounting records
 * (transactions, events, deliveries, ledger, audit log) are kept forever.
 */
export type Retention = { attemptsDays: number; callbacksDays: number; exchangesDays: number }

/**
 * To delete this many delivery attempts took 42 ms, 69 at the most: that delays neither vacuum nor transactions that
 * wait for a row.
 */
const chunkRows = 5_000
/**
 * The rest waits for the next run, so that no job blocks its queue for long. These are five million rows of a table,
 * in about a minute: more than four times what ten minutes at a thousand transactions a second add, with two attempts
 * each.
 */
const chunksMax = 1_000

/** Long enough to look at last week's release; redacted requests are of no use later. */
const apiRequestsDays = 7

type Kept = { table: string; days: number; deleteBefore: DeleteBefore }

/**
 * The jobs that delete old rows of the tables that grow with the traffic. Small tables, such as those of sessions and
 * of scheduled reports, are cleared where they are written.
 */
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
    { table: 'api_requests', days: apiRequestsDays, deleteBefore: deleteApiRequestsBefore },
  ]
  const deleted = new Counter({
    name: 'guiche_retention_deleted_rows_total',
    help: 'Rows that were deleted at the end of their retention period',
    labelNames: ['table'],
    registers: [registry],
  })
  return {
    'retention.rate-limits': async () => await deleteFullBuckets(db, clock.now().getTime() - Date.now()),
    'retention.forget': async (_, stopping) => {
      for (const { table, days, deleteBefore } of kept) {
        const before = new Date(clock.now().getTime() - days * 24 * 60 * 60_000)
        for (let chunks = 0; chunks < chunksMax && !stopping.aborted; chunks += 1) {
          const count = await deleteBefore(db, before, chunkRows)
          deleted.inc({ table }, count)
          if (count < chunkRows) break
        }
      }
    },
  }
}

export const retentionSchedules: Record<string, JobSchedule> = {
  'retention.forget': { everySeconds: 600 },
  'retention.rate-limits': { everySeconds: 600 },
}
