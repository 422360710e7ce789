/**
 * The time of the Pix system and of every bank in Brazil. The tz database knows when its clocks change; SQL has the
 * same in brazilian_day().
 */
export const brasilia = 'America/Sao_Paulo'

export type Window = { from: Date; to: Date }

const dayMs = 24 * 60 * 60_000

const format = new Intl.DateTimeFormat('en-US', {
  timeZone: brasilia,
  hourCycle: 'h23',
  year: 'numeric',
  month: 'numeric',
  day: 'numeric',
  hour: 'numeric',
  minute: 'numeric',
  second: 'numeric',
})

/**
 * What a clock on the wall in Brasília shows at a moment, as if it were UTC: for getUTCHours() and the like. Whole
 * seconds.
 */
export function toWallTime(at: Date): Date {
  const shown = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes) => shown.get(type) ?? 0
  return new Date(Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second')))
}

/**
 * The first moment at which a clock in Brasília shows this time or a later one: on the night when the clocks go
 * forward, none shows midnight. The offsets half a day before and after are both tried.
 */
export function fromWallTime(wallMs: number): Date {
  const before = wallMs - offsetAt(wallMs - dayMs / 2)
  const after = wallMs - offsetAt(wallMs + dayMs / 2)
  const [first, second] = before < after ? [before, after] : [after, before]
  return new Date(toWallTime(new Date(first)).getTime() >= wallMs ? first : second)
}

/** The day in Brasília of a moment: `2026-11-20`. */
export function dayOf(at: Date): string {
  return toWallTime(at).toISOString().slice(0, 10)
}

/**
 * Whether it is a day of the calendar, such as 2026-11-20. `Date.parse` alone takes 2026-02-30 for a day in March.
 * Years begin at 1000: PostgreSQL has no year 0000, and queries also read the days around.
 */
export function isDay(text: string): boolean {
  return /^[1-9]\d{3}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) && dayBefore(nextDay(text)) === text
}

/** From the first moment of a day to that of the next: 23 or 25 hours on the days when the clocks change. */
export function windowOf(day: string): Window {
  return { from: fromWallTime(Date.parse(day)), to: fromWallTime(Date.parse(nextDay(day))) }
}

export function nextDay(day: string): string {
  return new Date(Date.parse(day) + dayMs).toISOString().slice(0, 10)
}

export function dayBefore(day: string): string {
  return new Date(Date.parse(day) - dayMs).toISOString().slice(0, 10)
}

/** By how much the clocks in Brasília are ahead of UTC: below zero. */
function offsetAt(at: number): number {
  return toWallTime(new Date(at)).getTime() - Math.floor(at / 1000) * 1000
}
