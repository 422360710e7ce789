import { rowsParam, smallRowsParam } from '../db/rows-param.ts'
import { type Db, raw, type Sql, sql, type Tx } from '../db/sql.ts'
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

export async function lockClient(tx: Tx, merchantId: string): Promise<string | null> {
  const [row] = await tx.query<{ client_id: string }>(sql`
    select client_id from clients where merchant_id = ${merchantId} for no key update`)
  return row?.client_id ?? null
}

const isLive = (now: Date): Sql => sql`(expires_at is null or expires_at > ${now})`

/** The current secret stays valid until the given moment; one that was already ending ends now. */
export async function endWebhookSecrets(
  tx: Tx,
  { merchantId, endpointId, now, until }: { merchantId: string; endpointId: string | null; now: Date; until: Date },
): Promise<void> {
  await tx.query(sql`
    update webhook_secrets
    set expires_at = case when expires_at is null then ${until}::timestamptz else ${now}::timestamptz end
    where merchant_id = ${merchantId} and endpoint_id is not distinct from ${endpointId}
      and ${isLive(now)}`)
}

export type LiveSecret = { merchantId: string; endpointId: string | null; sealed: Buffer }

/** Those of the merchants and of their endpoints, newest first: the one without an end is the current one. */
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

/** The same of merchants alone, as one value of another statement. {@link readLiveSecrets} reads it. */
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
): Promise<{ createdAt: Date; expiresAt: Date | null }[]> {
  return await db.query(sql`
    select created_at as "createdAt", expires_at as "expiresAt" from webhook_secrets
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

const eventsParam = rowsParam<EventRow>({
  merchantId: 'uuid',
  id: 'uuid',
  type: 'text',
  recordType: 'text',
  recordId: 'uuid',
  sequence: 'integer',
  occurredAt: 'timestamptz',
  snapshot: 'json',
})

const eventsFrom = (rows: EventRow[]) => sql`
  insert into events (merchant_id, id, type, record_type, record_id, sequence, occurred_at, snapshot)
  select "merchantId", input.id, type, "recordType", "recordId", sequence, "occurredAt", snapshot from ${eventsParam(rows)}`

export type DeliveryRow = Pick<EventRow, 'merchantId' | 'id' | 'recordId' | 'sequence' | 'occurredAt'> &
  InitialState & {
    /** Null: it goes to the record's own URL. */
    endpointId: string | null
    url: string
    receiver: string
  }

/** Who has a delivery from the beginning: nobody, unless the process that inserts it sends it as well. */
export type InitialState = { state: 'pending' | 'waiting'; leasedUntil: Date | null; leasedBy: number | null }

const deliveriesParam = rowsParam<DeliveryRow>({
  merchantId: 'uuid',
  id: 'uuid',
  recordId: 'uuid',
  sequence: 'integer',
  endpointId: 'uuid',
  url: 'text',
  receiver: 'text',
  state: 'text',
  leasedUntil: 'timestamptz',
  leasedBy: 'integer',
  occurredAt: 'timestamptz',
})

const intoDeliveries = raw(`
  insert into webhook_deliveries
    (merchant_id, id, record_id, sequence, endpoint_id, url, receiver, state, leased_until, leased_by, next_attempt_at, created_at)`)

const deliveriesFrom = (rows: DeliveryRow[]) => sql`
  select "merchantId", input.id, "recordId", sequence, "endpointId", url, receiver, state, "leasedUntil", "leasedBy",
    coalesce("leasedUntil", "occurredAt"), "occurredAt"
  from ${deliveriesParam(rows)}`

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

const eventColumns = raw('merchant_id, id, type, record_id, sequence, occurred_at')

/** What an event owes to an endpoint, without its state. */
export type EndpointDelivery = Omit<DeliveryRow, keyof InitialState | 'endpointId'> & { endpointId: string }

/** Inserts events. Returns the deliveries to registered endpoints, which the caller inserts. */
export async function insertEvents(tx: Tx, rows: EventRow[]): Promise<EndpointDelivery[]> {
  return await tx.query<EndpointDelivery>(
    sql`
    with inserted as (${eventsFrom(rows)} returning ${eventColumns})
    select
      event.merchant_id as "merchantId", endpoint.delivery_id as id, event.record_id as "recordId", event.sequence,
      event.occurred_at as "occurredAt", endpoint.id as "endpointId", endpoint.url, endpoint.receiver
    from ${joinEndpoints(raw('inserted'))}`,
    'insert-events',
  )
}

/** Returns the secrets of the given merchants, for those that this process sends itself. */
export async function insertDeliveries(tx: Tx, rows: DeliveryRow[], merchantIds: string[]): Promise<LiveSecret[]> {
  const now = rows[0]?.occurredAt ?? new Date(0)
  const [row] = await tx.query<{ secrets: Parameters<typeof readLiveSecrets>[0] }>(
    sql`
    with inserted as (${intoDeliveries} ${deliveriesFrom(rows)})
    select ${liveSecretsOf({ merchantIds, now })} as secrets`,
    'insert-deliveries',
  )
  return readLiveSecrets(row?.secrets ?? null)
}

/** Further parts of a statement that inserts records, for those of them that it returns as `inserted`. */
export function insertForInserted(events: EventRow[], deliveries: DeliveryRow[]): Sql {
  const isInserted = sql`join inserted on inserted.id = input."recordId" and inserted.merchant_id = input."merchantId"`
  return sql`
    first_events as (${eventsFrom(events)} ${isInserted} returning ${eventColumns}),
    first_deliveries as (
      ${intoDeliveries} ${deliveriesFrom(deliveries)} ${isInserted}
      union all
      select
        event.merchant_id, endpoint.delivery_id, event.record_id, event.sequence, endpoint.id, endpoint.url, endpoint.receiver,
        'pending', null, null, event.occurred_at, event.occurred_at
      from ${joinEndpoints(raw('first_events'))}
      join inserted on inserted.id = event.record_id and inserted.merchant_id = event.merchant_id
      where endpoint.url is distinct from inserted.webhook_url
      returning endpoint_id)`
}

const recordsParam = smallRowsParam<Pick<EventRow, 'merchantId' | 'recordId' | 'occurredAt'>>({
  merchantId: 'uuid',
  recordId: 'uuid',
  occurredAt: 'timestamptz',
})

/**
 * Locks the unfinished deliveries of these records, and returns the records and addresses that have any. One that failed before
 * restarts its schedule now: otherwise the newer event would wait behind it for hours. One that a worker holds
 * restarts when that attempt fails.
 */
export async function lockUnfinished(
  tx: Tx,
  rows: Pick<EventRow, 'merchantId' | 'recordId' | 'occurredAt'>[],
): Promise<{ recordId: string; endpointId: string | null }[]> {
  if (rows.length === 0) return []
  return await tx.query(
    sql`
      with record as (
        select "merchantId" as merchant_id, "recordId" as record_id, max("occurredAt") as now
        from ${recordsParam(rows)}
        group by 1, 2
      ), unfinished as (
        select d.merchant_id, d.id, d.record_id, d.endpoint_id, record.now
        from webhook_deliveries d
        join record on record.merchant_id = d.merchant_id and record.record_id = d.record_id
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
      )
      select distinct record_id as "recordId", endpoint_id as "endpointId" from unfinished`,
    'lock-unfinished',
  )
}
