import { AppError } from '../lib/errors.ts'

/** The days of the Pix system and of every bank in Brazil. */
export const timeZone = 'America/Sao_Paulo'

export type Window = { from: Date; to: Date }

const dayMs = 24 * 60 * 60_000

const format = new Intl.DateTimeFormat('en-CA', {
  timeZone,
  hourCycle: 'h23',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

/** The day in Brasília time in which a moment lies: `2026-11-20`. */
export function dayOf(at: Date): string {
  const { year, month, day } = partsOf(at)
  return `${year}-${month}-${day}`
}

/** From the first moment of a day to that of the next: 23 or 25 hours, when the law changes the clocks in it. */
export function windowOf(day: string): Window {
  return { from: startOf(day), to: startOf(nextDay(day)) }
}

export function nextDay(day: string): string {
  return new Date(Date.parse(day) + dayMs).toISOString().slice(0, 10)
}

export function dayBefore(day: string): string {
  return new Date(Date.parse(day) - dayMs).toISOString().slice(0, 10)
}

/** @throws {AppError} `validation_failed` for a date that is none, or a day that is not over */
export function assertDayIsOver(day: string, now: Date): void {
  const isDate = /^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(day)) && dayBefore(nextDay(day)) === day
  if (!isDate) throw new AppError('validation_failed', { detail: `${day} is no date. Give it as 2026-11-20.` })
  const { to } = windowOf(day)
  if (to > now)
    throw new AppError('validation_failed', {
      detail: `${day} is not over in Brasília: it can be closed from ${to.toISOString()} on.`,
    })
}

/**
 * Midnight, or the first moment after it where a day begins at one o'clock, as it did with daylight saving time. Both offsets are tried that
 * are in force around it.
 */
function startOf(day: string): Date {
  const midnight = Date.parse(`${day}T00:00:00Z`)
  const before = midnight - offsetAt(midnight - dayMs / 2)
  const after = midnight - offsetAt(midnight + dayMs / 2)
  const [first, second] = before < after ? [before, after] : [after, before]
  return new Date(dayOf(new Date(first)) === day ? first : second)
}

/** By how much the clocks in Brasília are ahead of UTC: below zero. */
function offsetAt(at: number): number {
  const { year, month, day, hour, minute, second } = partsOf(new Date(at))
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - Math.floor(at / 1000) * 1000
}

function partsOf(at: Date): Record<string, string> {
  return Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]))
}
