import type { Db, Reads } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { dayBefore, dayOf, windowOf } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { findFiguresUntil, findMerchantsUntil, type MinuteFigures } from '../transactions/list/minute-store.ts'
import { areMinuteTotalsWritten, daysBefore } from '../transactions/list/minutes.ts'
import {
  type DayRow,
  type HourRow,
  listDays,
  listHours,
  listMerchantDays,
  listPayTimes,
  type MerchantFilter,
  type MerchantRow,
  type PayTimeRow,
  sumBalances,
} from './overview-store.ts'
import type { Figures, Overview } from './schema.ts'

const hourMs = 3_600_000
const minuteMs = 60_000
/** How long figures are reused, so that many viewers cost one read. At least this long (see ageFactor). */
const ageMinMs = 2_000
/**
 * Figures that took long to read are reused for this many times as long, counted from the start of the read. So a
 * process reads the same figures (of one merchant or all, for one number of days) for a fifth of the time at most,
 * unless reads fail: a failed one is repeated for the next viewer.
 */
const ageFactor = 5

/** The results that each of the two caches holds at most. A full cache is emptied. */
const cachedMax = 1_000

const rankedMax = 10

type Deps = { db: Db; reads: Reads; clock: Clock }
type SameTime = Overview['sameTime']
type Known = { at: number; ageMs: number; overview: Promise<Overview> }

/**
 * The figures of the first screen, for a merchant or for all. Read at most every few seconds, however many people
 * view them.
 */
export function createOverview(deps: Deps) {
  const findSameTime = keepSameTime(deps)
  const known = new Map<string, Known>()
  return async (filter: MerchantFilter, dayCount: number): Promise<Overview> => {
    const key = `${filter.merchantId} ${dayCount}`
    const now = deps.clock.now().getTime()
    const last = known.get(key)
    if (last && now - last.at >= 0 && now - last.at < last.ageMs) return await last.overview
    const startedAt = performance.now()
    const overview = readOverview(deps, filter, { now, dayCount, findSameTime })
    // While it runs, whoever asks gets its result.
    const reading: Known = { at: now, ageMs: Number.POSITIVE_INFINITY, overview }
    if (known.size >= cachedMax) known.clear()
    known.set(key, reading)
    overview.then(
      () => {
        reading.ageMs = Math.max(ageMinMs, (performance.now() - startedAt) * ageFactor)
      },
      () => known.delete(key),
    )
    return await overview
  }
}

type Moment = { today: string; minute: number }
type FindSameTime = (filter: MerchantFilter, moment: Moment) => Promise<SameTime>

/**
 * The figures of the seven days before today, each up to the present minute of the day. Those days are over, so each
 * minute needs one read.
 */
function keepSameTime({ db, reads }: Deps): FindSameTime {
  const cached = new Map<string, Promise<SameTime>>()
  const read = async ({ merchantId }: MerchantFilter, { today, minute }: Moment): Promise<SameTime> => {
    const days = daysBefore(today)
    if (!(await areMinuteTotalsWritten(db, today))) return null
    const rows = await findFiguresUntil(reads, { merchantId, days, minute })
    return days.map((day) => ({ day, ...fillFigures(rows.find((row) => row.day === day)) }))
  }
  return async (filter, moment) => {
    const key = `${filter.merchantId} ${moment.today} ${moment.minute}`
    const before = cached.get(key)
    if (before) return await before
    const sameTime = read(filter, moment)
    if (cached.size >= cachedMax) cached.clear()
    cached.set(key, sameTime)
    // Null until yesterday's per-minute totals are written: not cached, so that the next read checks again. Nor is a
    // failed read.
    const found = await sameTime.catch(() => null)
    if (found === null) cached.delete(key)
    return await sameTime
  }
}

async function readOverview(
  deps: Deps,
  filter: MerchantFilter,
  { now, dayCount, findSameTime }: { now: number; dayCount: number; findSameTime: FindSameTime },
): Promise<Overview> {
  const { db, reads } = deps
  const today = dayOf(new Date(now))
  const midnight = windowOf(today).from
  const shownDays = lastDays(today, dayCount)
  const minute = Math.floor((now - midnight.getTime()) / minuteMs)
  const [rows, hours, sameTime, times, balances, merchants] = await Promise.all([
    listDays(reads, filter, shownDays[0] ?? today),
    listHours(reads, filter, midnight),
    findSameTime(filter, { today, minute }),
    listPayTimes(reads, filter, [...daysBefore(today), today]),
    sumBalances(db, filter),
    filter.merchantId === null ? rankMerchants(deps, { today, minute }) : null,
  ])
  const byDay = shownDays.map((day) => ({ day, figures: toFigures(rows.filter((row) => row.day === day)) }))
  const ofToday = byDay.at(-1)
  assert(ofToday, 'the figures are of one day or more')
  return {
    today: ofToday.figures,
    sameTime,
    until: new Date(midnight.getTime() + minute * minuteMs).toISOString(),
    days: byDay.map(({ day, figures }) => ({ day, ...figures })),
    hours: fillHours(hours, { from: midnight.getTime(), to: now }),
    timeToPay: toTimeToPay(times, [...daysBefore(today), today]),
    balances,
    merchants,
  }
}

/**
 * The merchants with the highest paid amount, of the charges created today; and their figures of yesterday, at the same
 * time of day.
 */
async function rankMerchants({ db, reads }: Deps, { today, minute }: Moment): Promise<Overview['merchants']> {
  const rows = new Map<string, MerchantRow[]>()
  for (const row of await listMerchantDays(reads, today))
    rows.set(row.clientId, [...(rows.get(row.clientId) ?? []), row])
  const ranked = [...rows.values()]
    .flatMap((own) => own.slice(0, 1).map((first) => ({ ...first, figures: toFigures(own) })))
    .sort((one, other) => other.figures.paidAmount - one.figures.paidAmount || other.figures.paid - one.figures.paid)
    .slice(0, rankedMax)
  const hasMinuteTotals = await areMinuteTotalsWritten(db, today)
  const merchantIds = ranked.map(({ merchantId }) => merchantId)
  const before = hasMinuteTotals ? await findMerchantsUntil(reads, { merchantIds, day: dayBefore(today), minute }) : []
  return ranked.map(({ merchantId, clientId, name, figures }) => ({
    ...{ clientId, name, ...figures },
    yesterday: hasMinuteTotals ? fillFigures(before.find((row) => row.merchantId === merchantId)) : null,
  }))
}

function toTimeToPay(rows: PayTimeRow[], days: string[]): Overview['timeToPay'] {
  const timesOf = (day: string | null) => rows.find((row) => row.day === day)
  const all = timesOf(null)
  return {
    sample: all?.sample ?? 0,
    medianSeconds: all?.median ?? null,
    p90Seconds: all?.p90 ?? null,
    days: days.map((day) => ({ day, medianSeconds: timesOf(day)?.median ?? null })),
  }
}

function toFigures(rows: Pick<DayRow, 'status' | 'count' | 'amount'>[]): Figures {
  const sum = (some: typeof rows, name: 'count' | 'amount') => some.reduce((total, row) => total + row[name], 0)
  const failed = rows.filter(({ status }) => status === 'FAILED')
  const paid = rows.filter(({ status }) => !['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED'].includes(status))
  return fillFigures({
    created: sum(rows, 'count'),
    createdAmount: sum(rows, 'amount'),
    paid: sum(paid, 'count'),
    paidAmount: sum(paid, 'amount'),
    failed: sum(failed, 'count'),
  })
}

function fillFigures(row: MinuteFigures | undefined): Figures {
  const { created = 0, createdAmount = 0, paid = 0, paidAmount = 0, failed = 0 } = row ?? {}
  return { created, createdAmount, paid, paidAmount, failed, conversion: created === 0 ? null : paid / created }
}

/** Every hour since midnight, also those in which nothing happened. */
function fillHours(rows: HourRow[], { from, to }: { from: number; to: number }): Overview['hours'] {
  return Array.from({ length: Math.floor((to - from) / hourMs) + 1 }, (_, index) => {
    const at = from + index * hourMs
    const { created = 0, paid = 0, amount = 0 } = rows.find(({ hour }) => hour.getTime() === at) ?? {}
    return { hour: new Date(at).toISOString(), created, paid, paidAmount: amount }
  })
}

function lastDays(today: string, dayCount: number): string[] {
  const days = [today]
  while (days.length < dayCount) days.unshift(dayBefore(days[0] ?? today))
  return days
}
