import { InvalidArgumentError } from 'commander'
import { isDay, windowOf } from '../lib/brasilia.ts'
import { parseDocument } from '../lib/document.ts'
import { fromTxid } from '../pix/ids.ts'

/** Larger than any amount in Guichê, sums included: 10 billion reais. */
const centsMax = 1e12

export function toCents(text: string): number {
  const cents = Number(text)
  if (!/^\d+$/.test(text) || cents > centsMax) throw new InvalidArgumentError('An amount in cents: 1050 is R$ 10,50.')
  return cents
}

export function toCentsAboveZero(text: string): number {
  const cents = toCents(text)
  if (cents === 0) throw new InvalidArgumentError('An amount in cents above 0: 1050 is R$ 10,50.')
  return cents
}

/** A limit, or `none`. Not null: the option parser reads null as an empty text. */
export function toLimit(text: string): number | 'none' {
  if (text === 'none') return text
  const cents = Number(text)
  if (!/^\d+$/.test(text) || cents === 0 || cents > centsMax)
    throw new InvalidArgumentError('An amount in cents above 0, or "none": 1050 is R$ 10,50.')
  return cents
}

/** As {@link toLimit}, but 0 is allowed. */
export function toThreshold(text: string): number | 'none' {
  return text === '0' ? 0 : toLimit(text)
}

export function toBasisPoints(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 10_000)
    throw new InvalidArgumentError('A whole number from 0 to 10000: 99 is 0.99 %.')
  return Number(text)
}

/** A day at most: a duplicate follows within minutes. */
export function toWindowSeconds(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 86_400)
    throw new InvalidArgumentError('A whole number of seconds from 0 to 86400; 0 disables the check.')
  return Number(text)
}

/** An id of Guichê, or a txid, which is the same without hyphens. */
export function toId(text: string): string {
  const id = fromTxid(text.replaceAll('-', ''))
  if (id === null) throw new InvalidArgumentError('An id such as 0b1f0c9e-3a52-4a55-9d3c-7f2f4f0f7c11, or a txid.')
  return id
}

/** Returns the digits; the input may have punctuation. */
export function toDocument(text: string): string {
  const document = parseDocument(text)
  if (!document) throw new InvalidArgumentError('Not a valid CPF or CNPJ: check the digits. Punctuation is optional.')
  return document.value
}

export function toShortText(text: string): string {
  return requireText(text, 255)
}

/** As long as the audit log and the dashboard take. */
export function toReference(text: string): string {
  return requireText(text, 128)
}

function requireText(text: string, lengthMax: number): string {
  if (text.trim() === '' || text.length > lengthMax || /\p{Cc}/u.test(text))
    throw new InvalidArgumentError(`1 to ${lengthMax} characters, without control characters.`)
  return text
}

export function toActor(text: string): string {
  if (!/^[\w.@+-]{1,64}$/.test(text)) throw new InvalidArgumentError('1 to 64 letters, digits and . @ + _ -')
  return text
}

export function toRowCount(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) === 0) throw new InvalidArgumentError('A whole number from 1 to 99999.')
  return Number(text)
}

/** A time, or the beginning of a day in Brasília. */
export function toStart(text: string): Date {
  return toMoment(text, (day) => windowOf(day).from)
}

/** A time, or the end of a day in Brasília. */
export function toEnd(text: string): Date {
  return toMoment(text, (day) => windowOf(day).to)
}

function toMoment(text: string, ofDay: (day: string) => Date): Date {
  if (isDay(text)) return ofDay(text)
  const day = /^(.+)T[\d:.]+(?:Z|[+-]\d{2}:\d{2})$/.exec(text)?.[1] ?? ''
  if (!isDay(day) || Number.isNaN(Date.parse(text)))
    throw new InvalidArgumentError('A day such as 2026-11-20, or a time such as 2026-11-20T10:00:00-03:00.')
  return new Date(text)
}
