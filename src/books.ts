import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { findSetting, saveSetting } from './auth/store.ts'
import { workLong } from './db/long-work.ts'
import type { Db } from './db/sql.ts'
import type { Job, JobSchedule } from './jobs/jobs.ts'
import { engageBrake } from './ledger/brake.ts'
import { findEngagedBrake } from './ledger/store.ts'
import { type Breach, type FindBreaches, findLedgerBreaches } from './ledger/verify.ts'
import type { Clock } from './lib/clock.ts'
import { findCorrectionBreaches } from './reconciliation/verify.ts'
import { findSuspenseBreaches } from './suspense/verify.ts'
import { findTransactionBreaches } from './transactions/verify.ts'
import { findWithdrawalBreaches } from './withdrawals/verify.ts'

/** All that is looked at: the ledger by itself, and each feature's records against it. */
const checks: FindBreaches[] = [
  findLedgerBreaches,
  findSuspenseBreaches,
  findTransactionBreaches,
  findWithdrawalBreaches,
  findCorrectionBreaches,
]

/** As many breaches as are shown and logged; where there are more, these are enough to begin with. */
const shownMax = 100

/** A run of 200 s, at ten million transactions, is followed by a pause of an hour: the database is read for 5 % of the time. */
const pausePerRun = 19
/** However large the database, and whatever a clock that jumped has made of a run. */
const pauseMaxMs = 24 * 60 * 60_000

/** When the last run ended that came to its end, in whatever process, and how long it took. Kept in `settings`. */
type Verified = { at: string; tookMs: number }
const verifiedSetting = 'books_verified'

/**
 * Everything in the books that cannot be right; nothing when all is well. It takes as long as it takes.
 *
 * @throws when `stopping` is aborted meanwhile: at once, in the middle of a statement
 */
export async function findBreaches(db: Db, stopping?: AbortSignal): Promise<Breach[]> {
  return await workLong(db, { stopping, readOnly: true }, async (tx) => {
    const found: Breach[] = []
    for (const check of checks) found.push(...(await check(tx)))
    return found
  })
}

/** Verifies the books in service: a breach stops withdrawals and refunds, never payments that come in, until an operator releases it. */
export function booksJobs({ db, clock, log }: { db: Db; clock: Clock; log: Logger }): Record<string, Job> {
  return {
    'books.verify': async (_, stopping) => {
      const startedAt = clock.now()
      if (!isDue(await findVerified(db), startedAt)) return
      const breaches = await findBreaches(db, stopping).catch((error: unknown) => {
        if (!stopping.aborted) throw error
      })
      // Cut short by the end of this process: the next one begins again.
      if (!breaches) return
      const now = clock.now()
      const [first] = breaches
      if (first) {
        log.error(
          { count: breaches.length, breaches: breaches.slice(0, shownMax) },
          'the books do not agree: withdrawals and refunds are stopped',
        )
        await engageBrake(db, { reason: `${first.rule}: ${first.detail}`, now })
      }
      const verified: Verified = { at: now.toISOString(), tookMs: Math.max(0, now.getTime() - startedAt.getTime()) }
      await saveSetting(db, verifiedSetting, JSON.stringify(verified))
    },
  }
}

/** When the books were last verified to the end, in whatever process. */
export async function findVerified(db: Db): Promise<Verified | null> {
  return JSON.parse((await findSetting(db, verifiedSetting)) ?? 'null')
}

/** Whether the pause after the last run is over. One that ended in the future is one of a clock that was wrong. */
function isDue(last: Verified | null, now: Date): boolean {
  if (last === null) return true
  const sinceMs = now.getTime() - Date.parse(last.at)
  return sinceMs < 0 || sinceMs >= Math.min(pausePerRun * last.tookMs, pauseMaxMs)
}

/** How often is asked whether it is due. Until a run takes 15 s, at some 700,000 transactions, it always is. */
export const booksSchedules: Record<string, JobSchedule> = { 'books.verify': { everySeconds: 300 } }

export function observeBooks({ db, registry }: { db: Db; registry: Registry }): void {
  const took = new Gauge({
    name: 'books_verification_seconds',
    aggregator: 'max',
    help: 'How long the last verification of the books took',
    registers: [registry],
  })
  new Gauge({
    name: 'books_verified_timestamp_seconds',
    aggregator: 'max',
    help: 'When the last verification of the books ended, in any process, as seconds since 1970; 0 before the first',
    registers: [registry],
    async collect() {
      const verified = await findVerified(db)
      this.set(verified === null ? 0 : Date.parse(verified.at) / 1000)
      took.set((verified?.tookMs ?? 0) / 1000)
    },
  })
  new Gauge({
    name: 'payouts_stopped',
    aggregator: 'max',
    help: '1 while withdrawals and refunds are stopped: the books do not agree, or an operator did it',
    registers: [registry],
    async collect() {
      this.set((await findEngagedBrake(db)) === null ? 0 : 1)
    },
  })
}
