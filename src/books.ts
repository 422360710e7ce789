import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { findSetting, saveSetting } from './auth/store.ts'
import { workLong } from './db/long-work.ts'
import type { Db, Tx } from './db/sql.ts'
import { entryVerification } from './entries/verify.ts'
import type { Job, JobSchedule } from './jobs/jobs.ts'
import type { RecordKey, Window } from './ledger/among-store.ts'
import { engageBrake } from './ledger/brake.ts'
import { findEngagedBrake, findReleasedAt } from './ledger/store.ts'
import {
  type Breach,
  findAccountBreaches,
  findLedgerBreaches,
  findTransferBreaches,
  type Verification,
} from './ledger/verify.ts'
import { findBookedFor } from './ledger/verify-store.ts'
import { dayOf } from './lib/brasilia.ts'
import type { Clock } from './lib/clock.ts'
import { createPace } from './lib/pace.ts'
import { correctionVerification } from './reconciliation/verify.ts'
import { verifySignedAudit, verifySignedTransfers } from './reconciliation/verify-audit.ts'
import { suspenseVerification } from './suspense/verify.ts'
import { transactionVerification } from './transactions/verify.ts'
import { withdrawalVerification } from './withdrawals/verify.ts'

/** Each feature's records against the ledger. What is in suspense is looked at for the transactions that it pays: after them. */
const verifications: Verification[] = [
  transactionVerification,
  suspenseVerification,
  withdrawalVerification,
  correctionVerification,
  entryVerification,
]

/** As many breaches as are shown and logged; where there are more, these are enough to begin with. */
const shownMax = 100

const hourMs = 60 * 60_000
/** Everything is verified in the first run after three in the night, in Brasília: it reads the whole database, for 200 s at ten million transactions. */
const nightBeginsMs = 3 * hourMs
/** And where no run has come to its end for so long: the service stood still, or something is wrong. */
const recentMaxMs = hourMs

/** What was posted or dated so long before a run began may have been committed after it looked, or by a machine whose clock is behind. */
const overlapMs = 60_000

/** What changed is looked at in pieces: two thousand records at 100 payments a second, and 0.2 s. */
const windowMs = 20_000

/** Runs that came to their end, in whatever process: the last of everything, and the last of either kind. Kept in `settings`. */
export type Verified = { all: Run; recent: Run }
type Run = { at: string; tookMs: number }
const verifiedSetting = 'books_verified'

/**
 * Everything in the books that cannot be right; nothing when all is well. It takes as long as it takes.
 *
 * @throws when `stopping` is aborted meanwhile: at once, in the middle of a statement
 */
export async function findBreaches(db: Db, stopping?: AbortSignal): Promise<Breach[]> {
  return await workLong(db, { stopping, readOnly: true }, async (tx) => {
    const found = await findLedgerBreaches(tx)
    for (const { findBreaches } of verifications) found.push(...(await findBreaches(tx)))
    found.push(...(await verifySignedTransfers(tx)))
    found.push(...(await findAuditBreaches(tx)))
    return found
  })
}

/** Who changes the audit log can change the ledger as well: money stays until somebody has looked. */
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
 * What cannot be right about the transfers since a moment, the records that they are of and those that changed since. It takes as long as there is of
 * them, however much there is in all.
 */
async function findRecentBreaches(
  db: Db,
  { since, now }: { since: Date; now: Date },
  stopping: AbortSignal,
): Promise<Breach[]> {
  // What was touched in two pieces is told of once.
  const found = new Map<string, Breach>()
  const add = (breaches: Breach[]) => {
    for (const breach of breaches) found.set(JSON.stringify(breach), breach)
  }
  const options = { stopping, readOnly: true, byIndex: true }
  const rest = createPace(stopping)
  add(await workLong(db, options, findAccountBreaches))
  add(await workLong(db, options, async (tx) => await findTransferBreaches(tx, since)))
  for (let window = windowFrom(since, now); ; window = windowFrom(window.to, now)) {
    await rest()
    add(await workLong(db, options, async (tx) => await findRecordBreaches(tx, window)))
    if (window.to === null) return [...found.values()]
  }
}

function windowFrom(from: Date, now: Date): Window {
  const to = new Date(from.getTime() + windowMs)
  return { from, to: to < now ? to : null }
}

/** Those of the records that were touched in a window. */
async function findRecordBreaches(tx: Tx, window: Window): Promise<Breach[]> {
  const touched = new Map<string, RecordKey>()
  const touch = (keys: RecordKey[]) => {
    for (const key of keys) touched.set(`${key.merchantId} ${key.id}`, key)
  }
  touch(await findBookedFor(tx, window))
  for (const { findTouched } of verifications) touch(await findTouched(tx, window, [...touched.values()]))
  const found: Breach[] = []
  if (touched.size === 0) return found
  for (const { findBreaches } of verifications) found.push(...(await findBreaches(tx, [...touched.values()])))
  return found
}

/** Verifies the books in service: a breach stops withdrawals and refunds, never payments that come in, until an operator releases it. */
export function booksJobs({ db, clock, log }: { db: Db; clock: Clock; log: Logger }): Record<string, Job> {
  return {
    'books.verify': async (_, stopping) => {
      const now = clock.now()
      const verified = await findVerified(db)
      const since = verified && sinceWhen(verified, await findReleasedAt(db), now)
      const finding = since ? findRecentBreaches(db, { since, now }, stopping) : findBreaches(db, stopping)
      const breaches = await finding.catch((error: unknown) => {
        if (!stopping.aborted) throw error
      })
      // Cut short by the end of this process: the next one begins again.
      if (!breaches) return
      const endedAt = clock.now()
      const [first] = breaches
      if (first) {
        log.error(
          { count: breaches.length, breaches: breaches.slice(0, shownMax) },
          'the books do not agree: withdrawals and refunds are stopped',
        )
        await engageBrake(db, { reason: `${first.rule}: ${first.detail}`, now: endedAt })
      }
      const recent: Run = { at: endedAt.toISOString(), tookMs: Math.max(0, endedAt.getTime() - now.getTime()) }
      const all = verified && since ? verified.all : recent
      await saveSetting(db, verifiedSetting, JSON.stringify({ all, recent } satisfies Verified))
    },
  }
}

/** When the books were last verified to the end, in whatever process. */
export async function findVerified(db: Db): Promise<Verified | null> {
  const verified: Verified | { all?: undefined } = JSON.parse((await findSetting(db, verifiedSetting)) ?? '{}')
  return verified.all ? verified : null
}

/**
 * From when on what changed is to be verified; null where everything is: at night, after a pause, after a brake was released, and where a clock was put back
 * by more than those of several machines may differ.
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

export const booksSchedules: Record<string, JobSchedule> = { 'books.verify': { everySeconds: 300 } }

export function observeBooks({ db, registry }: { db: Db; registry: Registry }): void {
  const took = new Gauge({
    name: 'books_verification_seconds',
    aggregator: 'max',
    help: 'How long the last verification of the books took: of everything, or the last of either kind',
    labelNames: ['scope'],
    registers: [registry],
  })
  new Gauge({
    name: 'books_verified_timestamp_seconds',
    aggregator: 'max',
    help: 'When the last verification of the books ended, of everything or of either kind, in any process, as seconds since 1970; 0 before the first',
    labelNames: ['scope'],
    registers: [registry],
    async collect() {
      const verified = await findVerified(db)
      for (const scope of ['all', 'recent'] as const) {
        const run = verified?.[scope]
        this.set({ scope }, run ? Date.parse(run.at) / 1000 : 0)
        took.set({ scope }, (run?.tookMs ?? 0) / 1000)
      }
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
