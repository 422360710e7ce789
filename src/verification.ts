import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { byService } from './audit/record.ts'
import { findSetting, saveSetting } from './auth/store.ts'
import { runWithoutTimeout } from './db/long-work.ts'
import type { Db, Tx } from './db/sql.ts'
import { entryVerification } from './entries/verify.ts'
import type { Job, JobSchedule } from './jobs/jobs.ts'
import { showPayoutFreeze, stopPayouts } from './ledger/payout-freeze.ts'
import type { RecordKey, Window } from './ledger/record-filter-store.ts'
import { findReleasedAt } from './ledger/store.ts'
import {
  type Breach,
  findAccountBreaches,
  findLedgerBreaches,
  findTransferBreaches,
  type Verification,
} from './ledger/verify.ts'
import { findPostedFor } from './ledger/verify-store.ts'
import { dayOf } from './lib/brasilia.ts'
import type { Clock } from './lib/clock.ts'
import { verifySignedAudit, verifySignedTransfers } from './reconciliation/verify-audit.ts'
import { correctionVerification } from './reconciliation/verify-store.ts'
import { suspenseVerification } from './suspense/verify-store.ts'
import { transactionVerification } from './transactions/verify-store.ts'
import { withdrawalVerification } from './withdrawals/verify-store.ts'

/**
 * Each feature's records checked against the ledger. Suspense comes after transactions, because its payments are
 * checked for the transactions that they pay.
 */
const verifications: Verification[] = [
  transactionVerification,
  suspenseVerification,
  withdrawalVerification,
  correctionVerification,
  entryVerification,
]

/** Most inconsistencies in the log line: enough to begin with. */
const loggedMax = 100

const hourMs = 60 * 60_000
/**
 * The first run after three at night, in Brasília, verifies everything: it reads the whole database, which takes 200
 * s with ten million transactions.
 */
const nightBeginsMs = 3 * hourMs
/** A run also verifies everything if no run has finished for this long: the service was down, or something is wrong. */
const recentMaxMs = hourMs

/**
 * A transfer posted or dated this long before a run started may have been committed after the run read the table, or
 * by a machine whose clock is behind.
 */
const overlapMs = 60_000

/**
 * A verification of recent changes is overdue when none has ended for this long plus twice the duration of a complete
 * one, which it may have waited for. A complete one is overdue 28 hours after the last: a night was missed.
 */
const recentOverdueMs = 15 * 60_000
const allOverdueMs = 28 * hourMs

/** Changes are checked in windows: two thousand records at 100 payments a second, in 0.2 s. */
const windowMs = 20_000

/** Runs that finished, in any process: the last complete one, and the last of either kind. Stored in `settings`. */
export type Verified = { all: Run; recent: Run }
type Run = { at: string; tookMs: number }
const verifiedSetting = 'books_verified'

/**
 * Finds every inconsistency in the ledger; an empty list when there is none. It has no time limit.
 *
 * @throws when `stopping` is aborted meanwhile: at once, in the middle of a statement
 */
export async function findBreaches(db: Db, stopping?: AbortSignal): Promise<Breach[]> {
  return await runWithoutTimeout(db, { stopping, readOnly: true }, async (tx) => {
    const found = await findLedgerBreaches(tx)
    for (const { findBreaches } of verifications) found.push(...(await findBreaches(tx)))
    found.push(...(await verifySignedTransfers(tx)))
    found.push(...(await findAuditBreaches(tx)))
    return found
  })
}

/**
 * An attacker who changes the audit log can change the ledger as well: payouts are frozen until somebody has checked.
 */
async function findAuditBreaches(tx: Tx): Promise<Breach[]> {
  const { breaches } = await verifySignedAudit(tx)
  return breaches.map(({ entry, detail }) => ({
    rule: 'audit_log',
    merchantId: null,
    recordId: null,
    detail: entry === 0 ? detail : `entry ${entry} of the audit log ${detail}`,
  }))
}

/**
 * Finds inconsistencies in the transfers since a moment, in their records, and in the records that changed since. The
 * time depends on how much changed, not on the size of the ledger.
 */
async function findRecentBreaches(
  db: Db,
  { since, now }: { since: Date; now: Date },
  stopping: AbortSignal,
): Promise<Breach[]> {
  // A record that was touched in two windows is reported once.
  const found = new Map<string, Breach>()
  const add = (breaches: Breach[]) => {
    for (const breach of breaches) found.set(JSON.stringify(breach), breach)
  }
  const options = { stopping, readOnly: true, prefersIndexes: true }
  add(await runWithoutTimeout(db, options, findAccountBreaches))
  add(await runWithoutTimeout(db, options, async (tx) => await findTransferBreaches(tx, since)))
  for (let window = windowFrom(since, now); ; window = windowFrom(window.to, now)) {
    add(await runWithoutTimeout(db, options, async (tx) => await findRecordBreaches(tx, window)))
    if (window.to === null) return [...found.values()]
  }
}

function windowFrom(from: Date, now: Date): Window {
  const to = new Date(from.getTime() + windowMs)
  return { from, to: to < now ? to : null }
}

/** Inconsistencies of the records that were touched in a window. */
async function findRecordBreaches(tx: Tx, window: Window): Promise<Breach[]> {
  const touched = new Map<string, RecordKey>()
  const touch = (keys: RecordKey[]) => {
    for (const key of keys) touched.set(`${key.merchantId} ${key.id}`, key)
  }
  touch(await findPostedFor(tx, window))
  for (const { findTouched } of verifications) touch(await findTouched(tx, window, [...touched.values()]))
  const found: Breach[] = []
  if (touched.size === 0) return found
  for (const { findBreaches } of verifications) found.push(...(await findBreaches(tx, [...touched.values()])))
  return found
}

/**
 * Verifies the ledger in service: an inconsistency freezes withdrawals and refunds, never incoming payments, until an
 * operator releases the freeze.
 */
export function verificationJobs({ db, clock, log }: { db: Db; clock: Clock; log: Logger }): Record<string, Job> {
  return {
    'ledger.verify': async (_, stopping) => {
      const now = clock.now()
      const verified = await findVerified(db)
      const since = verified && sinceWhen(verified, await findReleasedAt(db), now)
      const finding = since ? findRecentBreaches(db, { since, now }, stopping) : findBreaches(db, stopping)
      const breaches = await finding.catch((error: unknown) => {
        if (!stopping.aborted) throw error
      })
      // Interrupted by the end of this process: the next one starts again.
      if (!breaches) return
      const endedAt = clock.now()
      const [first] = breaches
      if (first) {
        log.error(
          { count: breaches.length, breaches: breaches.slice(0, loggedMax) },
          'the ledger is inconsistent: withdrawals and refunds are frozen',
        )
        await stopPayouts({ db, clock }, { reason: `${first.rule}: ${first.detail}`, by: byService })
      }
      const recent: Run = { at: endedAt.toISOString(), tookMs: Math.max(0, endedAt.getTime() - now.getTime()) }
      const all = verified && since ? verified.all : recent
      await saveSetting(db, verifiedSetting, JSON.stringify({ all, recent } satisfies Verified))
    },
  }
}

/** The last runs of any process; null before the first complete one has ended. */
export async function findVerified(db: Db): Promise<Verified | null> {
  const verified: Verified | { all?: undefined } = JSON.parse((await findSetting(db, verifiedSetting)) ?? '{}')
  return verified.all ? verified : null
}

/**
 * The moment from which changes are verified; null to verify everything: at night, after a pause, after a payout
 * freeze was released, and when a clock was set back by more than the clocks of several machines may differ.
 */
function sinceWhen({ all, recent }: Verified, releasedAt: Date | null, now: Date): Date | null {
  const isAnotherNight = nightOf(Date.parse(all.at)) !== nightOf(now.getTime())
  const isReleased = releasedAt !== null && releasedAt.getTime() >= startOf(all) - overlapMs
  const pauseMs = now.getTime() - Date.parse(recent.at)
  if (isAnotherNight || isReleased || pauseMs < -overlapMs || pauseMs > recentMaxMs) return null
  return new Date(Math.min(startOf(recent), now.getTime()) - overlapMs)
}

function startOf({ at, tookMs }: Run): number {
  return Date.parse(at) - tookMs
}

function nightOf(at: number): string {
  return dayOf(new Date(at - nightBeginsMs))
}

export const verificationSchedules: Record<string, JobSchedule> = { 'ledger.verify': { everySeconds: 300 } }

export function observeVerification({ db, clock, registry }: { db: Db; clock: Clock; registry: Registry }): void {
  const ofRuns = (name: string, help: string, value: (run: Run | undefined) => number) =>
    new Gauge({
      name,
      help,
      aggregator: 'max',
      labelNames: ['scope'],
      registers: [registry],
      async collect() {
        const verified = await findVerified(db)
        for (const scope of ['all', 'recent'] as const) this.set({ scope }, value(verified?.[scope]))
      },
    })
  ofRuns(
    'guiche_ledger_verification_seconds',
    'How long the last verification of the ledger took: the last complete one, or the last of either kind',
    (run) => (run?.tookMs ?? 0) / 1000,
  )
  ofRuns(
    'guiche_ledger_verified_timestamp_seconds',
    'Unix time at which the last verification of the ledger ended, complete or of either kind, in any process; 0 before the first',
    (run) => (run ? Date.parse(run.at) / 1000 : 0),
  )
  const startedAt = clock.now()
  new Gauge({
    name: 'guiche_ledger_verification_overdue_seconds',
    aggregator: 'max',
    help: 'For how long the verification of the ledger has been overdue: the complete one, or that of recent changes; 0 while none is. Before the first one, the time counts from the start',
    registers: [registry],
    async collect() {
      const never: Run = { at: startedAt.toISOString(), tookMs: 0 }
      const { all, recent } = (await findVerified(db)) ?? { all: never, recent: never }
      const dueAt = Math.min(
        Date.parse(recent.at) + recentOverdueMs + 2 * all.tookMs,
        Date.parse(all.at) + allOverdueMs,
      )
      this.set(Math.max(0, (clock.now().getTime() - dueAt) / 1000))
    },
  })
  new Gauge({
    name: 'guiche_payouts_stopped',
    aggregator: 'max',
    help: '1 while withdrawals and refunds are frozen, with the time since when, and whether the database lost commits: the ledger is inconsistent, money left that is not in it, or an operator froze them',
    labelNames: ['since', 'reason'],
    registers: [registry],
    async collect() {
      const freeze = await showPayoutFreeze(db)
      this.reset()
      if (freeze)
        this.set({ since: freeze.engagedAt, reason: freeze.needsDataLossChecks ? 'database_loss' : 'other' }, 1)
      else this.set(0)
    },
  })
}
