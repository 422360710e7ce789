import { randomBytes } from 'node:crypto'
import { assert } from '../lib/assert.ts'

/** The txid of a charge: our UUID without hyphens, since the standard allows 26 to 35 of `[a-zA-Z0-9]`. */
export function toTxid(uuid: string): string {
  return uuid.replaceAll('-', '').toLowerCase()
}

/** The UUID of our txid, or null for the txid of another system. A PSP may return it in upper case. */
export function fromTxid(txid: string): string | null {
  const match = /^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i.exec(txid)
  return match ? match.slice(1).join('-').toLowerCase() : null
}

/** Whether it has the form of a txid of ours: of a charge, or of the static code of a payment link. */
export function isOwnTxid(txid: string): boolean {
  return fromTxid(txid) !== null || /^[\da-f]{24}$/i.test(txid)
}

/** The ISPB of the payer's institution, and the time of the payment. */
type IdInput = { ispb: string; at: Date }

/** `E` + ISPB + `yyyyMMddHHmm` in UTC + 11 random letters and digits: one payment of the Pix system. Case-sensitive. */
export function newEndToEndId(input: IdInput): string {
  return newId('E', input)
}

/** The same with `D`: one return of a payment (devolução). Its ISPB is that of the institution that returns it. */
export function newReturnId(input: IdInput): string {
  return newId('D', input)
}

// An ISPB is the root of a CNPJ, which may have letters since July 2026.
const ISPB = /^[\dA-Z]{8}$/
const END_TO_END_ID = /^E[\dA-Z]{8}(\d{4})(\d{2})(\d{2})([01]\d|2[0-3])([0-5]\d)[\dA-Za-z]{11}$/

/**
 * Strict: for ids that we create, and for one that a person copies from a PSP's statement, whose time we read.
 * Elsewhere we accept any 32 letters and digits.
 */
export function isEndToEndId(text: string): boolean {
  const match = END_TO_END_ID.exec(text)
  if (!match) return false
  const [, year, month, day] = match.map(Number)
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)))
  // Date would move a month 13 or a 30th of February to a later date.
  return date.getUTCFullYear() === year && date.getUTCMonth() + 1 === month && date.getUTCDate() === day
}

function newId(letter: 'E' | 'D', { ispb, at }: IdInput): string {
  assert(ISPB.test(ispb), 'an ISPB has 8 digits or capital letters')
  const minute = at.toISOString().slice(0, 16).replace(/[-T:]/g, '')
  assert(minute.length === 12, 'the year of a payment has four digits')
  return `${letter}${ispb}${minute}${randomText(11)}`
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
// The largest multiple of 62 in a byte. Larger bytes would make some characters more likely, so they are discarded.
const UNBIASED_BELOW = 248

function randomText(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      if (byte < UNBIASED_BELOW && text.length < length) text += ALPHABET.charAt(byte % ALPHABET.length)
    }
  }
  return text
}

/** The time of the payment, to the minute, from an id that {@link isEndToEndId} accepts. */
export function timeOfEndToEndId(id: string): Date {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = (END_TO_END_ID.exec(id) ?? []).slice(1).map(Number)
  return new Date(Date.UTC(year, month - 1, day, hour, minute))
}
