import { createHash } from 'node:crypto'
import { type Static, type TSchema, Type } from 'typebox'
import { offsetMax, type Position } from '../db/page.ts'
import { type AppError, invalidField } from '../lib/errors.ts'
import { Defaulted, Nullable } from './schemas.ts'

export const perPageMax = 100
const perPageDefault = 20
/** No list is this long. A page past the end is empty; PostgreSQL may refuse the offset of a larger number. */
const pageMax = 1_000_000_000

export const PageQuery = {
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: pageMax,
      description: `Page number, from 1 (the default). To go past the first ${offsetMax} items, follow \`nextCursor\` instead`,
    }),
  ),
  perPage: Defaulted(
    Type.Integer({ minimum: 1, maximum: perPageMax, default: perPageDefault, description: 'Items per page' }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Instead of `page`: the `nextCursor` of the previous page, with the same filters',
    }),
  ),
}

/** The paginated list envelope of the API. `title` names the page in the OpenAPI document. */
export const Envelope = <Item extends TSchema>(title: string, item: Item) =>
  Type.Object(
    {
      total: Type.Integer({ description: 'Number of items on all pages' }),
      totalPages: Type.Integer({ description: 'Number of pages' }),
      currentPage: Type.Integer({ description: 'Number of this page, from 1' }),
      perPage: Type.Integer({ description: 'Items per page' }),
      data: Type.Array(item),
      nextCursor: Nullable('string', 'Send it as `cursor` for the next page; null at the end'),
    },
    { title, description: 'A page of a list', examples: examplesOf(item).map(toExamplePage) },
  )

function examplesOf(schema: TSchema): unknown[] {
  return 'examples' in schema && Array.isArray(schema.examples) ? schema.examples : []
}

function toExamplePage(item: unknown) {
  return { total: 1, totalPages: 1, currentPage: 1, perPage: perPageDefault, data: [item], nextCursor: null }
}

/** Which slice of a list is requested: by page number, or after an item. */
export type Slice = { page: number; perPage: number; after: Position | null }

/** The requested slice. `list` identifies the list and its filters: a cursor is valid for the same ones only. */
export type RequestedSlice = Slice & { list: string }

export type Page<Item> = { total: number; items: Item[]; next: Position | null }

type PagedRequest = { url: string; query: { page?: number; perPage: number; cursor?: string } }

/** @throws {AppError} `validation_failed` if the cursor is not from this list, or is sent together with a page */
export function readSlice({ url, query }: PagedRequest, ids: 'uuid' | 'number' = 'uuid'): RequestedSlice {
  const { page, perPage, cursor, ...filters } = query
  const list = hashList(url, filters)
  if (cursor === undefined) return { page: page ?? 1, perPage, after: null, list }
  if (page !== undefined) throw invalidCursor('cannot be combined with page')
  const read = readCursor(cursor, idForms[ids])
  if (read === null) throw invalidCursor('must be a nextCursor from a page of this list')
  if (read.list !== list) {
    throw invalidCursor('comes from another list or other filters: send the same ones, or begin without a cursor')
  }
  return { ...read, perPage }
}

/** A short hash that differs when the path or the filters do. */
function hashList(url: string, filters: object): string {
  const sorted = Object.entries(filters).sort(([a], [b]) => (a < b ? -1 : 1))
  const text = JSON.stringify([url.split('?', 1), sorted])
  return createHash('sha256').update(text).digest('base64url').slice(0, 8)
}

function invalidCursor(message: string): AppError {
  return invalidField('cursor', 'invalid_cursor', message)
}

export function toEnvelope<Item, View>(page: Page<Item>, slice: RequestedSlice, toView: (item: Item) => View) {
  return {
    total: page.total,
    totalPages: Math.ceil(page.total / slice.perPage),
    currentPage: slice.page,
    perPage: slice.perPage,
    data: page.items.map(toView),
    nextCursor: page.next ? writeCursor({ page: slice.page + 1, after: page.next, list: slice.list }) : null,
  } satisfies Static<ReturnType<typeof Envelope<TSchema>>>
}

type Cursor = { page: number; after: Position; list: string }

function writeCursor({ page, after, list }: Cursor): string {
  return Buffer.from(`${page}.${after.createdAt.getTime()}.${after.id}.${list}`).toString('base64url')
}

const idForms = { uuid: /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/, number: /^\d{1,15}$/ }

function readCursor(text: string, idForm: RegExp): Cursor | null {
  const match = /^(\d{1,10})\.(\d{1,15})\.([0-9a-f-]+)\.([\w-]{8})$/.exec(
    Buffer.from(text, 'base64url').toString('utf8'),
  )
  const [, page, time, id, list] = match ?? []
  if (page === undefined || time === undefined || id === undefined || list === undefined || !idForm.test(id))
    return null
  const cursor = { page: Number(page), after: { createdAt: new Date(Number(time)), id }, list }
  // Base64 decoding is lenient: accept only the exact text that we would write.
  return writeCursor(cursor) === text ? cursor : null
}
