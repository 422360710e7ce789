import { AppError } from '../lib/errors.ts'
import { createFairQueue, type FairQueue } from '../lib/fair-queue.ts'
import type { Db } from './sql.ts'
import { empty, type Sql, sql } from './sql.ts'

/** Where an item stands in a list: newest first, then by id. */
export type Position = { createdAt: Date; id: string }

/** A merchant's part of a table, filtered. */
export type List = { table: Sql; columns: Sql; merchantId: string; where: Sql }

/** Of a pool's connections, the share that lists and exports have at most: creates and bookings always find one. */
const shareOfLists = 0.4
/** One merchant's statements at once. A search that no index serves keeps a core busy that creates need too. */
const maxPerMerchant = 2
/** More than a page of the dashboard asks for at once, or an SDK that reads several lists. */
const maxWaitingPerMerchant = 32

/** One line for each pool, whoever asks it. */
const queues = new WeakMap<object, FairQueue>()

/** Runs a statement that reads as much as a merchant likes: a list, a search, a piece of an export. */
export async function runList<Result>(db: Db, merchantId: string, work: () => Promise<Result>): Promise<Result> {
  const queue = queues.get(db.pool) ?? makeQueue(db.pool.options.max)
  queues.set(db.pool, queue)
  return await queue.run(merchantId, work)
}

function makeQueue(connectionsMax: number): FairQueue {
  const maxConcurrency = Math.max(1, Math.floor(connectionsMax * shareOfLists))
  // Half of them, so that another merchant's list need not wait for this one's.
  const maxPerKey = Math.min(maxPerMerchant, Math.ceil(maxConcurrency / 2))
  return createFairQueue({ maxConcurrency, maxPerKey, maxWaitingPerKey: maxWaitingPerMerchant })
}

/** Places that a page may pass over one by one, filtered: each costs what it costs to read it. Cursors pass over none. */
const offsetMax = 100_000

/** To pass over fewer takes no time. */
const deepFrom = 1000

/**
 * One slice of a list, newest first, with the exact total, all from one snapshot. The page's places come from an index alone and only then
 * the rows: on a deep page of a large table 5 ms where reading whole rows takes 400. A row is found again by both halves of its place,
 * since not every table has an index that begins with the id alone.
 */
export async function findPage<Row extends { id: string; created_at: Date }>(
  db: Db,
  list: List & {
    page: number
    perPage: number
    after: Position | null
    /** An expression for the total, where counting what matches can be spared. */
    total?: Sql | undefined
    /** A statement that knows where a deep page begins, where passing over all before it can be spared: from `before` on, after `rest`. */
    start?: ((offset: number) => Sql) | undefined
    /**
     * Few match: they are found once, by their own index, then counted and sorted. Otherwise the index of the newest is read until the
     * page is full, and again to count, which on the way to a few would pass over all the others twice.
     */
    isNarrow?: boolean
  },
): Promise<{ total: number; items: Row[]; next: Position | null }> {
  const { table, columns, merchantId, where, after } = list
  const offset = after ? 0 : (list.page - 1) * list.perPage
  const ofMerchant = sql`${table} where merchant_id = ${merchantId} ${where}`
  const matching = list.isNarrow ? sql`matching where true` : ofMerchant
  const start = offset >= deepFrom ? list.start?.(offset) : undefined
  const prepared = list.isNarrow
    ? sql`with matching as materialized (select created_at, id from ${ofMerchant})`
    : start && sql`with start as materialized (${start})`
  if (offset > offsetMax && !list.start) throw tooDeep()
  const statement = sql`
    ${prepared ?? empty}
    select counted.total, listed.*
    from (select ${list.total ?? sql`(select count(*) from ${matching})`} as total) counted
    left join lateral (
      select ${columns} from ${table} join (
        select created_at, id from ${matching}
          ${start ? sql`and created_at < (select before from start)` : isAfter(after)}
        order by created_at desc, id desc
        limit ${list.perPage + 1} offset ${start ? sql`(select rest from start)` : offset}
      ) places using (created_at, id)
      where merchant_id = ${merchantId}
    ) listed on true
    order by listed.created_at desc, listed.id desc`
  const rows = await runList(db, merchantId, () => db.query<{ total: number } & (Row | { id: null })>(statement))
  const found = rows.filter((row): row is { total: number } & Row => row.id !== null)
  const items = found.slice(0, list.perPage)
  const last = items.at(-1)
  return {
    total: rows[0]?.total ?? 0,
    items,
    next: last && found.length > list.perPage ? { createdAt: last.created_at, id: last.id } : null,
  }
}

function tooDeep(): AppError {
  const message = `is too deep: more than ${offsetMax} items come before it. Follow nextCursor, or narrow the list by dates`
  return new AppError('validation_failed', {
    detail: `page ${message}.`,
    fields: [{ field: 'page', code: 'too_deep', message }],
  })
}

/** At once: some milliseconds of a process that creates are waiting for. */
const rowsAtOnce = 500

/** All of a list, in its order, some rows at a time and without counting: for an export, which holds no connection in between. */
export async function* walkList<Row extends { id: string; created_at: Date }>(
  db: Db,
  { table, columns, merchantId, where }: List,
): AsyncGenerator<Row[]> {
  for (let after: Position | null = null; ; ) {
    const statement = sql`
      select ${columns} from ${table}
      where merchant_id = ${merchantId} ${where} ${isAfter(after)}
      order by created_at desc, id desc limit ${rowsAtOnce}`
    const rows: Row[] = await runList(db, merchantId, () => db.query<Row>(statement))
    yield rows
    const last = rows.at(-1)
    if (!last || rows.length < rowsAtOnce) return
    after = { createdAt: last.created_at, id: last.id }
  }
}

function isAfter(position: Position | null): Sql {
  return position ? sql`and (created_at, id) < (${position.createdAt}, ${position.id})` : empty
}
