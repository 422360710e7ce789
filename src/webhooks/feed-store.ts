import { runList } from '../db/page.ts'
import { type Db, empty, type Reads, type Sql, sql, type Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { EventToSend } from './payload.ts'
import { isOfEvent } from './read-store.ts'

export type FeedState = {
  merchantId: string
  lastNumber: number
  /** Whether there are committed events without a number. */
  hasNew: boolean
}

const server = sql`(select system_identifier::text from pg_control_system())`

/**
 * Whether the merchant of `feed` has committed events without a number. Each subquery is ordered as the index is:
 * otherwise the planner, which expects many new events, may read any index of the merchant.
 */
export const hasNewEvents = sql`((
  feed.server <> ${server}
  or (select xid from events where merchant_id = feed.merchant_id order by xid desc limit 1)
    >= pg_snapshot_xmax(feed.snapshot)
  or exists (
    select from pg_snapshot_xip(feed.snapshot) as open
    where open = (select xid from events where merchant_id = feed.merchant_id and xid >= open order by xid limit 1))
) is true)`

/** The feeds of these merchants. One that nobody has read yet is missing. */
export async function findFeeds(db: Db, merchantIds: string[]): Promise<FeedState[]> {
  return await db.query(
    sql`
      select merchant_id as "merchantId", last_number as "lastNumber", ${hasNewEvents} as "hasNew"
      from event_feeds feed
      where merchant_id = any (${merchantIds}::uuid[])`,
    'find-event-feeds',
  )
}

type Feed = { lastNumber: number; snapshot: string; isOtherServer: boolean }

/** The next statement sees all that was numbered before: it begins when the lock is held. */
export async function lockFeed(tx: Tx, merchantId: string): Promise<Feed> {
  await tx.query(sql`
    insert into event_feeds (merchant_id, last_number, snapshot, server)
    values (${merchantId}, 0, ${emptySnapshot}, ${server})
    on conflict do nothing`)
  const [feed] = await tx.query<Feed>(sql`
    select last_number as "lastNumber", snapshot::text, server <> ${server} as "isOtherServer"
    from event_feeds where merchant_id = ${merchantId} for update`)
  assert(feed, 'a feed that was inserted is there')
  return feed
}

/** The snapshot of a new feed: it precedes every event. */
export const emptySnapshot = '1:1:'

/**
 * After a dump was restored into another server, the database transaction ids of events may be ahead of the server's
 * own. Those events would count as new until the server's ids have reached them.
 */
export async function renewTransactionIds(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(sql`
    update events set xid = pg_current_xact_id()
    where merchant_id = ${merchantId} and xid >= pg_snapshot_xmax(pg_current_snapshot())`)
  await tx.query(sql`update event_feeds set server = ${server} where merchant_id = ${merchantId}`)
}

/**
 * Numbers the events that are visible in this statement's snapshot and have no number, up to about `limit`.
 *
 * What the previous snapshot did not see has the id of a database transaction from its xmax on, or of one that was in
 * progress in it. If more than `limit` are found, the snapshot that is stored says "everything below this id": none
 * that is left or still in progress is below it.
 *
 * A record's events are numbered in the order of their sequence. Their transactions commit in that order, because each
 * holds the record's lock, but a later one may have the lower id: it may have written something else first. So an event
 * gets the lowest id among those that follow it, and events that precede one of the found ones are taken along.
 */
export async function numberEvents(
  tx: Tx,
  { merchantId, lastNumber, snapshot, limit }: Omit<Feed, 'isOtherServer'> & { merchantId: string; limit: number },
): Promise<{ lastNumber: number; isComplete: boolean }> {
  // A subquery, and no join: a join may read all numbers of the merchant.
  const isNew = sql`
    merchant_id = ${merchantId} and (
      select number from event_numbers n
      where n.merchant_id = e.merchant_id and n.record_id = e.record_id and n.sequence = e.sequence) is null`
  const findNew = (condition: Sql) => sql`
    (select record_id, sequence, xid from events e where ${isNew} and ${condition} order by xid limit ${limit + 1})`
  const [row] = await tx.query<{ lastNumber: number; isComplete: boolean }>(sql`
    with found as materialized (
      select * from (
        ${findNew(sql`xid >= pg_snapshot_xmax(${snapshot}::pg_snapshot)`)}
        union all
        ${findNew(sql`xid = any (array(select pg_snapshot_xip(${snapshot}::pg_snapshot)))`)}
      ) visible
      order by xid limit ${limit + 1}
    ), slice as materialized (
      select * from found order by xid limit ${limit}
    ), whole as (
      select e.record_id, e.sequence, e.xid
      from (select record_id, max(sequence) as last from slice group by record_id) record
      cross join lateral (
        select * from events e where ${isNew} and e.record_id = record.record_id and e.sequence <= record.last
      ) e
    ), placed as (
      select record_id, sequence, row_number() over (order by place, record_id, sequence) as number
      from (
        select *, min(xid) over (partition by record_id order by sequence desc rows unbounded preceding) as place from whole
      ) ordered
    ), inserted as (
      insert into event_numbers (merchant_id, number, record_id, sequence)
      select ${merchantId}, ${lastNumber} + number, record_id, sequence from placed
    ), outcome as (
      select (select count(*) from placed) as numbered, (select count(*) from found) <= ${limit} as is_complete,
        least((select max(xid) from slice), pg_snapshot_xmin(pg_current_snapshot()))::text as below
    )
    update event_feeds
    set last_number = ${lastNumber} + numbered,
      snapshot = case when is_complete then pg_current_snapshot() else (below || ':' || below || ':')::pg_snapshot end
    from outcome
    where merchant_id = ${merchantId}
    returning last_number as "lastNumber", is_complete as "isComplete"`)
  assert(row, 'a locked feed is there')
  return row
}

export type FeedFilters = {
  types?: string[] | undefined
  recordId?: string | undefined
  /** Only events of changes from this moment on. */
  from?: Date | undefined
}

export type NumberedEvent = EventToSend & { number: number }

const eventColumns = sql`
  e.merchant_id as "merchantId", e.id as "eventId", e.type, e.record_type as "recordType", e.record_id as "recordId",
  e.sequence, e.occurred_at as "occurredAt", e.snapshot`

/** Events with a number above `after`, up to `until`, in order. */
export async function listNumbered(
  db: Reads,
  {
    merchantId,
    after,
    until,
    limit,
    types,
    recordId,
    from,
  }: FeedFilters & { merchantId: string; after: number; until: number; limit: number },
): Promise<NumberedEvent[]> {
  return await runList<NumberedEvent>(
    db,
    merchantId,
    sql`
      select n.number, ${eventColumns}
      from event_numbers n
      join events e on e.merchant_id = n.merchant_id and e.record_id = n.record_id and e.sequence = n.sequence
      where n.merchant_id = ${merchantId} and n.number > ${after} and n.number <= ${until}
        ${recordId === undefined ? empty : sql`and n.record_id = ${recordId}`}
        ${types === undefined ? empty : sql`and e.type = any (${types})`}
        ${from === undefined ? empty : sql`and e.occurred_at >= ${from}`}
      order by n.number limit ${limit}`,
  )
}

/** The ids of the events with these numbers. */
export async function findNumbered(
  db: Reads,
  { merchantId, numbers }: { merchantId: string; numbers: number[] },
): Promise<Map<number, string>> {
  const rows = await db.query<{ number: number; id: string }>(sql`
    select n.number, e.id
    from event_numbers n
    join events e on e.merchant_id = n.merchant_id and e.record_id = n.record_id and e.sequence = n.sequence
    where n.merchant_id = ${merchantId} and n.number = any (${numbers}::bigint[])`)
  return new Map(rows.map(({ number, id }) => [number, id]))
}

/**
 * One event. No index has the id of an event without a delivery, because it would cost every event a write at a random
 * place: the merchant's index by date is read, one request at a time.
 */
export async function findEvent(
  db: Reads,
  { merchantId, eventId }: { merchantId: string; eventId: string },
): Promise<EventToSend | null> {
  const [event] = await runList<EventToSend>(
    db,
    merchantId,
    sql`
      (select ${eventColumns}
       from webhook_deliveries d
       join events e on e.merchant_id = d.merchant_id and e.record_id = d.record_id and e.sequence = d.sequence
       where d.merchant_id = ${merchantId} and d.${isOfEvent({ merchantId, eventId })})
      union all
      (select ${eventColumns} from events e where e.merchant_id = ${merchantId} and e.id = ${eventId})
      limit 1`,
  )
  return event ?? null
}
