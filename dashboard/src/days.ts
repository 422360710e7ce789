import type { Language } from './text.ts'

/** Days are yyyy-mm-dd, of Brasília; months are yyyy-mm. */
const timeZone = 'America/Sao_Paulo'

// The format of Sweden is yyyy-mm-dd.
const inBrasilia = new Intl.DateTimeFormat('sv-SE', { timeZone })

export const dayInBrasilia = (at: string | number | Date): string => inBrasilia.format(new Date(at))
export const todayInBrasilia = (): string => dayInBrasilia(Date.now())

const clock = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
const offset = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })

/** A time to the minute as `DayTimeInput` has it: `2026-11-20T09:05`. */
export const minuteInBrasilia = (at: Date): string => clock.format(at).replace(' ', 'T')

/** Adds Brasília's offset to a time that a clock there shows: `2026-11-20T09:05:00-03:00`. */
export function withOffset(shown: string): string {
  const parts = offset.formatToParts(Date.parse(`${shown}Z`))
  return `${shown}${parts.find(({ type }) => type === 'timeZoneName')?.value.slice('GMT'.length)}`
}

/** The first and the last millisecond of a day. Undefined if the text, which may be from an address, is no day. */
export const dayStart = (day: string) => (parseDay(day) === day ? withOffset(`${day}T00:00:00.000`) : undefined)
export const dayEnd = (day: string) => (parseDay(day) === day ? withOffset(`${day}T23:59:59.999`) : undefined)

export function shiftDay(day: string, days: number): string {
  return toDay(Date.parse(day) + days * 86_400_000)
}

export function shiftMonth(month: string, months: number): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return toDay(Date.UTC(year, number - 1 + months, 1)).slice(0, 7)
}

export function lastDayOf(month: string): string {
  return shiftDay(`${shiftMonth(month, 1)}-01`, -1)
}

/** The same day of another month, or the last one of a shorter month. */
export function shiftDayByMonths(day: string, months: number): string {
  const last = lastDayOf(shiftMonth(day.slice(0, 7), months))
  const same = `${last.slice(0, 8)}${day.slice(8)}`
  return same < last ? same : last
}

/** 0 is Sunday. */
export const weekdayOf = (day: string): number => new Date(day).getUTCDay()

const toDay = (time: number) => new Date(time).toISOString().slice(0, 10)

const shown = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric', timeZone: 'UTC' })

/** A day as it is typed: `23/11/2026`, or `23 Nov 2026`. */
export function writeDay(day: string, language: Language): string {
  if (day === '') return ''
  return language === 'pt' ? day.split('-').reverse().join('/') : shown.format(new Date(day))
}

const monthNames = [
  ...['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  ...['jan', 'fev', 'mar', 'abr', 'mai', 'jun', 'jul', 'ago', 'set', 'out', 'nov', 'dez'],
]

/** The forms in which a day is typed. In both languages, digits have the day before the month, except in yyyy-mm-dd. */
const orders = [
  /^(?<year>\d{4})-(?<month>\d{1,2})-(?<day>\d{1,2})$/,
  /^(?<day>\d{1,2})[/. -](?<month>\d{1,2})(?:[/. -](?<year>\d{4}|\d\d))?$/,
  /^(?<day>\d\d)(?<month>\d\d)(?<year>\d{4})$/,
  /^(?<day>\d{1,2})(?:º|st|nd|rd|th)?(?: de | )(?<month>[a-zç]{3,})\.?(?:(?: de |,? )(?<year>\d{4}))?$/,
  /^(?<month>[a-z]{3,})\.? (?<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?<year>\d{4}))?$/,
]

/** The day that a text means, or null. Without a year it is one of this year. */
export function parseDay(text: string, today = todayInBrasilia()): string | null {
  const typed = text.trim().toLowerCase().replaceAll(/\s+/g, ' ')
  const found = orders.map((order) => order.exec(typed)?.groups).find(Boolean)
  if (!found) return null
  const { day = '', month = '', year = today.slice(0, 4) } = found
  const named = monthNames.indexOf(month.slice(0, 3))
  const number = named === -1 ? Number(month) : (named % 12) + 1
  const written = [year.padStart(4, '20'), String(number).padStart(2, '0'), day.padStart(2, '0')].join('-')
  const time = Date.parse(written)
  return Number.isNaN(time) || toDay(time) !== written || written < '1900' ? null : written
}

/** A time of day as hh:mm, from `9:05`, `0905`, `9h05` or `9h`, or null. */
export function parseTime(text: string): string | null {
  const [, hour = '', minute = '0'] = /^(\d{1,2})(?:[:h. ]?(\d\d)|h)?$/.exec(text.trim().toLowerCase()) ?? []
  if (hour === '' || Number(hour) > 23 || Number(minute) > 59) return null
  return `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
}
