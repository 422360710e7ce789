import { createHash } from 'node:crypto'
import {
  AcquirerUnavailable,
  type OnUnreadable,
  type Range,
  UnreadableAnswer,
  type UnreadableEntry,
} from '../acquirer.ts'
import { bareList, type Client } from './client.ts'
import type { ProtocolProfile } from './profile.ts'
import { count, dateTime, isRecord, type Json, list as listOf, record, text } from './read.ts'
import { isProblem } from './reason.ts'

// A million entries at 100 a page: with more, the range is a mistake, or the PSP pages endlessly.
const pagesMax = 10_000
const dayMs = 24 * 60 * 60_000

export type ListDeps = { client: Client; list: ProtocolProfile['list'] }

type ListRequest<Item> = {
  path: string
  /** The field of the answer that has the entries. */
  field: string
  range: Range
  /** Further parameters of the list. */
  query?: Record<string, string>
  /** Null for an unreadable entry. If it may be ours it is never skipped: it is money. */
  read: (entry: unknown) => Item | null
  /** True for entries that are not ours, which are not read at all. */
  isSkipped?: (entry: unknown) => boolean
  /** The reference of an unreadable entry, where it is not the endToEndId. */
  referenceOf?: (entry: Json) => string | null
  /** The time of an item, where those outside the range are to be dropped. */
  timeOf?: (item: Item) => Date
} & OnUnreadable

/**
 * Reads a list between two times, page by page from zero, and in parts where the PSP limits the days of a range. The
 * request names whole seconds around the range, since one PSP refuses milliseconds.
 */
export async function* listBetween<Item>(deps: ListDeps, request: ListRequest<Item>): AsyncIterable<Item> {
  let reported = 0
  let unreported = 0
  for (const range of partsOf(request.range, deps.list.daysMax)) {
    for await (const entry of listPages(deps, { ...request, range })) {
      if (request.isSkipped?.(entry)) continue
      const item = request.read(entry)
      if (item === null) {
        if (request.onUnreadable && reported < reportedMax) {
          reported += 1
          request.onUnreadable(toUnreadable(entry, request))
        } else unreported += 1
        continue
      }
      const at = request.timeOf?.(item)
      if (!at || (at >= range.from && at <= range.to)) yield item
    }
  }
  // An unreadable entry is never skipped, since it is money; but the readable ones are yielded first.
  if (unreported > 0)
    throw new UnreadableAnswer(
      `The acquirer’s list of ${request.field} has ${reported + unreported} that cannot be read`,
    )
}

/** With more unreadable entries than this the list's form has changed: then the list counts as unreadable. */
const reportedMax = 100
/** Enough to see what is wrong with an entry. */
const rawLengthMax = 4_000

function toUnreadable(entry: unknown, { referenceOf }: Pick<ListRequest<unknown>, 'referenceOf'>): UnreadableEntry {
  const raw = JSON.stringify(entry)
  const fields = isRecord(entry) ? entry : {}
  const endToEndId = text(fields, 'endToEndId') ?? ''
  const named = referenceOf?.(fields) ?? (/^[A-Za-z0-9]{32}$/.test(endToEndId) ? endToEndId : null)
  const reference = named ?? `sha256:${createHash('sha256').update(raw).digest('hex')}`
  return { reference, at: dateTime(fields, 'horario'), raw: Array.from(raw).slice(0, rawLengthMax).join('') }
}

/**
 * Each part ends a millisecond before the next begins, so that `timeOf` keeps each entry in one part only. The days
 * are counted from the whole second that the first request names: otherwise a request would be a second too long.
 */
function* partsOf({ from, to }: Range, daysMax: number | null): Iterable<Range> {
  const lengthMs = daysMax === null ? Number.POSITIVE_INFINITY : daysMax * dayMs
  let start = from
  let endMs = Math.floor(from.getTime() / 1000) * 1000 + lengthMs
  for (; to.getTime() >= endMs; endMs += lengthMs) {
    yield { from: start, to: new Date(endMs - 1) }
    start = new Date(endMs)
  }
  yield { from: start, to }
}

async function* listPages(
  { client, list: { pageSize } }: ListDeps,
  { path, field, range, query }: Pick<ListRequest<unknown>, 'path' | 'field' | 'range' | 'query'>,
): AsyncIterable<unknown> {
  let isPageCounted = false
  let firstBefore: string | null = null
  for (let page = 0; page < pagesMax; page++) {
    const answer = await client({ method: 'GET', path, query: { ...query, ...toQuery(range, page, pageSize) } })
    // Banco do Brasil answers an empty list with 404. A page that the PSP itself counted is not empty.
    if (!answer.ok && answer.status === 404 && isProblem(answer.body) && !isPageCounted) return
    if (!answer.ok) throw new AcquirerUnavailable(`The acquirer refused to list ${field}: ${answer.reason}`)
    const entries = readEntries(answer.body, field)
    if (!entries) throw new AcquirerUnavailable(`The acquirer answered with a list of ${field} that cannot be read`)
    // Ending here would leave out what the PSP itself has counted.
    if (entries.length === 0 && page + 1 < (pagesOf(answer.body) ?? 0))
      throw new AcquirerUnavailable(`The acquirer answered with an empty page of ${field}, and more pages follow`)
    const first = JSON.stringify(entries[0] ?? null)
    // The PSP ignores the page: it has answered with its whole bare list again.
    if (answer.body[bareList] !== undefined && first === firstBefore) return
    firstBefore = first
    yield* entries
    if (isLastPage(answer.body, { page, entries: entries.length, pageSize })) return
    isPageCounted = pagesOf(answer.body) !== null
  }
  throw new AcquirerUnavailable(`The acquirer has more pages of ${field} than are possible`)
}

/** Null for what is not a list. An answer with neither the list nor its parameters must not count as an empty list. */
export function readEntries(body: Json, field: string): unknown[] | null {
  const found = body[bareList] ?? body[field]
  if (found === undefined && body.parametros === undefined) return null
  return listOf({ found }, 'found')
}

export function toQuery({ from, to }: Range, page: number, pageSize: number): Record<string, string> {
  return {
    inicio: toSeconds(Math.floor(from.getTime() / 1000)),
    fim: toSeconds(Math.ceil(to.getTime() / 1000)),
    'paginacao.paginaAtual': String(page),
    'paginacao.itensPorPagina': String(pageSize),
  }
}

function toSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

/** Uses the number of pages where the PSP reports it, else ends at a page that is not full. */
function isLastPage(
  body: Json,
  { page, entries, pageSize }: { page: number; entries: number; pageSize: number },
): boolean {
  if (entries === 0) return true
  const pages = pagesOf(body)
  const paging = pagingOf(body)
  return pages === null ? entries < (count(paging, 'itensPorPagina') ?? pageSize) : page + 1 >= pages
}

function pagesOf(body: Json): number | null {
  return count(pagingOf(body), 'quantidadeDePaginas')
}

function pagingOf(body: Json): Json {
  return record(record(body, 'parametros'), 'paginacao')
}
