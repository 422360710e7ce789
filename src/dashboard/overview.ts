import type { Db, Reads } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { dayBefore, dayOf, windowOf } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import {
  type DayRow,
  findPayTimes,
  type HourRow,
  listDays,
  listHours,
  listMinutes,
  type MinuteRow,
  sumBalances,
  type Whose,
} from './overview-store.ts'
import type { Figures, Overview } from './schema.ts'

const hourMs = 3_600_000
const minuteMs = 60_000
const payTimesMs = 7 * 24 * hourMs
/** Maximum age of the figures, which many people may be viewing. */
const ageMaxMs = 2_000

/** Days of merchants whose minutes are kept: 1,440 rows each at most. */
const keptDaysMax = 100

type Deps = { db: Db; reads: Reads; clock: Clock }
type MinutesOf = (whose: Whose, day: string) => Promise<MinuteRow[]>

/**
 * The figures of the first screen, for a merchant or for all. Read at most every few seconds, however many people
 * view them.
 */
export function createOverview(deps: Deps) {
  const minutesOf = keepMinutes(deps)
  const known = new Map<string, { at: number; overview: Promise<Overview> }>()
  return async (whose: Whose, days: number): Promise<Overview> => {
    const key = `${whose.merchantId} ${days}`
    const now = deps.clock.now().getTime()
    const last = known.get(key)
    if (last && now - last.at >= 0 && now - last.at < ageMaxMs) return await last.overview
    const overview = readOverview(deps, whose, { now, days, minutesOf })
    if (known.size > 1_000) known.clear()
    known.set(key, { at: now, overview })
    overview.catch(() => known.delete(key))
    return await overview
  }
}

/** Yesterday is over, so its minutes are read once. */
function keepMinutes({ reads }: Deps): MinutesOf {
  const kept = new Map<string, Promise<MinuteRow[]>>()
  return async (whose, day) => {
    const key = `${whose.merchantId} ${day}`
    const before = kept.get(key)
    if (before) return await before
    const minutes = listMinutes(reads, whose, windowOf(day))
    if (kept.size >= keptDaysMax) kept.clear()
    kept.set(key, minutes)
    minutes.catch(() => kept.delete(key))
    return await minutes
  }
}

async function readOverview(
  { db, reads }: Deps,
  whose: Whose,
  { now, days, minutesOf }: { now: number; days: number; minutesOf: MinutesOf },
): Promise<Overview> {
  const today = dayOf(new Date(now))
  const midnight = windowOf(today).from
  const names = lastDays(today, days)
  const [rows, hours, minutes, times, balances] = await Promise.all([
    listDays(reads, whose, names[0] ?? today),
    listHours(reads, whose, midnight),
    minutesOf(whose, dayBefore(today)),
    findPayTimes(reads, whose, new Date(now - payTimesMs)),
    sumBalances(db, whose),
  ])
  const byDay = names.map((day) => ({ day, figures: toFigures(rows.filter((row) => row.day === day)) }))
  const ofToday = byDay.at(-1)
  assert(ofToday, 'the figures are of one day or more')
  const passed = Math.floor((now - midnight.getTime()) / minuteMs)
  return {
    today: ofToday.figures,
    yesterday: sumMinutes(minutes.filter(({ minute }) => minute < passed)),
    until: new Date(midnight.getTime() + passed * minuteMs).toISOString(),
    days: byDay.map(({ day, figures }) => ({ day, ...figures })),
    hours: fillHours(hours, { from: midnight.getTime(), to: now }),
    timeToPay: { sample: times.sample, medianSeconds: times.median, p90Seconds: times.p90 },
    balances,
  }
}

function toFigures(rows: DayRow[]): Figures {
  const sum = (of: DayRow[], member: 'count' | 'amount') => of.reduce((total, row) => total + row[member], 0)
  const failed = rows.filter(({ status }) => status === 'FAILED')
  const paid = rows.filter(({ status }) => !['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED'].includes(status))
  const created = sum(rows, 'count')
  return {
    created,
    createdAmount: sum(rows, 'amount'),
    paid: sum(paid, 'count'),
    paidAmount: sum(paid, 'amount'),
    failed: sum(failed, 'count'),
    conversion: created === 0 ? null : sum(paid, 'count') / created,
  }
}

function sumMinutes(rows: MinuteRow[]): Figures {
  const sum = (member: keyof MinuteRow) => rows.reduce((total, row) => total + row[member], 0)
  const [created, paid] = [sum('created'), sum('paid')]
  return {
    ...{ created, createdAmount: sum('createdAmount'), paid, paidAmount: sum('amount'), failed: sum('failed') },
    conversion: created === 0 ? null : paid / created,
  }
}

/** Every hour since midnight, also those in which nothing happened. */
function fillHours(rows: HourRow[], { from, to }: { from: number; to: number }): Overview['hours'] {
  return Array.from({ length: Math.floor((to - from) / hourMs) + 1 }, (_, index) => {
    const at = from + index * hourMs
    const { created = 0, paid = 0, amount = 0 } = rows.find(({ hour }) => hour.getTime() === at) ?? {}
    return { hour: new Date(at).toISOString(), created, paid, paidAmount: amount }
  })
}

function lastDays(today: string, count: number): string[] {
  const days = [today]
  while (days.length < count) days.unshift(dayBefore(days[0] ?? today))
  return days
}
