import { findPage } from '../db/page.ts'
import { empty, type Reads, raw, type Sql, sql, type Tx } from '../db/sql.ts'
import type { Page, Slice } from '../http/page.ts'
import { assert } from '../lib/assert.ts'
import { deliveryIdOf, isActive } from './endpoints/store.ts'
import type { RecordType } from './outbox.ts'

export const deliveryStates = ['waiting', 'pending', 'delivered', 'exhausted', 'gone', 'canceled'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export type EventRow = {
  id: string
  type: string
  record_type: RecordType
  record_id: string
  sequence: number
  created_at: Date
  /** State of the delivery to the record's own webhook URL; null when it had none. */
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
      left join webhook_deliveries d on d.merchant_id = e.merchant_id and d.id = e.id
    ) listed_events`,
    columns: sql`id, type, record_type, record_id, sequence, created_at, delivery`,
    merchantId,
    where: ofRecord(filters.recordId),
    matchesFew: filters.recordId !== undefined,
    ...slice,
  })
}

export type AttemptRow = {
  number: number
  started_at: Date
  duration_ms: number
  status: number | null
  error: string | null
  /** The beginning of the answer's body. */
  response: string | null
}

export type DeliveryRow = {
  id: string
  event_id: string
  /** Null: it goes to the record's own URL. */
  endpoint_id: string | null
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
  /** The attempts that are still kept, in order; a resend continues the numbering. */
  attempts: AttemptRow[]
}

export type DeliveryFilters = {
  recordId?: string | undefined
  eventId?: string | undefined
  endpointId?: string | undefined
  state?: DeliveryState | undefined
  type?: string | undefined
  /** Scheme, host and port of the URL. */
  receiver?: string | undefined
  /** Only deliveries of events from this moment on. */
  from?: Date | undefined
  /** Only deliveries of events up to this moment. */
  until?: Date | undefined
}

/** No index counts the deliveries of a type or a period: counting stops here. */
export const deliveriesCountedMax = 10_000

/** Only a few deliveries belong to one record or are undelivered, and indexes find them. */
function matchFew({ recordId, eventId, state }: DeliveryFilters): boolean {
  return recordId !== undefined || eventId !== undefined || (state !== undefined && state !== 'delivered')
}

/** Whether at most one more than `deliveriesCountedMax` are counted. */
export function isCountLimited(filters: DeliveryFilters): boolean {
  const { endpointId, type, receiver, from, until } = filters
  return !matchFew(filters) && [endpointId, type, receiver, from, until].some((one) => one !== undefined)
}

/** Lists a merchant's deliveries with their attempts, newest first. */
export async function listDeliveries(
  db: Reads,
  merchantId: string,
  filters: DeliveryFilters,
  slice: Slice,
): Promise<Page<DeliveryRow>> {
  const { recordId, eventId, endpointId, state, type, receiver, from, until } = filters
  const ofState = state === undefined ? empty : sql`and state = ${state}`
  // Where many match, they have the order and time of their events: the events' index gives the newest page of 200,000
  // in 0.1 ms, where sorting them took 160 ms.
  const matchesFew = matchFew(filters)
  const joined = matchesFew
    ? sql`webhook_deliveries d
      left join events e on e.merchant_id = d.merchant_id and e.record_id = d.record_id and e.sequence = d.sequence`
    : sql`events e
      join webhook_deliveries d on d.merchant_id = e.merchant_id and d.record_id = e.record_id and d.sequence = e.sequence`
  const where = sql`
    ${ofRecord(recordId)} ${eventId === undefined ? empty : sql`and ${isOfEvent({ merchantId, eventId })}`} ${ofState}
    ${endpointId === undefined ? empty : sql`and endpoint_id = ${endpointId}`}
    ${type === undefined ? empty : sql`and type = ${type}`} ${receiver === undefined ? empty : sql`and receiver = ${receiver}`}
    ${from === undefined ? empty : sql`and created_at >= ${from}`} ${until === undefined ? empty : sql`and created_at <= ${until}`}`
  const table = sql`(
      select d.merchant_id, d.id, e.id as event_id, d.endpoint_id, e.type, d.record_id, d.sequence, d.url, d.receiver, d.state,
        case when d.state = 'pending' then d.next_attempt_at end as next_attempt_at,
        d.last_status, d.last_error, ${matchesFew ? sql`d.created_at` : sql`e.occurred_at as created_at`}, d.finished_at
      from ${joined}
    ) listed_deliveries`
  const countFiltered = sql`
    (select count(*) from (
      select from ${table} where merchant_id = ${merchantId} ${where} limit ${deliveriesCountedMax + 1}
    ) fitting)`
  const page = await findPage<Omit<DeliveryRow, 'attempts'>>(db, {
    table,
    columns: sql`
      id, event_id, endpoint_id, type, record_id, sequence, url, state, next_attempt_at, last_status, last_error, created_at, finished_at`,
    merchantId,
    where,
    matchesFew,
    total: matchesFew ? undefined : isCountLimited(filters) ? countFiltered : countAllOrDelivered(merchantId, state),
    ...slice,
  })
  const ids = page.items.map(({ id }) => id)
  const attempts = await listAttempts(db, { merchantId, ids })
  const attemptsOf = (id: string) => attempts.filter((attempt) => attempt.delivery_id === id)
  return { ...page, items: page.items.map((item) => ({ ...item, attempts: attemptsOf(item.id) })) }
}

/**
 * Counts all of a merchant's deliveries, or the delivered ones: all minus the few that are not delivered. No index
 * marks the delivered ones, because it would cost a write for each of them.
 */
function countAllOrDelivered(merchantId: string, state: DeliveryState | undefined): Sql {
  const count = (which: Sql) =>
    sql`(select count(*) from webhook_deliveries where merchant_id = ${merchantId} ${which})`
  if (state === undefined) return count(empty)
  // The conditions of the partial indexes.
  return sql`
    ${count(empty)} - ${count(sql`and state in ('waiting', 'exhausted', 'gone', 'canceled')`)} - ${count(sql`and state = 'pending'`)}`
}

function ofRecord(recordId: string | undefined): Sql {
  return recordId === undefined ? empty : sql`and record_id = ${recordId}`
}

async function listAttempts(
  db: Reads,
  { merchantId, ids }: { merchantId: string; ids: string[] },
): Promise<(AttemptRow & { delivery_id: string })[]> {
  return await db.query(sql`
    select delivery_id, number, started_at, duration_ms, status, error, response
    from webhook_attempts
    where merchant_id = ${merchantId} and delivery_id = any (${ids}::uuid[])
    order by delivery_id, number`)
}

/** A condition on deliveries: those of an event, by the primary key. Those to endpoints deleted since are included. */
export function isOfEvent({ merchantId, eventId }: { merchantId: string; eventId: string }): Sql {
  return sql`id in (
    select ${eventId}::uuid
    union all
    select ${deliveryIdOf(sql`${eventId}::uuid`, raw('id'))} from webhook_endpoints where merchant_id = ${merchantId})`
}

/** The deliveries of an event and whether each can be sent, in no order: `endpointId` limits them to one endpoint. */
export async function listToResend(
  tx: Tx,
  { merchantId, eventId, endpointId }: { merchantId: string; eventId: string; endpointId: string | undefined },
): Promise<{ id: string; recordId: string; isSendable: boolean }[]> {
  return await tx.query(sql`
    select d.id, d.record_id as "recordId", ${isSendable} as "isSendable" from webhook_deliveries d
    where d.merchant_id = ${merchantId} and ${isOfEvent({ merchantId, eventId })}
      ${endpointId === undefined ? empty : sql`and d.endpoint_id = ${endpointId}`}`)
}

/** A condition on a delivery `d`: false if its endpoint receives no more events, because it would be canceled. */
export const isSendable = sql`(d.endpoint_id is null or exists (
  select from webhook_endpoints endpoint
  where endpoint.merchant_id = d.merchant_id and endpoint.id = d.endpoint_id and ${isActive}))`

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
 * Makes them due now with all attempts ahead of each, unless an earlier delivery of the record to the same endpoint (or
 * to its own URL) is unfinished or a worker holds it. Returns `waiting` if all of them wait.
 */
export async function updateToResend(
  tx: Tx,
  { merchantId, ids, now }: { merchantId: string; ids: string[]; now: Date },
): Promise<'pending' | 'waiting'> {
  const rows = await tx.query<{ state: 'pending' | 'waiting' }>(sql`
    update webhook_deliveries d
    set
      state = case when exists (
        select from webhook_deliveries earlier
        where earlier.merchant_id = d.merchant_id and earlier.record_id = d.record_id
          and earlier.endpoint_id is not distinct from d.endpoint_id
          and earlier.sequence < d.sequence and earlier.state in ('waiting', 'pending')
      ) then 'waiting' else 'pending' end,
      attempts_before = attempts,
      next_attempt_at = case when leased_until > ${now} then next_attempt_at else ${now} end,
      retry_after = null,
      finished_at = null
    where merchant_id = ${merchantId} and id = any (${ids}::uuid[])
    returning state`)
  assert(rows.length > 0, 'a locked delivery is there')
  return rows.some(({ state }) => state === 'pending') ? 'pending' : 'waiting'
}
