import { Gauge, type Registry } from 'prom-client'
import type { Acquirer } from '../acquirers/acquirer.ts'
import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import { dayBefore, dayOf, nextDay, windowOf } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { forEachConcurrent } from '../lib/concurrent.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { compareBalance, forgetOtherBalances, observeBalances } from './balance.ts'
import { type CloseDeps, closeDay, findClosingTime, readStatement } from './close.ts'
import { findFirstClosedDay, findStatement } from './close-store.ts'
import { reconcile } from './run.ts'
import { settleOpen } from './settle-open.ts'
import type { Statement } from './statement.ts'
import { countOpen, findComparedUntil, findOpenSince, listUncomparedSince } from './store.ts'

/** A rolling run's window ends this long ago: most payments have been posted by then. */
const trailMs = 5 * 60_000
/** The window begins this long before the end of the last one: a payment may appear in a list with a delay. */
const overlapMs = 5 * 60_000
/**
 * The window also includes discrepancies that are still open, up to this long before: a late payment may have been
 * posted meanwhile, or be missing by now.
 */
const openReachMs = 30 * 60_000
/**
 * For payouts the window always begins this much earlier: a list dates a payout by its request, and it may be carried
 * out much later.
 */
const payoutOverlapMs = 30 * 60_000
/** The longest window after a long stop. The daily close covers what is older. */
const reachMs = 24 * 60 * 60_000
/** A day is closed this long after midnight: by then the lists have what banks report late. */
const closeAfterMs = 30 * 60_000
/** Days are closed, and closed again, up to this long ago. An operator can close older ones manually. */
const closeReachMs = 30 * 24 * 60 * 60_000

/**
 * Compares the ledger with each acquirer, continuously and once a day, and settles what needs no decision, whichever
 * run found it. An acquirer that does not answer, or that answers few requests a minute, does not delay the others.
 */
export function reconciliationJobs(deps: CloseDeps & SettleDeps): Record<string, Job> {
  return {
    'reconciliation.rolling': async (_, stopping) =>
      await forEach(deps, stopping, async (acquirer) => {
        await compareSinceLastRun(deps, acquirer, stopping)
        await settleOpen(deps, { acquirer: acquirer.name, stopping })
      }),
    'reconciliation.balance': async (_, stopping) => {
      await forgetOtherBalances(deps.db, deps.acquirers.all)
      await forEach(deps, stopping, async (acquirer) => void (await compareBalance(deps, acquirer)))
    },
    'reconciliation.close': async (_, stopping) =>
      await forEach(deps, stopping, async (acquirer) => await closeDays(deps, acquirer, stopping)),
  }
}

export const reconciliationSchedules: Record<string, JobSchedule> = {
  'reconciliation.rolling': { everySeconds: 300 },
  'reconciliation.balance': { everySeconds: 600 },
  // How often the job checks whether there is a day without a statement, or with one that is out of date.
  'reconciliation.close': { everySeconds: 600 },
}

async function forEach(
  { acquirers, log }: CloseDeps,
  stopping: AbortSignal,
  work: (acquirer: Acquirer) => Promise<void>,
): Promise<void> {
  await forEachConcurrent(acquirers.all, stopping, async (acquirer) => {
    await work(acquirer).catch((error: unknown) => {
      // The end of the process has interrupted it.
      if (stopping.aborted) return
      log.error({ err: error, acquirer: acquirer.name }, 'the ledger could not be compared with an acquirer')
    })
  })
}

async function compareSinceLastRun(deps: CloseDeps, acquirer: Acquirer, stopping: AbortSignal): Promise<void> {
  const now = deps.clock.now().getTime()
  // A machine whose clock is ahead may have compared up to a moment that is still to come here.
  const until = Math.min(now - trailMs, (await findComparedUntil(deps.db, acquirer.name))?.getTime() ?? Infinity)
  const openSince = await findOpenSince(deps.db, acquirer.name, new Date(until - openReachMs))
  const within = (at: number) => new Date(Math.max(now - reachMs, at))
  const from = within(Math.min(until - overlapMs, openSince?.getTime() ?? until))
  const payoutsFrom = within(until - payoutOverlapMs)
  const to = new Date(now - trailMs)
  const window = { from, to }
  const { state, error } = await reconcile(deps, { acquirer, kind: 'rolling', window, payoutsFrom, stopping })
  if (state === 'interrupted' && !stopping.aborted)
    deps.log.warn({ acquirer: acquirer.name, reason: error }, 'the comparison with an acquirer was interrupted')
}

/**
 * Closes yesterday, and the days since the first closed one that have no statement, or whose last one is out of date:
 * each day begins where the one before ends, however late that one was closed, or closed again.
 */
async function closeDays(deps: CloseDeps, acquirer: Acquirer, stopping: AbortSignal): Promise<void> {
  const now = await findClosingTime(deps)
  const yesterday = dayBefore(dayOf(now))
  const isSoon = now.getTime() - windowOf(yesterday).to.getTime() < closeAfterMs
  const last = isSoon ? dayBefore(yesterday) : yesterday
  const first = await findFirstClosedDay(deps.db, acquirer.name)
  // Nothing was compared before the service ran for the first time.
  if (first === null && isSoon) return
  const reach = dayOf(new Date(now.getTime() - closeReachMs))
  const read = async (day: string) => {
    const row = await findStatement(deps.db, { acquirer: acquirer.name, day })
    return row && readStatement(row)
  }
  let day = first ?? last
  if (day < reach) day = reach
  let before = await read(dayBefore(day))
  for (; day <= last && !stopping.aborted; day = nextDay(day)) {
    let statement = await read(day)
    if (!statement || isOutOfDate(statement, before)) statement = await closeOne(deps, acquirer, day, stopping)
    if (!statement) return
    before = statement
  }
}

/** Whether a day was closed before its transfers were final, or before the day before it was closed as it is now. */
function isOutOfDate({ transfers, ledgerSide, acquirerSide }: Statement, before: Statement | null): boolean {
  if (!transfers) return true
  if (!before) return false
  return ledgerSide.opening !== before.ledgerSide.closing || acquirerSide.opening !== before.acquirerSide.closing
}

/** Null when it must be tried again. */
async function closeOne(
  deps: CloseDeps,
  acquirer: Acquirer,
  day: string,
  stopping: AbortSignal,
): Promise<Statement | null> {
  const closed = await closeDay(deps, { acquirer, day, stopping, keepsTransfers: true })
  const about = { acquirer: acquirer.name, day }
  if (closed.state === 'interrupted') {
    if (!stopping.aborted) deps.log.warn({ ...about, reason: closed.error }, 'a day could not be closed yet')
    return null
  }
  // A day without any transfer, such as the one before the first start, is only worth a debug line.
  const write = isEmpty(closed.statement) ? deps.log.debug : deps.log.info
  write.call(deps.log, { ...about, sha256: closed.sha256 }, 'a day was closed')
  return closed.statement
}

function isEmpty({ ledgerSide, acquirerSide, differences }: Statement): boolean {
  const moved = [
    ledgerSide.in,
    ledgerSide.returned,
    ledgerSide.paidOut,
    ledgerSide.payoutsReturned,
    ledgerSide.corrections,
    acquirerSide.in,
  ]
  return differences.length === 0 && moved.every(({ count }) => count === 0)
}

/** `acquirers`: the configured ones. Another one is not compared any more, and its age would only grow. */
export function observeReconciliation({
  db,
  clock,
  registry,
  acquirers,
}: {
  db: Db
  clock: Clock
  registry: Registry
  acquirers: readonly Pick<Acquirer, 'name' | 'readBalance'>[]
}): void {
  observeBalances({ db, clock, registry, acquirers })
  new Gauge({
    name: 'guiche_reconciliation_differences_open',
    aggregator: 'max',
    help: 'Undecided discrepancies between the ledger and an acquirer, by class',
    labelNames: ['acquirer', 'class'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { count, ...labels } of await countOpen(db)) this.set(labels, count)
    },
  })
  const startedAt = clock.now()
  const runs = { acquirers: acquirers.map(({ name }) => name), kinds: ['rolling' as const, 'daily' as const] }
  new Gauge({
    name: 'guiche_reconciliation_age_seconds',
    aggregator: 'max',
    help: 'Seconds since the last complete reconciliation with an acquirer, in any process. Without a complete one: since the first one began, or else since this process started',
    labelNames: ['acquirer', 'kind'],
    registers: [registry],
    async collect() {
      this.reset()
      for (const { since, ...labels } of await listUncomparedSince(db, runs))
        this.set(labels, Math.max(0, (clock.now().getTime() - (since ?? startedAt).getTime()) / 1000))
    },
  })
}
