import { dayInBrasilia, todayInBrasilia } from './days.ts'
import { type Language, useLanguage } from './text.ts'

const locales = { en: 'en-GB', pt: 'pt-BR' } as const
/** Days and hours are in Brasília time wherever the user is, because the banking day is that of Brasília. */
const timeZone = 'America/Sao_Paulo'

/** Formats amounts, numbers, documents, dates and durations in the chosen language. */
export function useFormat() {
  return formats[useLanguage().language]
}

export type Format = ReturnType<typeof createFormat>

export const formats = { en: createFormat('en'), pt: createFormat('pt') }

function createFormat(language: Language) {
  const locale = locales[language]
  const reais = new Intl.NumberFormat(locale, { style: 'currency', currency: 'BRL' })
  const shortReais = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: 'BRL',
    notation: 'compact',
    minimumFractionDigits: 0,
    maximumFractionDigits: 1,
  })
  const number = new Intl.NumberFormat(locale)
  const percent = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 })
  const share = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 })
  const dateTime = new Intl.DateTimeFormat(locale, {
    dateStyle: language === 'en' ? 'medium' : 'short',
    timeStyle: 'medium',
    timeZone,
  })
  const minute = new Intl.DateTimeFormat(locale, {
    dateStyle: language === 'en' ? 'medium' : 'short',
    timeStyle: 'short',
    timeZone,
  })
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone })
  const day = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' })
  const dayWithYear = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeZone: 'UTC' })
  const fullDate = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeZone: 'UTC' })
  const weekday = new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' })
  const month = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' })
  const time = new Intl.DateTimeFormat(locale, { timeStyle: 'medium', timeZone })
  const shortTime = new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone })
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto' })
  return {
    /** Cents. */
    money: (cents: number) => reais.format(cents / 100),
    /** Cents, shortened for the axis of a chart. */
    shortMoney: (cents: number) => shortReais.format(cents / 100),
    number: (value: number) => number.format(value),
    /** `5 MB`, `1.4 MB`, `80 KB`. */
    bytes: (count: number) => {
      const kilobytes = Math.ceil(count / 1024)
      return kilobytes < 1024
        ? `${number.format(kilobytes)} KB`
        : `${number.format(Math.round((count / 1024 / 1024) * 10) / 10)} MB`
    },
    /** 0 to 1. */
    percent: (part: number) => percent.format(part),
    /** 0 to 1, to the basis point. */
    share: (part: number) => share.format(part),
    document: formatDocument,
    phone: formatPhone,
    dateTime: (at: string | Date) => dateTime.format(new Date(at)),
    /** Hours and minutes. */
    shortTime: (at: string | Date) => shortTime.format(new Date(at)),
    /** `today, 08:50`, `yesterday, 21:13`, and the whole date before that. */
    recent: (at: string | Date) => {
      const isOfDay = (daysAgo: number) => date.format(new Date(at)) === date.format(Date.now() - daysAgo * 86_400_000)
      const daysAgo = [0, 1].find(isOfDay)
      return daysAgo === undefined
        ? dateTime.format(new Date(at))
        : `${relative.format(-daysAgo, 'day')}, ${shortTime.format(new Date(at))}`
    },
    /** The date and time without seconds, where there is little room. */
    minute: (at: string | Date) => minute.format(new Date(at)),
    date: (at: string | Date) => date.format(new Date(at)),
    /** `23 Nov`, with its year if that is not the current one. Takes a day without time, yyyy-mm-dd. */
    day: (isoDay: string) =>
      (isoDay.slice(0, 4) === todayInBrasilia().slice(0, 4) ? day : dayWithYear).format(
        new Date(`${isoDay}T00:00:00Z`),
      ),
    /** `Monday, 23 November 2026`. Takes yyyy-mm-dd. */
    fullDate: (isoDay: string) => fullDate.format(new Date(isoDay)),
    /** `Monday`. Takes yyyy-mm-dd. */
    weekday: (isoDay: string) => weekday.format(new Date(isoDay)),
    /** Takes a month, yyyy-mm. */
    month: (isoMonth: string) => month.format(new Date(`${isoMonth}-01T00:00:00Z`)),
    time: (at: string | Date) => time.format(new Date(at)),
    /** Whether the date is today in Brasília. */
    isToday: (at: string | Date) => date.format(new Date(at)) === date.format(new Date()),
    /** `in 3 days`, `2 hours ago`. */
    fromNow: (at: string | Date) => {
      const seconds = (new Date(at).getTime() - Date.now()) / 1000
      const found = units.find(([, size, max]) => Math.abs(Math.round(seconds / size)) < max)
      if (found) return relative.format(Math.round(seconds / found[1]), found[0])
      return relative.format((Date.parse(dayInBrasilia(at)) - Date.parse(todayInBrasilia())) / 86_400_000, 'day')
    },
    /** `850 ms`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
    duration,
  }
}

/** `529.982.247-25`, `***.982.247-**`, `12.ABC.345/01DE-35`. Anything else is unchanged. */
function formatDocument(value: string): string {
  if (/^[\d*]{11}$/.test(value)) return value.replace(/(...)(...)(...)(..)/, '$1.$2.$3-$4')
  return /^[\dA-Z*]{14}$/.test(value) ? value.replace(/(..)(...)(...)(....)(..)/, '$1.$2.$3/$4-$5') : value
}

/** `(11) 98765-4321`, with or without Brazil's country code. Anything else is unchanged. */
function formatPhone(value: string): string {
  const parts = /^(?:\+?55)?(\d{2})(\d{4,5})(\d{4})$/.exec(value.replace(/[^\d+]/g, ''))
  return parts ? `(${parts[1]}) ${parts[2]}-${parts[3]}` : value
}

/**
 * Each unit, its length in seconds, and the rounded number of it from which the next unit is used. From 25 hours on,
 * calendar days are counted: one day is written "tomorrow", and 23.7 hours from now may still be today.
 */
const units = [
  ['second', 1, 60],
  ['minute', 60, 60],
  ['hour', 3_600, 25],
] as const

function duration(milliseconds: number): string {
  if (Math.round(milliseconds) < 1_000) return `${Math.round(milliseconds)} ms`
  const seconds = Math.round(milliseconds / 1_000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`
}
