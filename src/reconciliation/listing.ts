import { setTimeout as pause } from 'node:timers/promises'
import {
  type Acquirer,
  AcquirerUnavailable,
  type MoneyOut,
  type Payment,
  type PayoutListed,
  TooManyRequests,
  type UnreadableEntry,
} from '../acquirers/acquirer.ts'
import type { Db } from '../db/sql.ts'
import type { Window } from '../lib/brasilia.ts'
import { type Cell, isOfOtherCell } from '../lib/cell.ts'
import { forEachConcurrent } from '../lib/concurrent.ts'
import { fromTxid, toTxid } from '../pix/ids.ts'
import { findPayoutKey } from '../withdrawals/store.ts'
import type { Subject } from './classes.ts'
import { insertListed, type Listed, listUnlistedPayouts } from './pairs-store.ts'

type Reading = {
  db: Db
  acquirer: Acquirer
  runId: string
  /**
   * Entries that name a record of another cell (a separate installation, see lib/cell.ts) are left out: both cells may
   * use the same PSP account.
   */
  cell: Cell | null
  window: Window
  /**
   * The range to read: the window, extended on both sides to find entries that the acquirer dates a little
   * differently.
   */
  range: Window
  now: Date
  /** Whether to read the returns of older payments as well: a second list, of the 90 days before the range. */
  includesOldReturns: boolean
  /** Returns the handler of unreadable entries of this subject. */
  onUnreadable: (subject: Subject) => (entry: UnreadableEntry) => void
  stopping: AbortSignal
}

/** A payment can be returned for 90 days. */
const returnableMs = 90 * 24 * 60 * 60_000
const chunkRows = 500

/**
 * Reads the acquirer's lists of payments, all pages, into the run's rows of `reconciliation_pairs`. Returns how many
 * rows the list of `range` gave: the second list, of older payments, is not counted.
 *
 * @throws {AcquirerUnavailable} when a part cannot be read: then the run's rows are incomplete and must not be
 *   compared
 */
export async function readPayments(reading: Reading): Promise<number> {
  const { acquirer, window, range, includesOldReturns } = reading
  const { from } = range
  const count = await storeAll(
    reading,
    acquirer.listPayments({ from, to: endOf(reading), onUnreadable: reading.onUnreadable('payment') }),
    (payment) => [toListedPayment(payment, window), ...toListedReturns(payment, reading)],
  )
  if (!includesOldReturns) return count
  const returnable = {
    from: new Date(from.getTime() - returnableMs),
    to: from,
    withReturns: true,
    onUnreadable: reading.onUnreadable('payment'),
  }
  await storeAll(reading, acquirer.listPayments(returnable), (payment) => toListedReturns(payment, reading))
  return count
}

/** Reads the acquirer's list of payouts, where it has one. */
export async function readPayouts(reading: Reading): Promise<void> {
  const { acquirer, window, range } = reading
  const list = acquirer.payouts?.list
  if (!list) return
  await storeAll(
    reading,
    list({ from: range.from, to: endOf(reading), onUnreadable: reading.onUnreadable('payout') }),
    (payout) => [toListedPayout(payout, window)],
  )
}

function endOf({ range, now }: Reading): Date {
  return range.to < now ? range.to : now
}

/**
 * Queries each of our payouts individually, where the acquirer has no list of them. Calls `onFailed` for each one that
 * cannot be queried.
 */
export async function queryPayouts(
  { db, acquirer, runId, window, stopping }: Reading,
  onFailed: (key: string, error: AcquirerUnavailable) => void,
): Promise<void> {
  const { payouts } = acquirer
  if (!payouts || payouts.list) return
  for (let after = ''; !stopping.aborted; ) {
    const unlisted = await listUnlistedPayouts(db, { runId, after, limit: chunkRows })
    const found: Listed[] = []
    const failed = await queryEach(acquirer, unlisted, stopping, async (posted) => {
      const payout = await payouts.find(await findPayoutKey(db, posted.key))
      if (payout) found.push({ ...toFoundPayout(payout, posted, window), subject: 'payout', key: posted.key })
    })
    for (const { item, error } of failed) onFailed(item.key, error)
    if (found.length > 0) await insertListed(db, runId, found)
    const last = unlisted.at(-1)
    if (last === undefined || unlisted.length < chunkRows) return
    after = last.key
  }
}

/**
 * If more queries of one batch than this fail, the acquirer counts as not answering this kind of query at all, and the
 * run is interrupted.
 */
const failedMax = 100

/**
 * Queries each item, as fast as the acquirer allows. Returns those that failed twice while the acquirer counted as
 * available: one record must not stop the comparison of all others.
 *
 * @throws {AcquirerUnavailable} when the acquirer as a whole does not answer, or after too many failures or pauses
 */
export async function queryEach<Item>(
  acquirer: Acquirer,
  items: Item[],
  stopping: AbortSignal,
  query: (item: Item) => Promise<void>,
): Promise<Failed<Item>[]> {
  const attempt = async (queried: Item[]) => {
    const failed: Failed<Item>[] = []
    await eachPaced(queried, stopping, async (item) => {
      try {
        await query(item)
      } catch (error) {
        if (!(error instanceof AcquirerUnavailable) || error instanceof TooManyRequests) throw error
        if (!acquirer.isAvailable()) throw error
        failed.push({ item, error })
      }
    })
    return failed
  }
  const failed = await attempt((await attempt(items)).map(({ item }) => item))
  const [first] = failed
  if (first && failed.length > failedMax) throw first.error
  return failed
}

type Failed<Item> = { item: Item; error: AcquirerUnavailable }

/** The pause after a 429 without `Retry-After`: Inter limits queries per minute. */
const pauseMsDefault = 30_000
const pauseMsMax = 5 * 60_000
/**
 * The minimum of the first pause, even if `Retry-After` is shorter. The minimum doubles with each pause in a row: more
 * than a minute has passed before the last one, so that a limit per minute has ended.
 */
const pauseMsFirst = 1_000
/**
 * After this many pauses in a row, without any request between them that was answered otherwise than with 429, the
 * limit does not count as temporary.
 */
const pausesMax = 10

/** Like {@link forEachConcurrent}, but repeats after a pause what the acquirer answered with 429. */
async function eachPaced<Item>(
  items: Item[],
  stopping: AbortSignal,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  let left = items
  for (let pauses = 0; left.length > 0 && !stopping.aborted; ) {
    const limited: Item[] = []
    const limits: TooManyRequests[] = []
    await forEachConcurrent(left, stopping, async (item) => {
      try {
        // After a 429 the others are not sent either.
        if (limits.length === 0) return await work(item)
      } catch (error) {
        if (!(error instanceof TooManyRequests)) throw error
        limits.push(error)
      }
      limited.push(item)
    })
    const [limit] = limits
    if (!limit) return
    pauses = limited.length < left.length ? 1 : pauses + 1
    if (pauses > pausesMax) throw limit
    const pauseMs = Math.max(limit.retryAfterMs ?? pauseMsDefault, pauseMsFirst * 2 ** (pauses - 1))
    await pause(Math.min(pauseMs, pauseMsMax), undefined, { signal: stopping })
    left = limited
  }
}

async function storeAll<Item>(
  { db, runId, cell, stopping }: Reading,
  items: AsyncIterable<Item>,
  toRows: (item: Item) => Listed[],
): Promise<number> {
  let count = 0
  // By their keys: one statement must not have a key twice, and an entry may appear on two pages.
  const rows = new Map<string, Listed>()
  const flush = async () => {
    if (rows.size > 0) await insertListed(db, runId, [...rows.values()])
    count += rows.size
    rows.clear()
  }
  for await (const item of items) {
    stopping.throwIfAborted()
    for (const row of toRows(item)) if (!isOfOtherCell(cell, row.namedId)) rows.set(`${row.subject} ${row.key}`, row)
    if (rows.size < chunkRows) continue
    await flush()
  }
  await flush()
  return count
}

export function toListedPayment({ endToEndId, txid, amount, paidAt, fee }: Payment, window: Window): Listed {
  const namedId = txid === null ? null : fromTxid(txid)
  return {
    subject: 'payment',
    key: endToEndId,
    namedId,
    paidAt: null,
    amount,
    med: 0,
    at: paidAt,
    state: 'done',
    fee,
    ...sumWithin(window, [{ amount, at: paidAt }]),
  }
}

/** The sum of all completed returns of a payment, if at least one was made in the range that is read. */
function toListedReturns(payment: Payment, { window, range }: Reading): Listed[] {
  const row = toReturned(payment, window, (at) => isWithin(range, at))
  return row ? [row] : []
}

/**
 * The total of a payment's completed returns, dated by the last return for which `isCounted` is true; null if there is
 * none.
 */
export function toReturned(
  payment: Payment,
  window: Window,
  isCounted: (at: Date) => boolean = () => true,
): Listed | null {
  const done = payment.returns.filter(({ isDone }) => isDone)
  const at = Math.max(...done.filter((one) => isCounted(one.at)).map((one) => one.at.getTime()))
  if (!Number.isFinite(at)) return null
  return {
    ...toListedPayment(payment, window),
    subject: 'return',
    paidAt: payment.paidAt,
    amount: sumOf(done),
    med: sumOf(done.filter(({ nature }) => nature.startsWith('MED'))),
    at: new Date(at),
    fee: null,
    ...sumWithin(window, done),
  }
}

/**
 * A payout found under our own id has the amount that we requested. The acquirer gives its time only once it is done;
 * until then the time in the ledger counts.
 */
export function toFoundPayout(
  found: MoneyOut,
  { amount, at: postedAt }: { amount: number; at: Date },
  window: Window,
): Omit<Listed, 'subject' | 'key'> {
  const { outcome: state } = found
  const at = found.outcome === 'done' ? found.at : postedAt
  const within = sumWithin(window, state === 'done' ? [{ amount, at }] : [])
  return { namedId: null, paidAt: null, amount, med: 0, at, state, fee: null, ...within }
}

export function toListedPayout(payout: PayoutListed, window: Window): Listed {
  const { payoutId, endToEndId, amount, at, status: state, fee } = payout
  const namedId = payoutId === null ? null : fromTxid(payoutId)
  const key = namedId === null ? endToEndId : toTxid(namedId)
  const within = sumWithin(window, state === 'done' ? [payout] : [])
  return { subject: 'payout', key, namedId, paidAt: null, amount, med: 0, at, state, fee, ...within }
}

function sumWithin(window: Window, parts: { amount: number; at: Date }[]) {
  const within = parts.filter(({ at }) => isWithin(window, at))
  return { windowAmount: sumOf(within), windowCount: within.length }
}

function isWithin({ from, to }: Window, at: Date): boolean {
  return from <= at && at < to
}

function sumOf(parts: { amount: number }[]): number {
  return parts.reduce((sum, { amount }) => sum + amount, 0)
}
