import { isIP } from 'node:net'
import type { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { assert } from '../lib/assert.ts'
import { parseDocument } from '../lib/document.ts'
import { isLandlinePhone, isMobilePhone } from '../lib/phone.ts'
import { isInternationalName } from '../lib/text.ts'
import { detectPixKey, normalizePixKey, type PixKeyType } from '../pix/key.ts'

/**
 * A text format of the API, with the sentence that tells the caller what is expected. `published` is what the OpenAPI
 * document has in its place, for tools that do not know our formats. A pattern accepts everything that the format
 * accepts, and may accept more.
 */
type Format = { accepts: (text: string) => boolean; message: string; published: Published }
type Published = { format?: string; pattern?: string }

/** A CPF, or a CNPJ of digits and letters, with or without its punctuation. */
const documentPattern =
  '^(?:[0-9]{3}\\.?[0-9]{3}\\.?[0-9]{3}-?[0-9]{2}|[0-9A-Za-z]{2}\\.?[0-9A-Za-z]{3}\\.?[0-9A-Za-z]{3}/?[0-9A-Za-z]{4}-?[0-9]{2})$'
const phonePattern = '^\\+?[0-9 ().-]+$'

const formats: Record<string, Format> = {
  'international-name': {
    accepts: isInternationalName,
    message:
      "may hold letters of any script, digits, spaces and ' ’ - . , & / ( ) º ª, with at least one letter or digit",
    // Without \p{L}, which not every language's expressions know.
    published: { pattern: '^[^!-%*+:-@[-^`{-~]+$' },
  },
  document: {
    accepts: (text) => parseDocument(text) !== null,
    message: 'must be a valid CPF or CNPJ',
    published: { pattern: documentPattern },
  },
  'landline-phone': {
    accepts: isLandlinePhone,
    message: 'must be a valid landline phone number, such as (11) 3333-4444',
    published: { pattern: phonePattern },
  },
  'mobile-phone': {
    accepts: isMobilePhone,
    message: 'must be a valid mobile phone number, such as (11) 98765-4321',
    published: { pattern: phonePattern },
  },
  'ip-address': {
    accepts: (text) => isIP(text) !== 0,
    message: 'must be an IPv4 or IPv6 address',
    published: { pattern: '^[0-9A-Fa-f.:]+(?:%.+)?$' },
  },
  'zip-code': {
    accepts: (text) => /^\d{5}-?\d{3}$/.test(text),
    message: 'must be a Brazilian postal code, such as 01310-100',
    published: { pattern: '^[0-9]{5}-?[0-9]{3}$' },
  },
  'digits-only': {
    accepts: (text) => /^\d+$/.test(text),
    message: 'must hold digits only',
    published: { pattern: '^[0-9]+$' },
  },
  'uuid-any': {
    accepts: (text) => /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text),
    message: 'must be a UUID, such as 0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1',
    published: { format: 'uuid' },
  },
  'uuid-v4': {
    accepts: (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(text),
    message: 'must be a UUID of version 4',
    published: { format: 'uuid' },
  },
  'iso-date': {
    accepts: (text) => isCalendarDate(text),
    message: 'must be an ISO 8601 date without time, such as 1990-12-31',
    published: { format: 'date' },
  },
  'iso-date-time': {
    accepts: (text) => parseDateTime(text) !== null,
    message:
      'must be an ISO 8601 date with time, such as 2026-01-31T12:00:00Z or 2026-01-31T09:00:00-03:00 (a + is sent as %2B in a query)',
    // Stricter: with seconds and an offset.
    published: { format: 'date-time' },
  },
  'pix-key': {
    accepts: (text) => detectPixKey(text) !== null,
    message: 'must be a valid PIX key: CPF, CNPJ, e-mail, phone or EVP',
    published: { pattern: '^[ -~]{5,77}$' },
  },
  'pix-key-cpf': pixKey('CPF', 'must be a valid CPF, as its type says'),
  'pix-key-cnpj': pixKey('CNPJ', 'must be a valid CNPJ, as its type says'),
  'pix-key-email': pixKey('EMAIL', 'must be a valid e-mail address of at most 77 characters, as its type says'),
  'pix-key-phone': pixKey('PHONE', 'must be a valid Brazilian phone number such as +5511987654321, as its type says'),
  'pix-key-evp': pixKey('EVP', 'must be a random key (EVP): a UUID, as its type says'),
  'phone-search': {
    accepts: (text) => /^[\d\s().+-]+$/.test(text) && /\d/.test(text),
    message: 'must be a phone number',
    published: { pattern: '^[0-9\\s().+-]+$' },
  },
}

function pixKey(type: PixKeyType, message: string): Format {
  return { accepts: (key) => normalizePixKey({ key, type }) !== null, message, published: {} }
}

/** What the OpenAPI document has in place of a format. A standard format stays as it is. */
export function publicFormat(name: string): Published {
  if (name === 'webhook-url') return { format: 'uri', pattern: '^https?://[^/?#@\\s]+([/?][^#\\s]*)?$' }
  return formats[name]?.published ?? { format: name }
}

export function addOurFormats(ajv: Ajv): void {
  addFormats.default(ajv, ['email'])
  for (const [name, format] of Object.entries(formats)) ajv.addFormat(name, format.accepts)
}

/** What a text in this format must be, as the end of a sentence that begins with the field's name. */
export function describeFormat(name: string): string {
  return formats[name]?.message ?? (name === 'email' ? 'must be a valid e-mail address' : `must be a valid ${name}`)
}

const isoLength = '2026-01-31T12:00:00.000Z'.length

const dateTime =
  /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,]\d{1,9})?)?(Z|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?$/i

/** Parses an ISO 8601 date with time. An offset is applied; without one the time is UTC. Null for other text. */
export function parseDateTime(text: string): Date | null {
  const match = dateTime.exec(text)
  if (!match?.[1] || !isCalendarDate(match[1])) return null
  const offset = match[5] ? match[5].replace(/^([+-]\d{2})(\d{2})$/, '$1:$2') : 'Z'
  const date = new Date(
    `${text.slice(0, text.length - (match[5]?.length ?? 0)).replace(',', '.')}${offset}`.toUpperCase(),
  )
  // An offset may move the date outside the years of four digits.
  return !Number.isNaN(date.getTime()) && date.toISOString().length === isoLength ? date : null
}

function isCalendarDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false
  const [year, month, day] = [Number(text.slice(0, 4)), Number(text.slice(5, 7)), Number(text.slice(8))]
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(month, year)
}

function daysIn(month: number, year: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31
}

/** The instant that a date filter names, after its format was checked. Undefined if there was no filter. */
export function toDate(text: string): Date
export function toDate(text: string | undefined): Date | undefined
export function toDate(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const date = parseDateTime(text)
  assert(date, 'the format of a date filter was checked')
  return date
}
