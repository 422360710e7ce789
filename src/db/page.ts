import { type AppError, invalidField } from '../lib/errors.ts'
import { createFairQueue, type FairQueue } from '../lib/fair-queue.ts'
import { empty, type Reads, type Sql, sql } from './sql.ts'

/** The position of an item in a list: newest first, then by id. */
export type Position = { createdAt: Date; id: string }

/** The filtered rows of one merchant in a table. */
export type List = { table: Sql; columns: Sql; merchantId: string; where: Sql }

/** Parts of the statement for rows that are not found by an index of their own table. */
export type FoundRows = {
  /** A common table expression that the others read. */
  prepared: Sql
  /** The position of each matching row; nothing if there are too many. */
  rows: Sql
  /**
   * For rows whose number only the statement itself finds out. `condition`: whether there are too many. Then they are
   * read by date, and `total` takes the place of their count.
   */
  tooMany?: { condition: Sql; total: Sql }
}

/**
 * The share of a pool's connections that lists and exports may use: the others stay free for create requests and
 * payments.
 */
const shareOfLists = 0.4
/** Concurrent list statements per reader. A search without an index occupies a core that create requests need too. */
const maxPerReader = 1
/**
 * The lists of one reader may keep an eighth of a core busy: a page that takes 5 ms delays the reader's next one by
 * 35 ms. The pause is a second at most, so pages that take longer than 140 ms use more. With a quarter, the slowest
 * create requests beside a busy searcher took more than twice as long as alone, on two cores
 * (`npm run bench -- --only abuse`).
 */
const maxBusyShare = 0.125
/** More than a dashboard page requests at once, or an SDK that reads several lists. */
const maxWaitingPerReader = 32

/** One queue per pool. */
const queues = new WeakMap<object, FairQueue>()

/**
 * Runs a read of unlimited cost: a list, a search, a piece of an export. Limits them per reader: a merchant, or a kind
 * of read by one user of the dashboard.
 */
export async function runList<Row extends object>(db: Reads, reader: string, statement: Sql): Promise<Row[]> {
  const queue = queues.get(db.pool) ?? makeQueue(db.pool.options.max)
  queues.set(db.pool, queue)
  const from = (await db.ready?.()) ?? db
  return await queue.run(reader, () => from.query<Row>(statement))
}

function makeQueue(connectionsMax: number): FairQueue {
  const maxConcurrency = Math.max(1, Math.floor(connectionsMax * shareOfLists))
  return createFairQueue({
    maxConcurrency,
    maxPerKey: maxPerReader,
    maxBusyShare,
    maxWaitingPerKey: maxWaitingPerReader,
  })
}

/** The largest offset of a page: skipped rows are read one by one. Cursors skip none. */
export const offsetMax = 100_000

/** Smaller offsets take no noticeable time. */
const deepFrom = 1000

/**
 * One page of a list, newest first, with the total (exact unless the list gives an expression for it), from one
 * snapshot. Positions come from the index alone, and only then the rows are read: a deep page of a large table takes
 * 5 ms instead of 400 ms. Rows are looked up by both parts of their position, because not every table has an index that
 * starts with the id.
 */
export async function findPage<Row extends { id: string; created_at: Date }>(
  db: Reads,
  list: List & {
    page: number
    perPage: number
    after: Position | null
    /** An expression for the total, if counting the matching rows can be avoided. */
    total?: Sql | undefined
    /**
     * A statement that finds the start of a deep page without reading all rows before it. The page has rows older than
     * `before`, after the first `rest` of them.
     */
    start?: ((offset: number) => Sql) | undefined
    /**
     * Few rows match: they are found once by their own index, then counted and sorted. Otherwise the index by date is
     * read until the page is full, and again for the count; for few matches this would skip all other rows twice.
     */
    matchesFew?: boolean
    found?: FoundRows | null
  },
): Promise<{ total: number; items: Row[]; next: Position | null }> {
  const { table, columns, merchantId, where, after } = list
  const offset = after ? 0 : (list.page - 1) * list.perPage
  const ofMerchant = sql`${table} where merchant_id = ${merchantId} ${where}`
  const start = offset >= deepFrom ? list.start?.(offset) : undefined
  const isDeep = offset > offsetMax && !list.start
  const positions = (from: Sql, skipped: Sql) => sql`
    select created_at, id from ${from} ${start ? sql`and created_at < (select before from start)` : isAfter(after)}
    order by created_at desc, id desc limit ${list.perPage + 1} offset ${skipped}`
  const { prepared, total, places } = choose()
  if (isDeep) {
    const [counted] = await runList<{ total: number }>(db, merchantId, sql`${prepared} select ${total} as total`)
    if (counted && counted.total > offset) throw tooDeep()
    return { total: counted?.total ?? 0, items: [], next: null }
  }
  const statement = sql`
    ${prepared}
    select counted.total, listed.*
    from (select ${total} as total) counted
    left join lateral (
      select ${columns} from ${table} join (${places}) places using (created_at, id)
      where merchant_id = ${merchantId}
    ) listed on true
    order by listed.created_at desc, listed.id desc`
  const rows = await runList<{ total: number } & (Row | { id: null })>(db, merchantId, statement)
  const found = rows.filter((row): row is { total: number } & Row => row.id !== null)
  const items = found.slice(0, list.perPage)
  const last = items.at(-1)
  return {
    total: rows[0]?.total ?? 0,
    items,
    next: last && found.length > list.perPage ? { createdAt: last.created_at, id: last.id } : null,
  }

  function choose(): { prepared: Sql; total: Sql; places: Sql } {
    const { found } = list
    if (found || list.matchesFew) {
      const [matching, skipped] = [sql`matching where true`, sql`${offset}`]
      const [few, counted] = [positions(matching, skipped), sql`(select count(*) from ${matching})`]
      const rows = sql`matching as materialized (${found?.rows ?? sql`select created_at, id from ${ofMerchant}`})`
      const prepared = found ? sql`with ${found.prepared}, ${rows}` : sql`with ${rows}`
      if (!found?.tooMany) return { prepared, total: list.total ?? counted, places: few }
      const { condition, total } = found.tooMany
      return {
        prepared,
        total: sql`case when ${condition} then ${total} else ${counted} end`,
        places: sql`(${few}) union all (${positions(sql`${ofMerchant} and ${condition}`, skipped)})`,
      }
    }
    return {
      prepared: start ? sql`with start as materialized (${start})` : empty,
      total: list.total ?? sql`(select count(*) from ${ofMerchant})`,
      places: positions(ofMerchant, start ? sql`(select rest from start)` : sql`${offset}`),
    }
  }
}

function tooDeep(): AppError {
  const message = `is too deep: more than ${offsetMax} items come before it. Follow nextCursor, or narrow the list by dates`
  return invalidField('page', 'too_deep', message)
}

/** Rows per piece: each takes some milliseconds of a process that create requests also need. */
const rowsAtOnce = 200

/**
 * All rows of a list in its order, in pieces and without counting, for an export. Holds no connection between pieces.
 */
export async function* walkList<Row extends { id: string; created_at: Date }>(
  db: Reads,
  { table, columns, merchantId, where }: List,
): AsyncGenerator<Row[]> {
  for (let after: Position | null = null; ; ) {
    const statement = sql`
      select ${columns} from ${table}
      where merchant_id = ${merchantId} ${where} ${isAfter(after)}
      order by created_at desc, id desc limit ${rowsAtOnce}`
    const rows: Row[] = await runList<Row>(db, merchantId, statement)
    yield rows
    const last = rows.at(-1)
    if (!last || rows.length < rowsAtOnce) return
    after = { createdAt: last.created_at, id: last.id }
  }
}

function isAfter(position: Position | null): Sql {
  return position ? sql`and (created_at, id) < (${position.createdAt}, ${position.id})` : empty
}
