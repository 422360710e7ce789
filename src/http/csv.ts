import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { AppError } from '../lib/errors.ts'

/** What an export adds to the description of its list. */
export const csvDescription =
  'With `Accept: text/csv` all that match, as CSV (RFC 4180), and no pages. A cell that begins with `=`, `+`, `-` or `@` has an ' +
  "apostrophe in front, so that no spreadsheet takes it for a formula: the key `+5511…` stands there as `'+5511…`."

/** The success of a list that is also an export. */
export function pageOrCsv<Page extends TSchema>(page: Page) {
  return {
    description: 'A page, or all that match as CSV',
    content: { 'application/json': { schema: page }, 'text/csv': { schema: Type.String() } },
  }
}

export function wantsCsv(request: FastifyRequest): boolean {
  const ranges = (request.headers.accept ?? '').split(',')
  // By `q=0` a client says what it does not take.
  return ranges.some((range) => /^\s*text\/csv\s*(;|$)/i.test(range) && !/;\s*q=0(\.0*)?\s*(;|$)/i.test(range))
}

/** Exports of one merchant at once, in each process. A person waits for one, a program for two. */
const exportsMax = 2
/** A reader that takes nothing for so long has gone, or means to hold what others need. */
const idleMsMax = 60_000
/** Bytes that are ready for the reader; the pieces that they are made of are some hundred rows each. */
const bufferBytes = 64 * 1024

/** By the server: the exports that run, for each merchant. */
const running = new WeakMap<object, Map<string, number>>()

/**
 * Sent as it is read, by the pace of the reader: an export of years needs no more memory than a page. When the reader goes, or takes
 * nothing for a minute, nothing more is read; and nothing at all when it asks for the headers alone.
 *
 * @throws {AppError} `rate_limited` where the merchant has as many exports running as it may
 */
export function sendCsv(
  reply: FastifyReply,
  name: string,
  lines: AsyncGenerator<string>,
  { idleMs = idleMsMax } = {},
): FastifyReply {
  const { request, server } = reply
  const isHead = request.method === 'HEAD'
  const release = isHead ? () => {} : takeExport(server.server, request.caller?.merchantId ?? request.ip)
  const stalled = () => stream.destroy(new Error('cut: the reader of an export took nothing for a minute'))
  const stream = Readable.from(isHead ? [] : whileRead(lines, { idleMs, stalled }), {
    objectMode: false,
    highWaterMark: bufferBytes,
  })
  stream.once('close', release)
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(stream)
}

function takeExport(server: object, key: string): () => void {
  const counts = running.get(server) ?? new Map<string, number>()
  running.set(server, counts)
  const count = counts.get(key) ?? 0
  if (count >= exportsMax) {
    throw new AppError('rate_limited', {
      detail: `${exportsMax} exports are running already. Read them to their end, or close them, and try again.`,
      headers: { 'retry-after': '5' },
    })
  }
  counts.set(key, count + 1)
  return () => {
    const left = (counts.get(key) ?? 0) - 1
    if (left > 0) counts.set(key, left)
    else counts.delete(key)
  }
}

/** Calls `stalled` when a piece is not asked for within the time after the one before. */
async function* whileRead(
  lines: AsyncGenerator<string>,
  { idleMs, stalled }: { idleMs: number; stalled: () => void },
): AsyncGenerator<string> {
  for await (const line of lines) {
    const timer = setTimeout(stalled, idleMs).unref()
    try {
      yield line
    } finally {
      clearTimeout(timer)
    }
  }
}

type Value = string | number | Date | null

/** A column's name and what a row has in it. Amounts stay in cents: a spreadsheet that guesses at decimals guesses wrong somewhere. */
export type Column<Row> = [name: string, toValue: (row: Row) => Value]

/** The names of the columns, then all rows, piece by piece as they are read. */
export async function* writeCsv<Row>(columns: Column<Row>[], pieces: AsyncIterable<Row[]>): AsyncGenerator<string> {
  yield toLine(columns.map(([name]) => name))
  for await (const rows of pieces) {
    yield rows.map((row) => toLine(columns.map(([, toValue]) => toValue(row)))).join('')
  }
}

function toLine(values: Value[]): string {
  return `${values.map(toCell).join(',')}\r\n`
}

function toCell(value: Value): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  if (value instanceof Date) return value.toISOString()
  const text = isFormula(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/**
 * What a spreadsheet would take for a formula, and run: others wrote it. An apostrophe makes it text. Some programs trim what cannot be seen
 * first, and read full-width characters (＝) as the plain ones.
 */
function isFormula(text: string): boolean {
  return /^[\t\r]/.test(text) || /^[=+\-@]/.test(text.replace(/^[\s\p{Cf}]+/u, '').normalize('NFKC'))
}
