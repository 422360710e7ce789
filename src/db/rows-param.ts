import { assert } from '../lib/assert.ts'
import { Sql } from './sql.ts'

/**
 * Column types, by PostgreSQL's names. Arrays are sent as text and cast where they are used:
 * `unnest` would flatten them.
 */
const types = {
  uuid: { oid: 2950, write: writeUuid },
  text: { oid: 25, write: writeText },
  json: { oid: 114, write: (value: unknown, at: number) => writeText(JSON.stringify(value), at) },
  boolean: { oid: 16, write: (value: unknown, at: number) => room(at, 1).writeUInt8(value === true ? 1 : 0, at) },
  integer: { oid: 23, write: (value: unknown, at: number) => room(at, 4).writeInt32BE(Number(value), at) },
  bigint: { oid: 20, write: writeBigint },
  timestamptz: { oid: 1184, write: writeTimestamp },
  'text[]': { oid: 25, write: (value: unknown, at: number) => writeText(toArrayText(value), at) },
  'timestamptz[]': { oid: 25, write: (value: unknown, at: number) => writeText(toArrayText(value), at) },
}

type Columns<Row> = { [Name in keyof Row]?: keyof typeof types }

/**
 * Many rows as parameters of one statement: `from ${rowsParam(columns)(rows)}` reads them as a table `input` with these
 * columns. One array per column, in PostgreSQL's binary form: for rows with 26 columns, a quarter of what JSON costs on
 * both sides.
 *
 * Each array is unnested in the list of a select, which yields row after row. In `from`, PostgreSQL first writes each
 * array into a store of its own, and for 29 columns takes and returns a megabyte of memory for each statement: two to
 * four times the processor time for a few rows.
 */
export function rowsParam<Row>(columns: Columns<Row>): (rows: Row[]) => Sql {
  return toParam(columns, { first: '', last: '', limit: '' })
}

/**
 * The same for a prepared statement that runs often with few rows. If PostgreSQL knows the number of rows, it plans the
 * statement again for each number, 0.3 ms each time. It does not know what a subquery returns, so it keeps its plan.
 * For a limit whose value it does not know (here: no limit) it expects a tenth of the ten rows it assumes of `unnest`:
 * so it uses an index per row, even when it plans while the table is empty.
 */
export function smallRowsParam<Row>(columns: Columns<Row>): (rows: Row[]) => Sql {
  return toParam(columns, { first: '(select ', last: ')', limit: ' limit (select null::bigint)' })
}

type Form = { first: string; last: string; limit: string }

function toParam<Row>(columns: Columns<Row>, { first, last, limit }: Form): (rows: Row[]) => Sql {
  const entries = Object.entries(columns) as [keyof Row & string, keyof typeof types][]
  const ends = entries.map(([name, type]) => `::${type.endsWith('[]') ? 'text' : type}[]${last}) as "${name}"`)
  const begin = `unnest(${first}`
  const strings = [
    `(select ${begin}`,
    ...ends.slice(0, -1).map((end) => `${end}, ${begin}`),
    `${ends.at(-1)}${limit}) as input`,
  ]
  return (rows) => {
    const arrays = entries.map(([name, type]) => toBinaryArray(rows, name, types[type]))
    return new Sql(strings, arrays)
  }
}

const initialBytes = 64 * 1024
/** Grows to the size of the largest column so far: some hundred kilobytes. A copy of it is sent. */
let scratch = Buffer.allocUnsafeSlow(initialBytes)

type Type = { oid: number; write: (value: unknown, at: number) => number }

/**
 * Dimensions, a null flag, the type, the length and the first index; then each element after its length, -1 for null.
 */
function toBinaryArray<Row>(rows: Row[], name: keyof Row, { oid, write }: Type): Buffer {
  let hasNull = 0
  let at = 20
  for (const row of rows) {
    const value = row[name]
    const start = at + 4
    room(at, 4)
    if (value === null || value === undefined) {
      hasNull = 1
      at = scratch.writeInt32BE(-1, at)
    } else {
      const end = write(value, start)
      scratch.writeInt32BE(end - start, at)
      at = end
    }
  }
  scratch.writeInt32BE(1, 0)
  scratch.writeInt32BE(hasNull, 4)
  scratch.writeInt32BE(oid, 8)
  scratch.writeInt32BE(rows.length, 12)
  scratch.writeInt32BE(1, 16)
  return Buffer.from(scratch.subarray(0, at))
}

/** The scratch buffer, with at least this many bytes free from a position on. */
function room(at: number, bytes: number): Buffer {
  if (at + bytes > scratch.length) {
    const larger = Buffer.allocUnsafeSlow(Math.max(scratch.length * 2, at + bytes))
    scratch.copy(larger)
    scratch = larger
  }
  return scratch
}

function writeText(value: unknown, at: number): number {
  const text = String(value)
  // A UTF-16 unit takes at most three bytes.
  return at + room(at, text.length * 3).write(text, at)
}

function writeBigint(value: unknown, at: number): number {
  return writeInt64(Number(value), at)
}

/** 2000-01-01T00:00:00Z, from which PostgreSQL counts its microseconds. */
const epochMs = 946_684_800_000

function writeTimestamp(value: unknown, at: number): number {
  assert(value instanceof Date && !Number.isNaN(value.getTime()), 'a timestamp is a Date')
  const microseconds = (value.getTime() - epochMs) * 1000
  // The years 1714 to 2285. Dates from other systems may be outside.
  if (Number.isSafeInteger(microseconds)) return writeInt64(microseconds, at)
  return room(at, 8).writeBigInt64BE(BigInt(value.getTime() - epochMs) * 1000n, at)
}

/** Writes a safe integer in two halves, which avoids a BigInt per value. */
function writeInt64(value: number, at: number): number {
  assert(Number.isSafeInteger(value), 'an integer for the database is a safe one')
  const high = Math.floor(value / 2 ** 32)
  room(at, 8).writeInt32BE(high, at)
  return scratch.writeUInt32BE(value - high * 2 ** 32, at + 4)
}

/** Digit by digit: a quarter of the time of removing the dashes and letting Buffer parse the rest. */
function writeUuid(value: unknown, at: number): number {
  const text = String(value)
  const bytes = room(at, 16)
  let all = text.length === 36 ? 0 : notHex
  for (let i = 0; i < 16; i++) {
    const place = placesOfBytes[i] ?? 0
    const byte =
      ((valueOfHex[text.charCodeAt(place)] ?? notHex) << 4) | (valueOfHex[text.charCodeAt(place + 1)] ?? notHex)
    all |= byte
    bytes[at + i] = byte
  }
  for (const place of placesOfDashes) if (text.charCodeAt(place) !== dash) all = notHex
  assert(all < notHex, 'a UUID has 16 bytes')
  return at + 16
}

const dash = 45
const placesOfDashes = [8, 13, 18, 23]
const placesOfBytes = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
/** Larger than a byte. */
const notHex = 256
const valueOfHex = new Uint16Array(128).fill(notHex)
for (const [value, digit] of [...'0123456789abcdef'].entries()) {
  valueOfHex[digit.charCodeAt(0)] = value
  valueOfHex[digit.toUpperCase().charCodeAt(0)] = value
}

/** Supports plain words and dates only, which need no quoting. */
function toArrayText(value: unknown): string {
  assert(Array.isArray(value), 'an array column is an array')
  return `{${value.map((item) => (item instanceof Date ? toMoment(item) : toPlainWord(item))).join(',')}}`
}

/** Dates written together are often equal, and formatting one costs half a microsecond. */
function toMoment(date: Date): string {
  const time = date.getTime()
  if (time !== lastMoment.time) lastMoment = { time, text: date.toISOString() }
  return lastMoment.text
}

let lastMoment = { time: Number.NaN, text: '' }

function toPlainWord(item: unknown): string {
  assert(typeof item === 'string' && /^[\w-]+$/.test(item), 'a word in an array needs no escaping')
  // Without quotes it would be a null.
  return item.toUpperCase() === 'NULL' ? `"${item}"` : item
}
