import { rowsParam, smallRowsParam } from '../db/rows-param.ts'
import { type Db, raw, type Sql, sql, type Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { deliveryIdOf, isActive } from './endpoints/store.ts'

// ——— Secrets

export async function insertWebhookSecret(
  db: Db | Tx,
  secret: { merchantId: string; endpointId: string | null; id: string; sealed: Buffer; createdAt: Date },
): Promise<void> {
  await db.query(sql`
    insert into webhook_secrets (merchant_id, endpoint_id, id, sealed, created_at)
    values (${secret.merchantId}, ${secret.endpointId}, ${secret.id}, ${secret.sealed}, ${secret.createdAt})`)
}

/** Locks the merchant's client, so that concurrent changes run one after the other, and returns its id. */
export async function lockMerchant(tx: Tx, merchantId: string): Promise<string | null> {
  const [row] = await tx.query<{ client_id: string }>(sql`
    select client_id from clients where merchant_id = ${merchantId} for no key update`)
  return row?.client_id ?? null
}

const isLive = (now: Date): Sql => sql`(expires_at is null or expires_at > ${now})`

/** The secrets of the endpoint; without an endpoint, those that sign for the URLs of the merchant's records. */
export const webhookSecrets = (merchantId: string, endpointId: string | null) => ({
  table: sql`webhook_secrets`,
  owner: sql`merchant_id = ${merchantId} and endpoint_id is not distinct from ${endpointId}`,
  merchantId,
})

export type LiveSecret = { merchantId: string; endpointId: string | null; sealed: Buffer }

/** Active secrets of the merchants and of their endpoints, newest first: the one without an end is the current one. */
export function listLiveSecrets(
  db: Db | Tx,
  { merchantIds, now }: { merchantIds: string[]; now: Date },
): Promise<LiveSecret[]> {
  return db.query(
    sql`
    select merchant_id as "merchantId", endpoint_id as "endpointId", sealed
    from webhook_secrets
    where merchant_id = any (${merchantIds}::uuid[]) and ${isLive(now)}
    order by merchant_id, expires_at desc nulls first, created_at desc`,
    'list-live-secrets',
  )
}

/**
 * A subquery with the same secrets as one JSON value, without those of endpoints, to be part of another statement.
 * {@link readLiveSecrets} reads it.
 */
export const liveSecretsOf = ({ merchantIds, now }: { merchantIds: string[]; now: Date }): Sql => sql`
  (select json_agg(json_build_array(merchant_id, encode(sealed, 'base64')) order by expires_at desc nulls first, created_at desc)
   from webhook_secrets
   where merchant_id = any (${merchantIds}::uuid[]) and endpoint_id is null and ${isLive(now)})`

export function readLiveSecrets(value: [merchantId: string, sealed: string][] | null): LiveSecret[] {
  return (value ?? []).map(([merchantId, sealed]) => {
    return { merchantId, endpointId: null, sealed: Buffer.from(sealed, 'base64') }
  })
}

/** When each secret that signs for the URLs of the merchant's records was created and when it ends, newest first. */
export async function listSecretsSigning(
  db: Db,
  merchantId: string,
  now: Date,
): Promise<{ id: string; createdAt: Date; expiresAt: Date | null }[]> {
  return await db.query(sql`
    select id, created_at as "createdAt", expires_at as "expiresAt" from webhook_secrets
    where merchant_id = ${merchantId} and endpoint_id is null and ${isLive(now)}
    order by expires_at desc nulls first, created_at desc`)
}

// ——— The outbox

type EventRow = {
  merchantId: string
  id: string
  type: string
  recordType: string
  recordId: string
  sequence: number
  occurredAt: Date
  snapshot: object | null
}

const eventColumns = {
  merchantId: 'uuid',
  id: 'uuid',
  type: 'text',
  recordType: 'text',
  recordId: 'uuid',
  sequence: 'integer',
  occurredAt: 'timestamptz',
  snapshot: 'json',
} as const

const intoEvents = raw(`
  insert into events (merchant_id, id, type, record_type, record_id, sequence, occurred_at, snapshot)
  select "merchantId", input.id, type, "recordType", "recordId", sequence, "occurredAt", snapshot from`)
const returningEvents = raw('returning merchant_id, id, type, record_id, sequence, occurred_at')

/** A delivery to the record's own URL. */
export type RecordUrlDeliveryRow = Pick<EventRow, 'merchantId' | 'id' | 'recordId' | 'sequence' | 'occurredAt'> & {
  url: string
  /** The origin of the URL: scheme, host and port. */
  receiver: string
  /** Null: any worker may claim and send it. Otherwise the process that inserts it has leased it, and sends it. */
  leasedUntil: Date | null
  leasedBy: number | null
}

const recordUrlDeliveryColumns = {
  merchantId: 'uuid',
  id: 'uuid',
  recordId: 'uuid',
  sequence: 'integer',
  url: 'text',
  receiver: 'text',
  leasedUntil: 'timestamptz',
  leasedBy: 'integer',
  occurredAt: 'timestamptz',
} as const

const intoDeliveries = raw(`
  insert into webhook_deliveries
    (merchant_id, id, record_id, sequence, endpoint_id, url, receiver, state, leased_until, leased_by, next_attempt_at, created_at)`)

/**
 * The endpoints that receive the events of `newEvents`, a part of the same statement. A merchant without endpoints
 * costs one index probe. The limit, as in `smallRowsParam`, keeps PostgreSQL from planning again for each number of
 * events; the offset keeps it from reading all endpoints at once.
 */
const joinEndpoints = (newEvents: Sql) => sql`
  (select * from ${newEvents} limit (select null::bigint)) event
  cross join lateral (
    select id, url, receiver, ${deliveryIdOf(raw('event.id'), raw('id'))} as delivery_id
    from webhook_endpoints
    where merchant_id = event.merchant_id and ${isActive} and (event_types is null or event.type = any(event_types))
    offset 0
  ) endpoint`

const smallEventsParam = smallRowsParam<EventRow>(eventColumns)
const smallDeliveriesParam = smallRowsParam<RecordUrlDeliveryRow>(recordUrlDeliveryColumns)

/** `refused`: the deliveries that were not leased after all, because an earlier event of the record goes first. */
export type Enqueued = { secrets: LiveSecret[]; refused: string[]; isAnyUnleased: boolean }

/**
 * Inserts events, and their deliveries to the records' own URLs and to registered endpoints. A delivery waits while an
 * earlier one of its record to the same address is unfinished. The earlier one is locked: a worker that finished it at
 * the same time would not see the new row, which would then stay `waiting` for ever. If the earlier one has failed
 * before, its schedule restarts now: otherwise the newer event could wait for hours. If a worker is sending it, its
 * schedule restarts when that attempt fails.
 *
 * @param secretsOf the merchants whose secrets are returned, for the deliveries that this process sends itself
 */
export async function insertEvents(
  tx: Tx,
  { events, deliveries, secretsOf }: { events: EventRow[]; deliveries: RecordUrlDeliveryRow[]; secretsOf: string[] },
): Promise<Enqueued> {
  const now = events[0]?.occurredAt ?? new Date(0)
  const [row] = await tx.query<Omit<Enqueued, 'secrets'> & { secrets: Parameters<typeof readLiveSecrets>[0] }>(
    sql`
    with inserted as (
      ${intoEvents} ${smallEventsParam(events)} ${returningEvents}
    ), record as (
      select merchant_id, record_id, max(occurred_at) as now
      from (select * from inserted limit (select null::bigint)) follower
      where sequence > 1
      group by 1, 2
    ), unfinished as (
      select d.merchant_id, d.id, d.record_id, d.endpoint_id, record.now
      from record
      join webhook_deliveries d on d.merchant_id = record.merchant_id and d.record_id = record.record_id
      where d.state in ('waiting', 'pending')
      order by d.merchant_id, d.record_id, d.sequence
      for no key update of d
    ), restarted as (
      update webhook_deliveries d
      set
        attempts_before = d.attempts,
        next_attempt_at = case
          when d.leased_until > u.now then d.next_attempt_at
          else greatest(u.now, d.retry_after)
        end
      from unfinished u
      where d.merchant_id = u.merchant_id and d.record_id = u.record_id and d.id = u.id
        and d.state = 'pending' and d.attempts > d.attempts_before
    ), own as (
      select * from ${smallDeliveriesParam(deliveries)}
    ), due as (
      select "merchantId" as merchant_id, id, "recordId" as record_id, sequence, null::uuid as endpoint_id, url, receiver,
        "leasedUntil" as leased_until, "leasedBy" as leased_by, "occurredAt" as occurred_at
      from own
      union all
      select event.merchant_id, endpoint.delivery_id, event.record_id, event.sequence, endpoint.id, endpoint.url, endpoint.receiver,
        null, null, event.occurred_at
      from ${joinEndpoints(raw('inserted'))}
      where (event.record_id, event.sequence, endpoint.url) not in (select "recordId", sequence, url from own)
    ), placed as (
      select due.*, case
        when row_number() over (partition by record_id, endpoint_id order by sequence) > 1
          or (record_id, coalesce(endpoint_id, record_id)) in (select record_id, coalesce(endpoint_id, record_id) from unfinished)
          then 'waiting'
        else 'pending'
      end as state
      from due
    ), delivery as (
      ${intoDeliveries}
      select merchant_id, id, record_id, sequence, endpoint_id, url, receiver, state, lease.until, lease.by,
        coalesce(lease.until, occurred_at), occurred_at
      from placed
      left join lateral (select leased_until as until, leased_by as by where state = 'pending') lease on true
      returning leased_by
    )
    select
      ${liveSecretsOf({ merchantIds: secretsOf, now })} as secrets,
      array(select id from placed where leased_by is not null and state = 'waiting') as refused,
      exists(select from delivery where leased_by is null) as "isAnyUnleased"`,
    'insert-events',
  )
  assert(row, 'a statement without a table returns a row')
  return { ...row, secrets: readLiveSecrets(row.secrets) }
}

const eventsParam = rowsParam<EventRow>(eventColumns)
const recordUrlDeliveriesParam = rowsParam<RecordUrlDeliveryRow>(recordUrlDeliveryColumns)

/**
 * The same as CTEs for a statement that inserts records. Only records that its CTE `inserted` returns get events. These
 * are the first events of the records, so no earlier delivery can be unfinished.
 */
export function insertForInserted(events: EventRow[], deliveries: RecordUrlDeliveryRow[]): Sql {
  const isInserted = sql`join inserted on inserted.id = input."recordId" and inserted.merchant_id = input."merchantId"`
  return sql`
    first_events as (${intoEvents} ${eventsParam(events)} ${isInserted} ${returningEvents}),
    first_deliveries as (
      ${intoDeliveries}
      select "merchantId", input.id, "recordId", sequence, null, url, receiver, 'pending', "leasedUntil", "leasedBy",
        coalesce("leasedUntil", "occurredAt"), "occurredAt"
      from ${recordUrlDeliveriesParam(deliveries)} ${isInserted}
      union all
      select
        event.merchant_id, endpoint.delivery_id, event.record_id, event.sequence, endpoint.id, endpoint.url, endpoint.receiver,
        'pending', null, null, event.occurred_at, event.occurred_at
      from ${joinEndpoints(raw('first_events'))}
      join inserted on inserted.id = event.record_id and inserted.merchant_id = event.merchant_id
      where endpoint.url is distinct from inserted.webhook_url
      returning endpoint_id)`
}
