import { type Static, type TSchema, Type } from 'typebox'
import type { Position } from '../db/page.ts'
import { AppError } from '../lib/errors.ts'
import { Defaulted, Nullable } from './schemas.ts'

export const perPageMax = 100
const perPageDefault = 20
/** No list comes near it: past the end is an empty page, but a number that PostgreSQL cannot count to is a mistake. */
const pageMax = 1_000_000_000

export const PageQuery = {
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: pageMax, description: 'Page, from 1 (the default)' })),
  perPage: Defaulted(
    Type.Integer({ minimum: 1, maximum: perPageMax, default: perPageDefault, description: 'Items per page' }),
  ),
  cursor: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'In place of `page`: the `nextCursor` of the page before',
    }),
  ),
}

/** The paginated list envelope of the service interface. */
export const Envelope = <Item extends TSchema>(item: Item) =>
  Type.Object({
    total: Type.Integer({ description: 'Items in all' }),
    totalPages: Type.Integer(),
    currentPage: Type.Integer(),
    perPage: Type.Integer(),
    data: Type.Array(item),
    nextCursor: Nullable('string', 'Send it as `cursor` for the next page; null at the end'),
  })

/** Which slice of a list is asked for: by number, or after an item. */
export type Slice = { page: number; perPage: number; after: Position | null }

export type Page<Item> = { total: number; items: Item[]; next: Position | null }

/** @throws {AppError} `validation_failed` when the cursor is none of ours, or comes with a page */
export function readSlice(
  query: { page?: number; perPage: number; cursor?: string },
  ids: 'uuid' | 'number' = 'uuid',
): Slice {
  if (query.cursor === undefined) return { page: query.page ?? 1, perPage: query.perPage, after: null }
  const slice = query.page === undefined ? readCursor(query.cursor, idForms[ids]) : null
  if (slice) return { ...slice, perPage: query.perPage }
  throw new AppError('validation_failed', {
    detail: 'cursor must be a nextCursor from a page of this list, without page beside it.',
    fields: [
      {
        field: 'cursor',
        code: 'invalid_cursor',
        message: 'must be a nextCursor from a page of this list, without page beside it',
      },
    ],
  })
}

export function toEnvelope<Item, View>(page: Page<Item>, slice: Slice, toView: (item: Item) => View) {
  return {
    total: page.total,
    totalPages: Math.ceil(page.total / slice.perPage),
    currentPage: slice.page,
    perPage: slice.perPage,
    data: page.items.map(toView),
    nextCursor: page.next ? writeCursor(page.next, slice.page + 1) : null,
  } satisfies Static<ReturnType<typeof Envelope<TSchema>>>
}

function writeCursor(position: Position, page: number): string {
  return Buffer.from(`${page}.${position.createdAt.getTime()}.${position.id}`).toString('base64url')
}

const idForms = { uuid: /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/, number: /^\d{1,15}$/ }

function readCursor(cursor: string, idForm: RegExp): Omit<Slice, 'perPage'> | null {
  const match = /^(\d{1,7})\.(\d{1,15})\.([0-9a-f-]+)$/.exec(Buffer.from(cursor, 'base64url').toString('utf8'))
  const [, page, time, id] = match ?? []
  if (page === undefined || time === undefined || id === undefined || !idForm.test(id)) return null
  const position = { createdAt: new Date(Number(time)), id }
  // Base64 is decoded loosely: only what we would write ourselves is one of ours.
  return writeCursor(position, Number(page)) === cursor ? { page: Number(page), after: position } : null
}
