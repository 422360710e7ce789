import { findPage } from '../db/page.ts'
import { empty, type Reads, type Sql, sql, type Tx } from '../db/sql.ts'
import type { Page, Slice } from '../http/page.ts'
import { assert } from '../lib/assert.ts'
import type { RecordType } from './outbox.ts'

export const deliveryStates = ['waiting', 'pending', 'delivered', 'exhausted', 'gone'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export type EventRow = {
  id: string
  type: string
  record_type: RecordType
  record_id: string
  sequence: number
  created_at: Date
  /** Null when the record had no webhook URL: there is nothing to deliver. */
  delivery: DeliveryState | null
}

/** Lists a merchant's events, newest first; optionally those of one record. */
export async function listEvents(
  db: Reads,
  merchantId: string,
  filters: { recordId?: string | undefined },
  slice: Slice,
): Promise<Page<EventRow>> {
  return await findPage<EventRow>(db, {
    table: sql`(
      select e.merchant_id, e.id, e.type, e.record_type, e.record_id, e.sequence, e.occurred_at as created_at, d.state as delivery
      from events e
      left join webhook_deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
    ) listed_events`,
    columns: sql`id, type, record_type, record_id, sequence, created_at, delivery`,
    merchantId,
    where: ofRecord(filters.recordId),
    isNarrow: filters.recordId !== undefined,
    ...slice,
  })
}

export type AttemptRow = {
  number: number
  started_at: Date
  duration_ms: number
  status: number | null
  error: string | null
}

export type DeliveryRow = {
  /** The event's id. */
  id: string
  type: string
  record_id: string
  sequence: number
  url: string
  state: DeliveryState
  /** When it is tried next; null when it is finished, or waits for an earlier event of its record. */
  next_attempt_at: Date | null
  last_status: number | null
  last_error: string | null
  created_at: Date
  finished_at: Date | null
  /** All attempts, in order; a resend continues the numbering. */
  attempts: AttemptRow[]
}

export type DeliveryFilters = {
  recordId?: string | undefined
  eventId?: string | undefined
  state?: DeliveryState | undefined
  type?: string | undefined
  /** Only deliveries of events from this moment on. */
  from?: Date | undefined
  /** Only deliveries of events up to this moment. */
  until?: Date | undefined
}

/** No index counts the deliveries of a type or a period: counting stops here. */
export const deliveriesCountedMax = 10_000

/** Lists a merchant's deliveries with their attempts, newest first; filters: record, event, state, type, period. */
export async function listDeliveries(
  db: Reads,
  merchantId: string,
  filters: DeliveryFilters,
  slice: Slice,
): Promise<Page<DeliveryRow>> {
  const { recordId, eventId, state, type, from, until } = filters
  const ofState = state === undefined ? empty : sql`and state = ${state}`
  // Only a few deliveries belong to one record or are undelivered, and indexes find them. The others have the order
  // and time of their events: the events' index gives the newest page of 200,000 in 0.1 ms, where sorting them took
  // 160 ms.
  const isNarrow = recordId !== undefined || eventId !== undefined || (state !== undefined && state !== 'delivered')
  const joined = isNarrow
    ? sql`webhook_deliveries d
      left join events e on e.merchant_id = d.merchant_id and e.record_id = d.record_id and e.sequence = d.sequence`
    : sql`events e join webhook_deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id`
  const where = sql`
    ${ofRecord(recordId)} ${eventId === undefined ? empty : sql`and id = ${eventId}`} ${ofState}
    ${type === undefined ? empty : sql`and type = ${type}`}
    ${from === undefined ? empty : sql`and created_at >= ${from}`} ${until === undefined ? empty : sql`and created_at <= ${until}`}`
  const isCountedOnly = type !== undefined || from !== undefined || until !== undefined
  const table = sql`(
      select d.merchant_id, d.event_id as id, e.type, d.record_id, d.sequence, d.url, d.state,
        case when d.state = 'pending' then d.next_attempt_at end as next_attempt_at,
        d.last_status, d.last_error, ${isNarrow ? sql`d.created_at` : sql`e.occurred_at as created_at`}, d.finished_at
      from ${joined}
    ) listed_deliveries`
  const countSome = sql`
    (select count(*) from (
      select from ${table} where merchant_id = ${merchantId} ${where} limit ${deliveriesCountedMax + 1}
    ) fitting)`
  const page = await findPage<Omit<DeliveryRow, 'attempts'>>(db, {
    table,
    columns: sql`
      id, type, record_id, sequence, url, state, next_attempt_at, last_status, last_error, created_at, finished_at`,
    merchantId,
    where,
    isNarrow,
    total: isNarrow ? undefined : isCountedOnly ? countSome : countMany(merchantId, state),
    ...slice,
  })
  const eventIds = page.items.map(({ id }) => id)
  const attempts = await listAttempts(db, { merchantId, eventIds })
  const attemptsOf = (id: string) => attempts.filter((attempt) => attempt.event_id === id)
  return { ...page, items: page.items.map((item) => ({ ...item, attempts: attemptsOf(item.id) })) }
}

/**
 * Counts all of a merchant's deliveries, or the delivered ones: all minus the few that are not delivered. No index
 * marks the delivered ones, because it would cost a write for each of them.
 */
function countMany(merchantId: string, state: DeliveryState | undefined): Sql {
  const count = (which: Sql) =>
    sql`(select count(*) from webhook_deliveries where merchant_id = ${merchantId} ${which})`
  if (state === undefined) return count(empty)
  // The conditions of the partial indexes.
  return sql`
    ${count(empty)} - ${count(sql`and state in ('waiting', 'exhausted', 'gone')`)} - ${count(sql`and state = 'pending'`)}`
}

function ofRecord(recordId: string | undefined): Sql {
  return recordId === undefined ? empty : sql`and record_id = ${recordId}`
}

async function listAttempts(
  db: Reads,
  { merchantId, eventIds }: { merchantId: string; eventIds: string[] },
): Promise<(AttemptRow & { event_id: string })[]> {
  return await db.query(sql`
    select event_id, number, started_at, duration_ms, status, error
    from webhook_attempts
    where merchant_id = ${merchantId} and event_id = any (${eventIds}::uuid[])
    order by event_id, number`)
}

export async function findDeliveryRecord(
  tx: Tx,
  { merchantId, eventId }: { merchantId: string; eventId: string },
): Promise<string | null> {
  const [row] = await tx.query<{ recordId: string }>(sql`
    select record_id as "recordId" from webhook_deliveries
    where merchant_id = ${merchantId} and event_id = ${eventId}`)
  return row?.recordId ?? null
}

export async function lockRecordDeliveries(
  tx: Tx,
  { merchantId, recordId }: { merchantId: string; recordId: string },
): Promise<void> {
  await tx.query(sql`
    select from webhook_deliveries
    where merchant_id = ${merchantId} and record_id = ${recordId}
    order by merchant_id, record_id, sequence
    for no key update`)
}

/**
 * Makes it due now with all attempts ahead of it, unless an earlier delivery of its record is unfinished or a worker
 * holds it.
 */
export async function updateToResend(
  tx: Tx,
  { merchantId, eventId, now }: { merchantId: string; eventId: string; now: Date },
): Promise<'pending' | 'waiting'> {
  const [row] = await tx.query<{ state: 'pending' | 'waiting' }>(sql`
    update webhook_deliveries d
    set
      state = case when exists (
        select from webhook_deliveries earlier
        where earlier.merchant_id = d.merchant_id and earlier.record_id = d.record_id
          and earlier.sequence < d.sequence and earlier.state in ('waiting', 'pending')
      ) then 'waiting' else 'pending' end,
      attempts_before = attempts,
      next_attempt_at = case when leased_until > ${now} then next_attempt_at else ${now} end,
      retry_after = null,
      finished_at = null
    where merchant_id = ${merchantId} and event_id = ${eventId}
    returning state`)
  assert(row, 'a locked delivery is there')
  return row.state
}
