import type { Logger } from 'pino'
import { type Acquirer, AcquirerUnavailable, type UnreadableEntry } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { computeFee } from '../ledger/fees.ts'
import { dayOf, type Window } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { newUuid } from '../lib/secrets.ts'
import { findFirstListedAt } from '../transactions/cursor-store.ts'
import { findPayoutKey } from '../withdrawals/store.ts'
import type { DiscrepancyClass, Found, Subject } from './classes.ts'
import { compare, cutOffMs, type Pair, type Rules, toUnqueried } from './compare.ts'
import {
  queryEach,
  queryPayouts,
  readPayments,
  readPayouts,
  toFoundPayout,
  toListedPayment,
  toReturned,
} from './listing.ts'
import {
  addEntries,
  addNamedPayments,
  addPaidPayments,
  addPostedReturns,
  addWithdrawals,
  analyzePairs,
  deleteForeign,
  deletePairs,
  insertMark,
  type Listed,
  type Listing,
  listPairs,
  nameEntries,
  requireMark,
  sumListed,
} from './pairs-store.ts'
import { saveFound } from './save.ts'
import {
  finishRun,
  insertRun,
  lockDiscrepancies,
  type NewRun,
  type RunKind,
  resolvePosted,
  resolveRead,
  resolveTimed,
  resolveUnseen,
} from './store.ts'
import { toUnreadable } from './unreadable.ts'

export type ReconcileDeps = { db: Db; clock: Clock; acquirers: Acquirers; log: Logger }

export type RunResult = {
  runId: string
  acquirer: string
  kind: RunKind
  window: Window
  /** interrupted: a part could not be read or compared. What was found before is stored, and nothing is resolved. */
  state: 'complete' | 'interrupted'
  error: string | null
  /** The number of pairs, including those that only one side has. */
  compared: Record<Subject, number>
  counts: Partial<Record<DiscrepancyClass, number>>
  /** How many of the discrepancies in `counts` are new or open again. */
  newCount: number
  /** How many discrepancies of earlier runs no longer exist. */
  resolvedCount: number
  /** The discrepancies in `counts`, by id. */
  foundIds: string[]
  totals: Listing[]
}

const subjects: Subject[] = ['payment', 'return', 'payout']
const pageRows = 500
/** The ledger's payments are added in parts of about this many. */
const partRows = 2_000
/**
 * A rolling run reads this much beyond its window for the other side of a pair. What is further away is queried
 * individually.
 */
const rollingMarginMs = 60_000
const dayMs = 24 * 60 * 60_000

/**
 * Compares an acquirer's lists of a window with the ledger, and stores the discrepancies. It changes no balance. It
 * first reads the lists into a table, then compares the pairs in the order of their keys, 500 at a time, so that memory
 * does not grow with the size of a day.
 */
export async function reconcile(
  deps: ReconcileDeps,
  {
    acquirer,
    kind,
    window,
    payoutsFrom = window.from,
    runId = newUuid(),
    by = null,
    stopping = new AbortController().signal,
  }: {
    acquirer: Acquirer
    kind: RunKind
    window: Window
    /** The start of the window for payouts, where it differs. */
    payoutsFrom?: Date
    runId?: string
    /** Null: the service, or a request that is in the audit log already. */
    by?: By | null
    stopping?: AbortSignal
  },
): Promise<RunResult> {
  const { db, clock } = deps
  const windows = { payment: window, return: window, payout: { from: payoutsFrom, to: window.to } }
  const run: Run = {
    id: runId,
    acquirer: acquirer.name,
    kind,
    window,
    windows,
    startedAt: clock.now(),
    mark: newUuid(),
    partlyRead: kind === 'rolling' ? (acquirer.payouts?.list ? ['return'] : ['return', 'payout']) : [],
    unreadable: new Map(),
    unqueried: new Map(),
    foundIds: [],
  }
  await db.transaction(async (tx) => {
    await insertRun(tx, run)
    await recordRun(tx, run, by)
  })
  const tally: Tally = { compared: { payment: 0, return: 0, payout: 0 }, counts: {}, newCount: 0 }
  try {
    await insertMark(db, { runId, mark: run.mark })
    await readBothSides(deps, acquirer, run, stopping)
    await requireMark(db, { runId, mark: run.mark })
    await keepUnreadable(deps, run, tally)
    for (const subject of subjects) await compareAll(deps, acquirer, { run, subject, tally, stopping })
    return await complete(deps, run, tally)
  } catch (error) {
    const isExpected = error instanceof AcquirerUnavailable || stopping.aborted
    const message = error instanceof Error ? error.message : String(error)
    await finishRun(db, {
      ...{ id: run.id, startedAt: run.startedAt },
      state: 'interrupted',
      error: message,
      counts: tally,
      totals: null,
      at: clock.now(),
    })
    if (!isExpected) throw error
    return { ...toResult(run, tally), state: 'interrupted', error: message, resolvedCount: 0, totals: [] }
  } finally {
    const { startedAt } = run
    await deletePairs(db, { runId: run.id, before: new Date(startedAt.getTime() - dayMs), startedAt })
    if (tally.newCount > 0)
      deps.log.warn(
        { acquirer: run.acquirer, kind, newCount: tally.newCount, classes: tally.counts },
        'the ledger and the acquirer differ: `npx guiche reconcile list --open` lists the discrepancies',
      )
  }
}

/** Whoever requests a run is in the audit log before it begins, whatever its outcome. */
export async function recordRun(
  tx: Tx,
  { acquirer, kind, window, startedAt: now }: Pick<NewRun, 'acquirer' | 'kind' | 'window' | 'startedAt'>,
  by: By | null,
): Promise<void> {
  const action =
    kind === 'daily'
      ? ({ action: 'close.run', details: { date: dayOf(window.from), acquirer } } as const)
      : ({ action: 'reconcile.run', details: { acquirer, ...window } } as const)
  await recordAction(tx, { ...action, by, now })
}

type Run = NewRun & {
  windows: Record<Subject, Window>
  /** One of its own each time that the run begins: see {@link insertMark}. */
  mark: string
  /** What a rolling run does not read completely: a discrepancy that it does not find may still exist. */
  partlyRead: Subject[]
  /** By reference: the same entry may be read twice. */
  unreadable: Map<string, Found>
  /** By key: records of the ledger whose individual query failed. */
  unqueried: Map<string, AcquirerUnavailable>
  /** The discrepancies that it has found so far. */
  foundIds: string[]
}

type Tally = Pick<RunResult, 'compared' | 'counts' | 'newCount'>

async function readBothSides(
  { db, acquirers: { cell } }: ReconcileDeps,
  acquirer: Acquirer,
  { id: runId, windows, kind, startedAt: now, unreadable, unqueried }: Run,
  stopping: AbortSignal,
): Promise<void> {
  const marginMs = kind === 'rolling' ? rollingMarginMs : cutOffMs
  const range = withMargins(windows.payment, marginMs)
  const firstListedAt = (await findFirstListedAt(db, acquirer.name)) ?? now
  const onUnreadable = (subject: Subject) => (entry: UnreadableEntry) => {
    if (entry.at !== null && entry.at < firstListedAt) return
    unreadable.set(entry.reference, toUnreadable(subject, entry, windows[subject]))
  }
  const reading = {
    db,
    acquirer,
    runId,
    cell,
    window: windows.payment,
    range,
    now,
    includesOldReturns: kind !== 'rolling',
    onUnreadable,
    stopping,
  }
  const count = await readPayments(reading)
  await readPayouts({ ...reading, window: windows.payout, range: withMargins(windows.payout, marginMs) })
  await analyzePairs(db)
  const side = { runId, acquirer: acquirer.name }
  // The ledger is read after the list: a payment posted meanwhile is then on both sides.
  for (const part of partsOf(range, Math.ceil(count / partRows))) {
    stopping.throwIfAborted()
    await addPaidPayments(db, { ...side, ...part })
  }
  await addNamedPayments(db, side)
  await addPostedReturns(db, { ...side, ...windows.return })
  const hasList = Boolean(acquirer.payouts?.list)
  await addWithdrawals(db, { ...side, ...windows.payout, hasList, isRolling: kind === 'rolling' })
  // Before the entries: none of them is for a payout from before Guichê.
  await deleteForeign(db, { ...side, before: firstListedAt })
  await nameEntries(db, side)
  await addEntries(db, side)
  await queryPayouts({ ...reading, window: windows.payout }, (key, error) => unqueried.set(key, error))
  await analyzePairs(db)
}

/**
 * Stores each unreadable entry as a discrepancy, once, and the run continues: a person investigates it, or it becomes
 * readable.
 */
async function keepUnreadable(deps: ReconcileDeps, run: Run, tally: Tally): Promise<void> {
  const { acquirer, unreadable } = run
  if (unreadable.size === 0) return
  const newCount = await keepAndCount(deps, { run, tally, found: [...unreadable.values()] })
  if (newCount > 0)
    deps.log.error(
      { acquirer, count: unreadable.size, newCount, references: [...unreadable.keys()] },
      'entries in an acquirer’s list cannot be read: investigate them at the acquirer; `npx guiche reconcile list --open` lists them',
    )
}

/** Stores discrepancies, and adds them to what the run has found. Returns how many were new or reopened. */
async function keepAndCount(
  { db, clock }: ReconcileDeps,
  { run, tally, found }: { run: Run; tally: Tally; found: Found[] },
): Promise<number> {
  const saving = { acquirer: run.acquirer, runId: run.id, startedAt: run.startedAt, now: clock.now() }
  const { ids, newCount } = await db.transaction(async (tx) => await saveFound(tx, found, saving))
  for (const id of ids) run.foundIds.push(id)
  tally.newCount += newCount
  for (const { class: name } of found) tally.counts[name] = (tally.counts[name] ?? 0) + 1
  return newCount
}

function withMargins({ from, to }: Window, marginMs: number): Window {
  return { from: new Date(from.getTime() - marginMs), to: new Date(to.getTime() + marginMs) }
}

/** Splits a window into parts of equal length, at least one. */
function partsOf({ from, to }: Window, count: number): Window[] {
  const parts = Math.max(1, count)
  const bound = (part: number) =>
    new Date(from.getTime() + Math.floor(((to.getTime() - from.getTime()) * part) / parts))
  return Array.from({ length: parts }, (_, part) => ({ from: bound(part), to: bound(part + 1) }))
}

async function compareAll(
  deps: ReconcileDeps,
  acquirer: Acquirer,
  { run, subject, tally, stopping }: { run: Run; subject: Subject; tally: Tally; stopping: AbortSignal },
): Promise<void> {
  const { db } = deps
  const rules = rulesFor(acquirer, { ...run, window: run.windows[subject] })
  for (let after = ''; ; ) {
    stopping.throwIfAborted()
    const pairs = await listPairs(db, { runId: run.id, acquirer: run.acquirer, subject, after, limit: pageRows })
    const found: Found[] = []
    const doubtful: Pair[] = []
    for (const pair of pairs) {
      // Its entry in the list is unreadable, which is a discrepancy of its own.
      if (pair.atAcquirer === null && run.unreadable.has(pair.key)) continue
      const error = subject === 'payout' && run.unqueried.get(pair.key)
      if (error) {
        found.push(...toUnqueried(pair, rules, error))
        continue
      }
      const differs = compare(pair, rules)
      if (differs.length > 0 && mayBeUnlisted(pair)) doubtful.push(pair)
      else found.push(...differs)
    }
    const failed = await queryEach(acquirer, doubtful, stopping, async (pair) => {
      found.push(...compare({ ...pair, atAcquirer: await readAtAcquirer(db, acquirer, pair, rules) }, rules))
    })
    for (const { item: pair, error } of failed) {
      run.unqueried.set(pair.key, error)
      found.push(...toUnqueried(pair, rules, error))
    }
    stopping.throwIfAborted()
    await keepAndCount(deps, { run, tally, found })
    tally.compared[subject] += pairs.length
    const last = pairs.at(-1)
    if (last === undefined || pairs.length < pageRows) return
    after = last.key
  }
}

/** The rules for comparing a pair: the window and the time of a run, and the fees agreed with the acquirer. */
export function rulesFor(
  acquirer: Acquirer,
  { window, startedAt, kind }: Pick<NewRun, 'window' | 'startedAt' | 'kind'>,
): Rules {
  return {
    window,
    now: startedAt,
    isDaily: kind === 'daily',
    agreedFee: (subject, amount) => {
      const agreed = subject === 'payment' ? acquirer.fees.payment : acquirer.fees.payout
      return agreed && computeFee({ ...agreed, basis_points: agreed.basisPoints }, amount)
    },
  }
}

/** A list may lag or omit entries: what only the ledger has is queried individually before it counts as missing. */
function mayBeUnlisted({ subject, atAcquirer, inLedger }: Pair): boolean {
  if (!inLedger) return false
  return atAcquirer === null || (subject === 'return' && atAcquirer.amount < inLedger.amount)
}

async function readAtAcquirer(db: Db, acquirer: Acquirer, pair: Pair, { window }: Rules): Promise<Pair['atAcquirer']> {
  const { subject, key, inLedger } = pair
  if (subject === 'payout') {
    const found = await acquirer.payouts?.find(await findPayoutKey(db, key))
    return found && inLedger ? toFoundPayout(found, inLedger, window) : null
  }
  const payment = await acquirer.findPayment(key)
  const listed: Listed | null =
    payment && (subject === 'payment' ? toListedPayment(payment, window) : toReturned(payment, window))
  return listed
}

async function complete({ db, clock }: ReconcileDeps, run: Run, tally: Tally): Promise<RunResult> {
  const {
    id: runId,
    acquirer,
    kind,
    window,
    windows,
    startedAt,
    mark,
    partlyRead,
    unreadable,
    unqueried,
    foundIds,
  } = run
  const totals = await sumListed(db, { runId })
  const now = clock.now()
  const seen = subjects
    .filter((subject) => !partlyRead.includes(subject))
    .map((subject) => ({ subject, ...windows[subject] }))
  const resolvedCount = await db.transaction(async (tx) => {
    await requireMark(tx, { runId, mark })
    await lockDiscrepancies(tx, acquirer)
    await finishRun(tx, { id: runId, startedAt, state: 'complete', error: null, counts: tally, totals, at: now })
    const unread = [...unreadable.keys(), ...unqueried.keys()]
    const unseen = await resolveUnseen(tx, { acquirer, startedAt, seen, foundIds, unread, now })
    const read = await resolveRead(tx, { acquirer, runId, unread, now })
    const timed = kind === 'daily' ? await resolveTimed(tx, { acquirer, before: window.from, now }) : 0
    return unseen + read + timed + (await resolvePosted(tx, { acquirer, now }))
  })
  return { ...toResult(run, tally), state: 'complete', error: null, resolvedCount, totals }
}

function toResult({ id, acquirer, kind, window, foundIds }: Run, tally: Tally) {
  return { runId: id, acquirer, kind, window, foundIds, ...tally }
}
