import { isDay, type Window, windowOf } from '../lib/brasilia.ts'
import { invalidField, invalidFields } from '../lib/errors.ts'

/** The days of a report, in Brasília: the first and the last, both included. */
export type Period = { from: string; until: string }

/** A year and a day. A longer report is several. */
const daysMax = 366
const dayMs = 24 * 60 * 60_000

/** @throws {AppError} `validation_failed` if one is not a day, or the period is too long or ends before it begins */
export function checkPeriod({ from, until }: Period): Period {
  const fields = Object.entries({ from, until }).flatMap(([field, day]) =>
    isDay(day) ? [] : [{ field, code: 'invalid' as const, message: 'must be a day, such as 2026-11-20' }],
  )
  if (fields.length > 0) throw invalidFields(fields)
  const days = (Date.parse(until) - Date.parse(from)) / dayMs + 1
  if (days >= 1 && days <= daysMax) return { from, until }
  const message = days < 1 ? 'must not be before `from`' : `must be at most ${daysMax - 1} days after \`from\``
  throw invalidField('until', 'invalid', message)
}

/** From the start of the first day to the start of the day after the last one. */
export function windowOfPeriod({ from, until }: Period): Window {
  return { from: windowOf(from).from, to: windowOf(until).to }
}

function monthOf(day: string): Period {
  const from = `${day.slice(0, 7)}-01`
  const [year = 0, month = 0] = day.split('-').map(Number)
  return { from, until: new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10) }
}

export const everyOptions = ['day', 'week', 'month'] as const
export type Every = (typeof everyOptions)[number]

/** The last period of this length that ended before a day: yesterday, Monday to Sunday, or the month before. */
export function lastPeriodBefore(day: string, every: Every): Period {
  if (every === 'day') return { from: addDays(day, -1), until: addDays(day, -1) }
  if (every === 'month') return monthOf(addDays(`${day.slice(0, 7)}-01`, -1))
  // Sunday is 0. On a Sunday the week still runs, and the one that ended did so seven days before.
  const sinceSunday = new Date(Date.parse(day)).getUTCDay() || 7
  return { from: addDays(day, -sinceSunday - 6), until: addDays(day, -sinceSunday) }
}

/** The first day after the period of this length that contains `day`. */
export function endOfPeriod(day: string, every: Every): string {
  if (every === 'day') return addDays(day, 1)
  if (every === 'month') return addDays(monthOf(day).until, 1)
  const untilSunday = (7 - new Date(Date.parse(day)).getUTCDay()) % 7
  return addDays(day, untilSunday + 1)
}

function addDays(day: string, count: number): string {
  return new Date(Date.parse(day) + count * dayMs).toISOString().slice(0, 10)
}
