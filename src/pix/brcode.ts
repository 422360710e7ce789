import { assert } from '../lib/assert.ts'
import { type Cents, toReais } from '../lib/money.ts'

/**
 * BR Code: the text of a Pix QR code. It is EMV's merchant-presented code (tag, length, value; each tag and length has
 * two digits) with a template of the Central Bank: "Manual de Padrões para Iniciação do Pix". Writing is strict;
 * reading accepts what real institutions print.
 */

/**
 * The content of a code. Of a dynamic code, a payer's app ignores `txid` and `amount`: it reads both from the charge at
 * the location.
 */
export type BrCode = {
  /** `recurrence` has no charge: only a consent to automatic Pix. */
  kind: 'static' | 'dynamic' | 'recurrence'
  /** Dynamic: where the charge is read, without scheme. */
  location?: string
  /** Static: the key that is paid. */
  key?: string
  /** `***` means none. */
  txid?: string
  /** As printed, such as `10.00`. */
  amount?: string
  merchantName: string
  merchantCity: string
  /** Where the consent to automatic Pix is read (tag 80). A charge may come with one. */
  recurrenceLocation?: string
}

export type DecodedBrCode =
  | { ok: true; code: BrCode }
  | { ok: false; reason: 'crc_mismatch' | 'malformed' | 'not_pix' | 'too_long' }

const GUI = 'br.gov.bcb.pix'
// EMV limits a code to 512 characters; a length of two digits limits a value to 99.
const codeMax = 512
const valueMax = 99
const nameMax = 25
const cityMax = 15

/** The longest location: what is left of tag 26 after the GUI (4 + 14) and its own tag and length (4). */
export const locationMax: number = valueMax - (4 + GUI.length) - 4

type Merchant = { merchantName: string; merchantCity: string }

/**
 * The code of the charge at `location` (with or without `https://`). It has no amount, since a payer's app reads it at
 * the location: so the code stays short and easy to scan.
 */
export function encodeDynamicBrCode({ location, ...merchant }: Merchant & { location: string }): string {
  return createDynamicEncoder(merchant)(location)
}

/** The same for many charges of one merchant: only the location and the CRC differ. */
export function createDynamicEncoder({ merchantName, merchantCity }: Merchant): (location: string) => string {
  // 12: for a single payment; 11 would be reusable.
  const head = field('00', '01') + field('01', '12')
  const gui = field('00', GUI)
  const tail = [
    field('52', '0000'),
    field('53', '986'),
    field('58', 'BR'),
    field('59', printable(merchantName, nameMax)),
    field('60', printable(merchantCity, cityMax)),
    field('62', field('05', '***')),
    '6304', // part of what the CRC covers
  ].join('')
  return (text) => {
    const location = text.replace(SCHEME, '')
    checkLocation(location)
    const body = head + field('26', gui + field('25', location)) + tail
    // Every part has a limit, so the whole has at most 203 of the 512 characters.
    return body + crc16(body)
  }
}

/**
 * A code that can be printed and paid any number of times: it has no charge. Without an amount the payer enters it. The
 * txid, at most 25 letters and digits, comes back with each payment.
 */
export function encodeStaticBrCode({
  key,
  txid,
  amount,
  ...merchant
}: Merchant & { key: string; txid: string; amount: Cents | null }): string {
  assert(/^[A-Za-z\d]{1,25}$/.test(txid), 'the txid of a static code has 1 to 25 letters and digits')
  const body = [
    field('00', '01'),
    field('26', field('00', GUI) + field('01', key)),
    field('52', '0000'),
    field('53', '986'),
    amount === null ? '' : field('54', toReais(amount)),
    field('58', 'BR'),
    field('59', printable(merchant.merchantName, nameMax)),
    field('60', printable(merchant.merchantCity, cityMax)),
    field('62', field('05', txid)),
    '6304',
  ].join('')
  return body + crc16(body)
}

function checkLocation(location: string): void {
  if (!/^[\x21-\x7e]+$/.test(location))
    throw new Error('The location of a BR Code must be printable ASCII without spaces')
  if (location.length > locationMax) {
    throw new Error(`The location of a BR Code has at most ${locationMax} characters, this one has ${location.length}`)
  }
}

/** Reads a code as payers' apps do: GUI and CRC in either case, lengths in characters or bytes, and so on. */
export function decodeBrCode(text: string): DecodedBrCode {
  const code = text.trim() // copy and paste brings line breaks
  if (code.length > codeMax) return { ok: false, reason: 'too_long' }
  if (!code.startsWith('000201') || !/6304[\da-f]{4}$/i.test(code)) return { ok: false, reason: 'malformed' }
  if (crc16(code.slice(0, -4)) !== code.slice(-4).toUpperCase()) return { ok: false, reason: 'crc_mismatch' }
  const fields = parseFields(code)
  if (!fields?.has('63')) return { ok: false, reason: 'malformed' }
  const account = findTemplate(fields, 26, 51)
  const recurrence = findTemplate(fields, 80, 99)
  if (!account && !recurrence) return { ok: false, reason: 'not_pix' }
  const read = readCode(fields, account?.get('01'), account?.get('25'), recurrence?.get('25'))
  return read ? { ok: true, code: read } : { ok: false, reason: 'malformed' }
}

/** CRC-16/CCITT-FALSE over the bytes of UTF-8, as four capital hexadecimal digits. */
export function crc16(text: string): string {
  const bytes = Buffer.from(text, 'utf8')
  let crc = 0xffff
  // By index: iterating over a Buffer takes twice as long.
  for (let at = 0; at < bytes.length; at++)
    crc = ((crc << 8) & 0xffff) ^ (crcTable[(crc >>> 8) ^ (bytes[at] ?? 0)] ?? 0)
  return crc.toString(16).toUpperCase().padStart(4, '0')
}

const crcTable = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

const SCHEME = /^https?:\/\//i

function field(tag: string, value: string): string {
  return tag + String(value.length).padStart(2, '0') + value
}

/** `Açaí & Cia` → `Acai & Cia`. Apps garble characters that are not ASCII, or refuse the code. */
function printable(text: string, max: number): string {
  const folded = text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[‘’]/g, "'")
    .replace(/[^\x20-\x7e]/g, ' ')
    .replace(/ +/g, ' ')
    .trim()
  if (folded === '')
    throw new Error('The merchant name and city of a BR Code need a letter of the Latin alphabet or a digit')
  return folded.slice(0, max).trimEnd()
}

type Fields = Map<string, string>

/** EMV counts characters, some systems count the bytes of UTF-8. The two differ only if a name keeps its accents. */
function parseFields(text: string): Fields | null {
  const byCharacters = split(text)
  if (byCharacters) return byCharacters
  const byBytes = split(Buffer.from(text, 'utf8').toString('latin1'))
  return byBytes && new Map([...byBytes].map(([tag, value]) => [tag, Buffer.from(value, 'latin1').toString('utf8')]))
}

/** Null when a length exceeds the text or a tag occurs twice: then two readers could read the code differently. */
function split(text: string): Fields | null {
  const fields: Fields = new Map()
  for (let at = 0; at < text.length; ) {
    const head = text.slice(at, at + 4)
    const end = at + 4 + Number(head.slice(2))
    if (!/^\d{4}$/.test(head) || end > text.length || fields.has(head.slice(0, 2))) return null
    fields.set(head.slice(0, 2), text.slice(at + 4, end))
    at = end
  }
  return fields
}

/** Finds the Central Bank's template: a code may also have those of other payment systems. */
function findTemplate(fields: Fields, first: number, last: number): Fields | undefined {
  for (const [tag, value] of fields) {
    if (Number(tag) < first || Number(tag) > last) continue
    const template = parseFields(value)
    if (template?.get('00')?.toLowerCase() === GUI) return template
  }
  return undefined
}

function readCode(fields: Fields, key?: string, location?: string, recurrenceLocation?: string): BrCode | null {
  const merchantName = fields.get('59')
  const merchantCity = fields.get('60')
  if (!merchantName || !merchantCity) return null
  if (fields.get('53') !== '986' || fields.get('58')?.toUpperCase() !== 'BR') return null
  const kind = location ? 'dynamic' : key ? 'static' : recurrenceLocation ? 'recurrence' : null
  // A code with both a key and a location: some apps would pay the key, others the location.
  if (!kind || (key && location)) return null
  const amount = fields.get('54')
  // The amount of a dynamic code is not checked: payers' apps ignore it, and some banks print it in another form.
  if (kind === 'static' && amount !== undefined && !/^\d{1,10}(\.\d{1,2})?$/.test(amount)) return null
  const txid = parseFields(fields.get('62') ?? '')?.get('05')
  return {
    kind,
    ...(location && { location: location.replace(SCHEME, '') }),
    ...(key && { key }),
    ...(txid && { txid }),
    ...(amount && { amount }),
    merchantName,
    merchantCity,
    ...(recurrenceLocation && { recurrenceLocation: recurrenceLocation.replace(SCHEME, '') }),
  }
}
