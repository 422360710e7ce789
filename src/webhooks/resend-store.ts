import { type Db, join, type Reads, raw, type Sql, sql, type Tx } from '../db/sql.ts'
import { deliveryIdOf } from './endpoints/store.ts'
import { firstFailure } from './queue-store.ts'
import { type DeliveryState, isOfEvent, isSendable } from './read-store.ts'

/**
 * States that a bulk resend accepts. A delivery that is `waiting` follows the earlier one of its record
 * automatically.
 */
export const resendStates = ['exhausted', 'gone', 'canceled', 'pending', 'delivered'] as const satisfies DeliveryState[]
export type ResendState = (typeof resendStates)[number]

/** Deliveries of a merchant's events between two moments, both included, by their current state. */
export type Period = { merchantId: string; from: Date; until: Date; states: ResendState[] }

/** Most deliveries in one resend: 18,000 were locked for 1.5 s on a busy machine. */
export const resendMax = 20_000

/** Selects one more than may be sent, so that the caller sees when there are more. */
function ofPeriod(period: Period): Sql {
  const { merchantId, from, until, states } = period
  // One part per state, each written out to match the partial indexes. Delivered rows have the order and time of
  // their events.
  const parts = states.map((state) =>
    state === 'delivered'
      ? sql`
        (select d.id, d.record_id, d.receiver, e.occurred_at as at
        from events e
        join webhook_deliveries d on d.merchant_id = e.merchant_id and d.record_id = e.record_id and d.sequence = e.sequence
        where e.merchant_id = ${merchantId} and e.occurred_at between ${from} and ${until} and d.state = 'delivered' and ${isSendable}
        order by e.occurred_at, e.id limit ${resendMax + 1})`
      : sql`
        (select id, record_id, receiver, created_at as at from webhook_deliveries d
        where merchant_id = ${merchantId} and state = ${raw(`'${state}'`)} and created_at between ${from} and ${until} and ${isSendable}
        order by created_at, id limit ${resendMax + 1})`,
  )
  return sql`select id, record_id, receiver from (${join(parts, ' union all ')}) parts order by at, id limit ${resendMax + 1}`
}

export async function countToResend(db: Db, period: Period): Promise<{ receiver: string; count: number }[]> {
  return await db.query(sql`
    select receiver, count(*) as count from (${ofPeriod(period)}) chosen group by receiver order by count(*) desc, receiver`)
}

export async function findToResend(tx: Tx, period: Period): Promise<{ id: string; recordId: string }[]> {
  return await tx.query(sql`
    select id, record_id as "recordId" from (${ofPeriod(period)}) chosen`)
}

/** Deliveries that a person selected. Without an endpoint, the one to the record's own URL. */
export type Selection = { merchantId: string; deliveries: { eventId: string; endpointId: string | null }[] }

export async function findSelected(
  tx: Tx,
  { merchantId, deliveries }: Selection,
): Promise<{ id: string; recordId: string }[]> {
  return await tx.query(sql`
    select d.id, d.record_id as "recordId" from webhook_deliveries d
    where d.merchant_id = ${merchantId} and ${isSendable} and d.id in (
      select case when endpoint_id is null then event_id else ${deliveryIdOf(raw('event_id'), raw('endpoint_id'))} end
      from unnest(
        ${deliveries.map(({ eventId }) => eventId)}::uuid[], ${deliveries.map(({ endpointId }) => endpointId)}::uuid[]
      ) selected (event_id, endpoint_id))`)
}

/** Locks all deliveries of these records, in the order in which the outbox and the worker lock them. */
export async function lockDeliveriesOf(
  tx: Tx,
  { merchantId, recordIds }: { merchantId: string; recordIds: string[] },
): Promise<void> {
  await tx.query(sql`
    select from webhook_deliveries
    where merchant_id = ${merchantId} and record_id = any (${recordIds}::uuid[])
    order by merchant_id, record_id, sequence
    for no key update`)
}

type Chosen = { merchantId: string; ids: string[]; states: ResendState[]; resendId: string; now: Date }

/**
 * Makes the first delivery of each record to each address due now, with all attempts ahead of it; the later ones wait
 * for it. Deliveries that this resend already includes, and those whose state is no longer one of `states`, stay as
 * they are.
 */
export async function updateToResendMany(tx: Tx, chosen: Chosen): Promise<{ count: number; receivers: number }> {
  const { merchantId, now } = chosen
  const [row] = await tx.query<{ count: number; receivers: number }>(sql`
    with chosen as materialized (
      select id, record_id, endpoint_id, sequence from webhook_deliveries
      where merchant_id = ${merchantId} and id = any (${chosen.ids}::uuid[]) and state = any (${chosen.states})
        and resend_id is distinct from ${chosen.resendId}
    ), open as materialized (
      select record_id, endpoint_id, sequence from chosen
      union
      select d.record_id, d.endpoint_id, d.sequence from webhook_deliveries d
      where d.merchant_id = ${merchantId} and d.record_id in (select record_id from chosen) and d.state in ('waiting', 'pending')
    ), first as (
      select record_id, endpoint_id, min(sequence) as sequence from open group by record_id, endpoint_id
    ), changed as (
      update webhook_deliveries d
      set
        resend_id = ${chosen.resendId},
        state = case when first.sequence < d.sequence then 'waiting' else 'pending' end,
        attempts_before = attempts,
        next_attempt_at = case when leased_until > ${now} then next_attempt_at else ${now} end,
        retry_after = null,
        finished_at = null
      from chosen
      join first on first.record_id = chosen.record_id and first.endpoint_id is not distinct from chosen.endpoint_id
      where d.merchant_id = ${merchantId} and d.id = chosen.id
      returning d.receiver
    )
    select count(*) as count, count(distinct receiver) as receivers from changed`)
  return row ?? { count: 0, receivers: 0 }
}

export type ResendProgress = { requested: number; delivered: number; waiting: number; failing: number; givenUp: number }

/** The progress of a resend, over the deliveries that it requested and that no later resend took over. */
export async function findResendProgress(
  db: Db | Tx,
  { merchantId, resendId }: { merchantId: string; resendId: string },
): Promise<ResendProgress> {
  const [row] = await db.query<ResendProgress>(sql`
    select
      count(*) as requested,
      count(*) filter (where state = 'delivered') as delivered,
      count(*) filter (where state in ('waiting', 'pending')) as waiting,
      count(*) filter (where state = 'pending' and attempts > attempts_before) as failing,
      count(*) filter (where state in ('exhausted', 'gone', 'canceled')) as "givenUp"
    from webhook_deliveries where merchant_id = ${merchantId} and resend_id = ${resendId}`)
  return row ?? { requested: 0, delivered: 0, waiting: 0, failing: 0, givenUp: 0 }
}

export type ReceiverHealth = {
  /** Scheme, host and port. */
  receiver: string
  /** Among the newest {@link newestMax} deliveries of the last day. */
  deliveries: number
  /** Those that were tried. */
  tried: number
  delivered: number
  givenUp: number
  /** The 95th percentile of how long the latest attempt of each took, if it was answered. Null: none was. */
  p95Ms: number | null
  /** All that is still to be delivered. */
  waiting: number
  /** Those of `waiting` that were tried already. */
  failing: number
  oldestWaitingAt: Date | null
  /** The error of the delivery that is tried next, otherwise of the latest that was given up. */
  lastError: string | null
  lastStatus: number | null
  /** Since when the deliveries that are tried again have failed; without any, when the latest was given up. */
  failedAt: Date | null
  nextAttemptAt: Date | null
}

/** Enough to judge a receiver, and read from among a million in 0.2 s on a busy machine. */
export const newestMax = 5_000

/** The health of each of a merchant's receivers. */
export async function listReceivers(
  db: Reads,
  { merchantId, since }: { merchantId: string; since: Date },
): Promise<ReceiverHealth[]> {
  const columns = sql`receiver, state, attempts > attempts_before as was_tried, created_at`
  return await db.query(sql`
    with newest as materialized (
      select d.id, d.receiver, d.state, d.attempts, d.last_status, d.last_error, d.finished_at
      from events e
      join webhook_deliveries d on d.merchant_id = e.merchant_id and d.record_id = e.record_id and d.sequence = e.sequence
      where e.merchant_id = ${merchantId} and e.occurred_at > ${since}
      order by e.occurred_at desc, e.id desc limit ${newestMax}
    ), lately as (
      select
        receiver, count(*) as deliveries, count(*) filter (where attempts > 0) as tried,
        count(*) filter (where state = 'delivered') as delivered,
        count(*) filter (where state in ('exhausted', 'gone')) as given_up,
        percentile_disc(0.95) within group (order by a.duration_ms) filter (where a.status is not null) as p95
      from newest
      left join webhook_attempts a on a.merchant_id = ${merchantId} and a.delivery_id = newest.id and a.number = newest.attempts
      group by receiver
    ), refused as (
      select distinct on (receiver) receiver, last_error, last_status, finished_at from newest
      where state in ('exhausted', 'gone') order by receiver, finished_at desc
    ), open as (
      -- Two branches, to match the partial indexes.
      select ${columns} from webhook_deliveries where merchant_id = ${merchantId} and state = 'pending'
      union all
      select ${columns} from webhook_deliveries where merchant_id = ${merchantId} and state = 'waiting'
    ), due as (
      select
        receiver, count(*) as waiting, count(*) filter (where state = 'pending' and was_tried) as failing, min(created_at) as oldest
      from open group by receiver
    ), retried as (
      select failing.receiver, next.*, first.since
      from (select ${merchantId}::uuid as merchant_id, receiver from due where due.failing > 0) failing
      cross join lateral (
        select last_error, last_status, next_attempt_at from webhook_deliveries d
        where d.receiver = failing.receiver and d.state = 'pending' and d.merchant_id = failing.merchant_id
          and d.attempts > d.attempts_before
        order by d.next_attempt_at limit 1
      ) next
      cross join lateral (${firstFailure}) first
    )
    select
      receiver, coalesce(deliveries, 0) as deliveries, coalesce(tried, 0) as tried, coalesce(delivered, 0) as delivered,
      coalesce(given_up, 0) as "givenUp", p95 as "p95Ms", coalesce(waiting, 0) as waiting, coalesce(failing, 0) as failing,
      oldest as "oldestWaitingAt", coalesce(retried.last_error, refused.last_error) as "lastError",
      case when retried.receiver is null then refused.last_status else retried.last_status end as "lastStatus",
      case when retried.receiver is null then refused.finished_at else retried.since end as "failedAt",
      retried.next_attempt_at as "nextAttemptAt"
    from lately full join due using (receiver)
    left join retried using (receiver)
    left join refused using (receiver)
    order by failing desc nulls last, receiver`)
}

export type MerchantDeliveries = {
  clientId: string
  name: string
  /** Still to be delivered, not tried yet. */
  waiting: number
  /** Still to be delivered, after a failed attempt. */
  failing: number
  /** Given up, of events since that moment. */
  givenUp: number
  /** A state that those have, to filter a list by; `exhausted` if they have both; null when there are none. */
  givenUpState: 'exhausted' | 'gone' | null
  oldestWaitingAt: Date | null
}

/** The merchants with undelivered events, the worst first. */
export async function listUndelivered(db: Db, { since }: { since: Date }): Promise<MerchantDeliveries[]> {
  return await db.query(sql`
    with undelivered as (
      -- Two branches, to match the partial indexes.
      select merchant_id, state, attempts > attempts_before as was_tried, created_at from webhook_deliveries where state = 'pending'
      union all
      select merchant_id, state, false, created_at from webhook_deliveries
      where state in ('waiting', 'exhausted', 'gone') and (state = 'waiting' or created_at > ${since})
    ), counted as (
      select
        merchant_id,
        count(*) filter (where state = 'waiting' or (state = 'pending' and not was_tried)) as waiting,
        count(*) filter (where state = 'pending' and was_tried) as failing,
        count(*) filter (where state in ('exhausted', 'gone')) as given_up,
        min(state) filter (where state in ('exhausted', 'gone')) as given_up_state,
        min(created_at) filter (where state in ('waiting', 'pending')) as oldest
      from undelivered group by merchant_id
    )
    select
      client_id as "clientId", name, waiting, failing, given_up as "givenUp",
      given_up_state as "givenUpState", oldest as "oldestWaitingAt"
    from counted join clients using (merchant_id)
    order by failing + given_up desc, waiting desc, name, client_id`)
}

/** Reads one event with what its delivery is built from; null when the merchant has no delivery of such an event. */
export async function findEventToShow(
  db: Db,
  { merchantId, eventId }: { merchantId: string; eventId: string },
): Promise<EventToShow | null> {
  const [row] = await db.query<EventToShow>(sql`
    select
      e.merchant_id as "merchantId", e.id as "eventId", e.type, e.record_type as "recordType", e.record_id as "recordId", e.sequence,
      e.occurred_at as "occurredAt", e.snapshot
    from webhook_deliveries d
    join events e on e.merchant_id = d.merchant_id and e.record_id = d.record_id and e.sequence = d.sequence
    where d.merchant_id = ${merchantId} and d.${isOfEvent({ merchantId, eventId })}
    limit 1`)
  return row ?? null
}

export type EventToShow = {
  merchantId: string
  eventId: string
  type: string
  recordType: 'transaction' | 'withdrawal'
  recordId: string
  sequence: number
  occurredAt: Date
  snapshot: unknown
}
