import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { type TObject, type TProperties, Type } from 'typebox'
import { AppError } from '../lib/errors.ts'

/** For the OpenAPI document: a sentence for the description of a list with an export, and the export's description. */
export const alsoCsv = 'With `.csv` after the address, or `Accept: text/csv`: all matching rows as CSV.'
export const csvDescription =
  'All matching rows as CSV (RFC 4180), without pages. A text that begins with `=`, `+`, `-` or `@`, also after ' +
  'spaces, gets an apostrophe in front, so that no spreadsheet treats it as a formula: the Pix key `+5511…` becomes ' +
  "`'+5511…`. The same applies to what follows a semicolon or a tab. Numbers, such as negative amounts, stay as " +
  'they are.'

/** The response of an export. A route that has it also has `produces: csvProduces`. */
export const CsvView = (example: string) =>
  Type.String({ description: 'All matching rows, amounts in cents', examples: [example] })
export const csvProduces = ['text/csv']

/** The filters of a list, for its export: all but the page. */
export function withoutPage<Properties extends TProperties>(query: TObject<Properties>) {
  const { page: _page, perPage: _perPage, cursor: _cursor, ...properties } = query.properties
  return { ...query, properties } as unknown as TObject<Omit<Properties, 'page' | 'perPage' | 'cursor'>>
}

const negotiatedCsvType = 'text/csv;charset=utf-8;header=present'

/** True if the client prefers CSV to JSON. */
export function wantsCsv(request: FastifyRequest): boolean {
  return new Negotiator(request).mediaType(['application/json', negotiatedCsvType]) === negotiatedCsvType
}

/** Concurrent exports of one merchant, user or address, per process. A program needs at most two. */
const exportsMax = 2
/**
 * A client that takes longer than this for one piece, of up to a thousand rows, is treated as gone: that frees its
 * socket and its place among the `exportsMax`.
 */
const idleMsMax = 60_000
/** No further piece is requested while this many bytes wait for the client. One piece alone may be larger. */
const bufferBytes = 64 * 1024

/** Per server: how many exports run for each merchant, user or, on a public route, address. */
const running = new WeakMap<object, Map<string, number>>()

/**
 * Streams an export as fast as the client reads it: whatever its length, at most some thousand rows are in memory.
 * Reading from the database stops when the client disconnects, or takes a minute for one piece. A HEAD request reads no
 * rows.
 * @throws {AppError} `rate_limited` when the caller already has the maximum number of exports running
 */
export function sendCsv(
  reply: FastifyReply,
  name: string,
  lines: AsyncGenerator<string>,
  limits?: { idleMs: number },
): FastifyReply {
  return sendFile(reply, { name: `${name}.csv`, type: csvContentType, pieces: lines }, limits)
}

export const csvContentType = 'text/csv; charset=utf-8'

/** A file whose content is made while it is sent. */
export type StreamedFile = { name: string; type: string; pieces: AsyncGenerator<string | Buffer> }

/** Like {@link sendCsv}, for a file of any kind. */
export function sendFile(
  reply: FastifyReply,
  { name, type, pieces }: StreamedFile,
  { idleMs = idleMsMax } = {},
): FastifyReply {
  const { request, server } = reply
  const isHead = request.method === 'HEAD'
  const key = request.caller?.merchantId ?? request.user?.id ?? request.ip
  const release = isHead ? () => {} : takeExport(server.server, key)
  const stalled = () => stream.destroy(new Error('export aborted: the client read a piece for over a minute'))
  const stream = Readable.from(isHead ? [] : abortIfStalled(pieces, { idleMs, stalled }), {
    objectMode: false,
    highWaterMark: bufferBytes,
  })
  stream.once('close', release)
  return reply.type(type).header('content-disposition', `attachment; filename="${name}"`).send(stream)
}

function takeExport(server: object, key: string): () => void {
  const counts = running.get(server) ?? new Map<string, number>()
  running.set(server, counts)
  const count = counts.get(key) ?? 0
  if (count >= exportsMax) {
    throw new AppError('rate_limited', {
      detail: `${exportsMax} exports are already running. Read them to the end, or close them, then try again.`,
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

/** Calls `stalled` if the next piece is not requested within the time limit. */
async function* abortIfStalled(
  pieces: AsyncGenerator<string | Buffer>,
  { idleMs, stalled }: { idleMs: number; stalled: () => void },
): AsyncGenerator<string | Buffer> {
  for await (const piece of pieces) {
    const timer = setTimeout(stalled, idleMs).unref()
    try {
      yield piece
    } finally {
      clearTimeout(timer)
    }
  }
}

type Value = string | number | Date | null

/** A column's name and its value in a row. Amounts stay in cents: a spreadsheet may misread a decimal separator. */
export type Column<Row> = [name: string, toValue: (row: Row) => Value]

/**
 * The header line, then the rows in pieces as they are read from the database. csv-stringify 6.9 takes 2.5 times the
 * CPU for the same rows, and exports run beside payments.
 */
export async function* writeCsv<Row>(columns: Column<Row>[], pieces: AsyncIterable<Row[]>): AsyncGenerator<string> {
  yield toLine(columns.map(([name]) => name))
  for await (const rows of pieces) {
    yield rows.map((row) => toLine(columns.map(([, toValue]) => toValue(row)))).join('')
  }
}

function toLine(values: Value[]): string {
  return `${values.map(toCell).join(',')}\r\n`
}

/** Most cells, such as ids and statuses: nothing to escape. */
const isPlain = /^\w[\w .:@-]*$/

function toCell(value: Value): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  if (value instanceof Date) return value.toISOString()
  if (isPlain.test(value)) return value
  const text = (isFormula(value) ? `'${value}` : value).replace(laterFormula, "$1'")
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A spreadsheet in Portuguese divides a line at semicolons, and some divide it at tabs. */
const laterFormula = /([;\t])(?=[\s\p{Cf}"]*[=+\-@＝＋－＠])/gu

/**
 * True for text that a spreadsheet may run as a formula: much of what is exported was typed by strangers, such as
 * customers. With an apostrophe in front, a spreadsheet shows it as text. Some programs trim invisible characters
 * first, and read full-width characters (＝) as the plain ones.
 */
function isFormula(text: string): boolean {
  return /^[\t\r]/.test(text) || /^[=+\-@]/.test(text.replace(/^[\s\p{Cf}]+/u, '').normalize('NFKC'))
}
