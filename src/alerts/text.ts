import type { Language } from '../lib/alert-settings.ts'
import { brasilia } from '../lib/brasilia.ts'
import { type AlertKind, conditionOf, type Fact } from './conditions.ts'
import { english } from './english.ts'
import { portuguese } from './portuguese.ts'

export type Texts = {
  /** What is wrong, and what to do. `{name}` is a label. The English ones are also those of the alert rules. */
  alerts: Record<AlertKind, [title: string, advice: string]>
  facts: Record<Fact, (value: string) => string>
  /** Instead of the time or the days that are left, once they are over. */
  passed: string
  states: Record<'opened' | 'lasts' | 'ended' | 'test', (title: string) => string>
  since: (at: string) => string
  lasted: (from: string, to: string) => string
  test: [title: string, advice: string]
}

const texts: Record<Language, Texts> = { en: english, pt: portuguese }

/** The words of an alert in one language: what is wrong, how much of it, and what to do. */
export type WordedAlert = { title: string; fact: string | null; advice: string }

export function wordAlert(
  { kind, subject, value }: { kind: AlertKind; subject: string; value: number },
  language: Language,
): WordedAlert {
  const { alerts, facts, passed } = texts[language]
  const labels: Record<string, string> = JSON.parse(subject)
  const fill = (text: string) => text.replace(/\{(\w+)\}/g, (_, name: string) => labels[name] ?? '')
  const [title, advice] = alerts[kind]
  const { fact } = conditionOf(kind)
  const written = fact ? facts[fact](writeValue(fact, value, language)) : null
  const isOver = (fact === 'left' && value <= 0) || (fact === 'days' && value < 0)
  return {
    title: fill(title),
    fact: isOver ? passed : written,
    advice: fill(advice),
  }
}

/**
 * The path of the dashboard's screen for an alert. A label is empty if the subject is the operator's own: its parameter
 * is left out.
 */
export function screenOf({ kind, subject }: { kind: AlertKind; subject: string }): string {
  const labels: Record<string, string> = JSON.parse(subject)
  const address = conditionOf(kind).screen.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(labels[name] ?? ''),
  )
  const [path = '', query = ''] = address.split('?')
  const parameters = query.split('&').filter((parameter) => !parameter.endsWith('='))
  return [path, parameters.join('&')].filter((part) => part !== '').join('?')
}

export type AlertState = keyof Texts['states']

/** What is sent: a title, and lines of plain text. */
export type Message = {
  /** The same each time that this report is sent, so that receivers can drop a repeated one. */
  id: string
  /** The same in all messages of an alert. */
  thread: string
  state: AlertState
  kind: AlertKind | 'test'
  severity: 'critical' | 'warning' | 'test'
  subject: Record<string, string>
  title: string
  lines: string[]
  url: string
  beganAt: Date
  endedAt: Date | null
}

export type ReportedAlert = {
  id: string
  kind: AlertKind
  subject: string
  value: number
  began_at: Date
  ended_at: Date | null
  reports: number
}

export function writeMessage(
  alert: ReportedAlert,
  { language, baseUrl }: { language: Language; baseUrl: string },
): Message {
  const { states, since, lasted } = texts[language]
  const { id, kind, subject, began_at: beganAt, ended_at: endedAt, reports } = alert
  const { title, fact, advice } = wordAlert(alert, language)
  const state = endedAt ? 'ended' : reports === 1 ? 'opened' : 'lasts'
  const lines = endedAt
    ? [lasted(writeTime(beganAt, language), writeTime(endedAt, language))]
    : [...(fact ? [fact] : []), since(writeTime(beganAt, language)), advice]
  return {
    ...{ id: `${id}.${reports}`, thread: id, state, kind, subject: JSON.parse(subject) },
    ...{ severity: conditionOf(kind).severity, title: states[state](title), lines },
    ...{ url: `${baseUrl}/dashboard${screenOf(alert)}`, beganAt, endedAt },
  }
}

export function writeTestMessage({
  id,
  language,
  baseUrl,
  now,
}: {
  id: string
  language: Language
  baseUrl: string
  now: Date
}): Message {
  const [title, advice] = texts[language].test
  return {
    ...{ id: `${id}.1`, thread: id, state: 'test', kind: 'test', severity: 'test', subject: {}, title },
    ...{ lines: [advice], url: `${baseUrl}/dashboard/system`, beganAt: now, endedAt: null },
  }
}

const locales = { en: 'en-GB', pt: 'pt-BR' } as const

function writeValue(fact: Fact, value: number, language: Language): string {
  const locale = locales[language]
  if (fact === 'cents') return new Intl.NumberFormat(locale, { style: 'currency', currency: 'BRL' }).format(value / 100)
  if (fact === 'count' || fact === 'days') return new Intl.NumberFormat(locale).format(value)
  const [unit, seconds] = units.find(([, size]) => value >= 2 * size) ?? units[3]
  const format = new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(Math.max(0, Math.floor(value / seconds)))
}

const units = [
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
] as const

function writeTime(at: Date, language: Language): string {
  return new Intl.DateTimeFormat(locales[language], {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone: brasilia,
  }).format(at)
}
