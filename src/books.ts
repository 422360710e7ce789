import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import type { Db } from './db/sql.ts'
import type { Job, JobSchedule } from './jobs/jobs.ts'
import { engageBrake } from './ledger/brake.ts'
import { findEngagedBrake } from './ledger/store.ts'
import { type Breach, type FindBreaches, findLedgerBreaches } from './ledger/verify.ts'
import type { Clock } from './lib/clock.ts'
import { findTransactionBreaches } from './transactions/verify.ts'
import { findWithdrawalBreaches } from './withdrawals/verify.ts'

/** All that is looked at: the ledger by itself, and each feature's records against it. */
const checks: FindBreaches[] = [findLedgerBreaches, findTransactionBreaches, findWithdrawalBreaches]

/** As many breaches as are shown and logged; where there are more, these are enough to begin with. */
const shownMax = 100

/** Everything in the books that cannot be right; nothing when all is well. */
export async function findBreaches(db: Db): Promise<Breach[]> {
  const found: Breach[] = []
  for (const check of checks) found.push(...(await check(db)))
  return found
}

/** Verifies the books in service: a breach stops withdrawals and refunds, never payments that come in, until an operator releases it. */
export function booksJobs({ db, clock, log }: { db: Db; clock: Clock; log: Logger }): Record<string, Job> {
  return {
    'books.verify': async () => {
      const breaches = await findBreaches(db)
      const [first] = breaches
      if (!first) return
      log.error(
        { count: breaches.length, breaches: breaches.slice(0, shownMax) },
        'the books do not agree: withdrawals and refunds are stopped',
      )
      await engageBrake(db, { reason: `${first.rule}: ${first.detail}`, now: clock.now() })
    },
  }
}

export const booksSchedules: Record<string, JobSchedule> = { 'books.verify': { everySeconds: 300 } }

export function observeBooks({ db, registry }: { db: Db; registry: Registry }): void {
  new Gauge({
    name: 'payouts_stopped',
    help: '1 while withdrawals and refunds are stopped: the books do not agree, or an operator did it',
    registers: [registry],
    async collect() {
      this.set((await findEngagedBrake(db)) === null ? 0 : 1)
    },
  })
}
