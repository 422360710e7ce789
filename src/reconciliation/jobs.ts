import { Gauge, type Registry } from 'prom-client'
import type { Acquirer } from '../acquirers/acquirer.ts'
import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import { dayBefore, dayOf, nextDay, windowOf } from '../lib/brasilia.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { compareBalance, observeBalances } from './balance.ts'
import { type CloseDeps, closeDay } from './close.ts'
import { findLastClosedDay } from './close-store.ts'
import { reconcile } from './run.ts'
import { settleOpen } from './settle-open.ts'
import type { Statement } from './statement.ts'
import { countOpen, findComparedUntil, findOpenSince, listLastRuns } from './store.ts'

/** A rolling run ends so long before now: what is younger the service is still coming to by itself. */
const trailMs = 5 * 60_000
/** It begins so long before the end of the last one: a list may show a payment a while after it was made. */
const overlapMs = 5 * 60_000
/** Where a difference is open, as far back as that: what was young when it was found may be missing by now, or be there. */
const openReachMs = 30 * 60_000
/** Of payouts, always so far: they are few, and one may be carried out long after it was asked for, which is when a list dates it. */
const payoutOverlapMs = 30 * 60_000
/** As far back as it reaches after a long stop. What lies before is the daily close's. */
const reachMs = 24 * 60 * 60_000
/** A day is closed so long after midnight: all that a bank tells late about it is there by then. */
const closeAfterMs = 30 * 60_000
/** As far back as days are closed that were left out. Older ones are closed by hand, should anybody want them. */
const closeReachMs = 30 * 24 * 60 * 60_000

/**
 * Compares the books with each acquirer, all the time and once a day, and settles what needs no decision, whichever run has found it. One that
 * does not answer keeps no other from it.
 */
export function reconciliationJobs(deps: CloseDeps & SettleDeps): Record<string, Job> {
  return {
    'reconciliation.rolling': async (_, stopping) =>
      await forEach(deps, stopping, async (acquirer) => {
        await rollOn(deps, acquirer, stopping)
        await settleOpen(deps, { acquirer: acquirer.name, stopping })
      }),
    'reconciliation.balance': async (_, stopping) =>
      await forEach(deps, stopping, async (acquirer) => void (await compareBalance(deps, acquirer))),
    'reconciliation.close': async (_, stopping) =>
      await forEach(deps, stopping, async (acquirer) => await closeDays(deps, acquirer, stopping)),
  }
}

export const reconciliationSchedules: Record<string, JobSchedule> = {
  'reconciliation.rolling': { everySeconds: 300 },
  'reconciliation.balance': { everySeconds: 600 },
  // How often is asked whether a day is to be closed, once for each.
  'reconciliation.close': { everySeconds: 600 },
}

async function forEach(
  { acquirers, log }: CloseDeps,
  stopping: AbortSignal,
  work: (acquirer: Acquirer) => Promise<void>,
): Promise<void> {
  for (const acquirer of acquirers.all) {
    if (stopping.aborted) return
    await work(acquirer).catch((error: unknown) => {
      log.error({ err: error, acquirer: acquirer.name }, 'the books could not be compared with an acquirer')
    })
  }
}

async function rollOn(deps: CloseDeps, acquirer: Acquirer, stopping: AbortSignal): Promise<void> {
  const now = deps.clock.now().getTime()
  const until = (await findComparedUntil(deps.db, acquirer.name))?.getTime() ?? now - trailMs
  const openSince = await findOpenSince(deps.db, acquirer.name, new Date(until - openReachMs))
  const within = (at: number) => new Date(Math.max(now - reachMs, at))
  const from = within(Math.min(until - overlapMs, openSince?.getTime() ?? until))
  const payoutsFrom = within(until - payoutOverlapMs)
  const to = new Date(now - trailMs)
  // A clock that was set back.
  if (from >= to) return
  const window = { from, to }
  const { state, error } = await reconcile(deps, { acquirer, kind: 'rolling', window, payoutsFrom, stopping })
  if (state === 'interrupted' && !stopping.aborted)
    deps.log.warn({ acquirer: acquirer.name, reason: error }, 'an acquirer could not be compared with to the end')
}

/** Yesterday, and the days before it that nobody closed because the service did not run: each begins where the one before ends. */
async function closeDays(deps: CloseDeps, acquirer: Acquirer, stopping: AbortSignal): Promise<void> {
  const now = deps.clock.now()
  const yesterday = dayBefore(dayOf(now))
  const isSoon = now.getTime() - windowOf(yesterday).to.getTime() < closeAfterMs
  const last = isSoon ? dayBefore(yesterday) : yesterday
  const closedUntil = await findLastClosedDay(deps.db, acquirer.name)
  const reach = dayOf(new Date(now.getTime() - closeReachMs))
  let day = closedUntil === null ? last : nextDay(closedUntil)
  if (day < reach) day = reach
  // Nothing was compared before the service ran for the first time.
  if (closedUntil === null && isSoon) return
  for (; day <= last && !stopping.aborted; day = nextDay(day)) {
    if (!(await closeOne(deps, acquirer, day, stopping))) return
  }
}

/** False where it has to be tried again. */
async function closeOne(deps: CloseDeps, acquirer: Acquirer, day: string, stopping: AbortSignal): Promise<boolean> {
  const closed = await closeDay(deps, { acquirer, day, stopping })
  const about = { acquirer: acquirer.name, day }
  if (closed.state === 'closed') {
    // A day on which nothing moved, such as the one before the first start, is no news.
    const write = isEmpty(closed.statement) ? deps.log.debug : deps.log.info
    write.call(deps.log, { ...about, sha256: closed.sha256 }, 'a day was closed')
  } else if (!stopping.aborted) deps.log.warn({ ...about, reason: closed.error }, 'a day could not be closed yet')
  return closed.state === 'closed'
}

function isEmpty({ books, acquirerSays, differences }: Statement): boolean {
  const moved = [books.in, books.returned, books.paidOut, books.cameBack, books.corrections, acquirerSays.in]
  return differences.length === 0 && moved.every(({ count }) => count === 0)
}

export function observeReconciliation({ db, registry }: { db: Db; registry: Registry }): void {
  observeBalances({ db, registry })
  new Gauge({
    name: 'reconciliation_differences_open',
    aggregator: 'max',
    help: 'Undecided discrepancies between the ledger and an acquirer, by class',
    labelNames: ['acquirer', 'class'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { count, ...labels } of await countOpen(db)) this.set(labels, count)
    },
  })
  new Gauge({
    name: 'reconciliation_last_run_timestamp_seconds',
    aggregator: 'max',
    help: 'Unix time at which a reconciliation with an acquirer was last completed, in any process',
    labelNames: ['acquirer', 'kind'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { acquirer, kind, finished_at: at } of await listLastRuns(db))
        this.set({ acquirer, kind }, at.getTime() / 1000)
    },
  })
}
