import { type Cents, fromReais } from '../../lib/money.ts'

/**
 * Lenient reading of a PSP's answers: numbers as strings, nulls for missing fields, fields that the standard does not
 * have. Every value read is checked; an unreadable one is null, and the caller decides what that means.
 */
export type Json = Record<string, unknown>

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The field as a record; an empty one when it is anything else, so that a chain of reads needs no `if`. */
export function record(parent: Json, name: string): Json {
  const value = parent[name]
  return isRecord(value) ? value : {}
}

/** The field as a list; an empty list when it is missing or null, and null when it is anything else. */
export function list(parent: Json, name: string): unknown[] | null {
  const value = parent[name] ?? []
  return Array.isArray(value) ? value : null
}

/** A text that is not empty. PostgreSQL cannot read NUL or half of a surrogate pair: a text with one is null. */
export function text(parent: Json, name: string): string | null {
  const value = anyText(parent, name)
  return value === null || value.includes('\0') || /\p{Cs}/u.test(value) ? null : value
}

/** A text that is not empty, with any characters: for messages, which are cleaned before they are kept. */
export function anyText(parent: Json, name: string): string | null {
  const value = parent[name]
  return typeof value === 'string' && value !== '' ? value : null
}

/** A whole number, zero or more, also written as text. */
export function count(parent: Json, name: string): number | null {
  const value = parent[name]
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null
}

/** `"10.50"`, and the forms of some PSPs: `"10.5"`, `"10"` or a number. Exact to the cent: anything finer is null. */
export function amount(parent: Json, name: string): Cents | null {
  const value = parent[name]
  const written = typeof value === 'number' ? String(value) : value
  const [, reais, decimals = ''] = /^(\d{1,10})(?:\.(\d{1,2}))?$/.exec(typeof written === 'string' ? written : '') ?? []
  return reais === undefined ? null : fromReais(`${reais}.${decimals.padEnd(2, '0')}`)
}

/** A date and time. Without an offset it is read as UTC, so that it does not depend on where this process runs. */
export function dateTime(parent: Json, name: string): Date | null {
  const value = text(parent, name)
  if (value === null || !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value)) return null
  const date = new Date(/(Z|[+-]\d\d:?\d\d)$/i.test(value) ? value : `${value}Z`)
  return Number.isNaN(date.getTime()) ? null : date
}
