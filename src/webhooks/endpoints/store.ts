import { findPage } from '../../db/page.ts'
import { type Db, type Reads, raw, type Sql, sql, type Tx } from '../../db/sql.ts'
import type { Page, Slice } from '../../http/page.ts'
import { assert } from '../../lib/assert.ts'

/** `request`: by the merchant. `failing`: after days without success. `gone`: it answered 410. */
export const disabledReasons = ['request', 'failing', 'gone'] as const
export type DisabledReason = (typeof disabledReasons)[number]

export type EndpointRow = {
  merchant_id: string
  id: string
  url: string
  /** Scheme, host and port. */
  receiver: string
  description: string
  /** Null: all types. */
  event_types: string[] | null
  created_at: Date
  updated_at: Date
  /** Since when every attempt has failed; null after one that succeeded. */
  failing_since: Date | null
  disabled_at: Date | null
  disabled_reason: DisabledReason | null
}

/** Of an endpoint that receives events. */
export const isActive = raw('disabled_at is null and deleted_at is null')

/**
 * The id of an event's delivery to an endpoint. It is derived, so that the primary key refuses a second one, and so
 * that the deliveries of an event are found by its id.
 */
export const deliveryIdOf = (eventId: Sql, endpointId: Sql) =>
  sql`encode(substr(sha256(uuid_send(${eventId}) || uuid_send(${endpointId})), 1, 16), 'hex')::uuid`

const columns = raw(`
  merchant_id, id, url, receiver, description, event_types, created_at, updated_at, failing_since, disabled_at, disabled_reason`)

/** True unless the merchant has an endpoint with this URL already. */
export async function insertEndpoint(tx: Tx, row: EndpointRow): Promise<boolean> {
  const rows = await tx.query(sql`
    insert into webhook_endpoints (${columns})
    values (
      ${row.merchant_id}, ${row.id}, ${row.url}, ${row.receiver}, ${row.description}, ${row.event_types}, ${row.created_at},
      ${row.updated_at}, ${row.failing_since}, ${row.disabled_at}, ${row.disabled_reason})
    on conflict (merchant_id, url) where deleted_at is null do nothing
    returning id`)
  return rows.length > 0
}

export async function countEndpoints(tx: Tx, merchantId: string): Promise<number> {
  const [row] = await tx.query<{ count: number }>(sql`
    select count(*) as count from webhook_endpoints where merchant_id = ${merchantId} and deleted_at is null`)
  return row?.count ?? 0
}

export async function listEndpoints(db: Reads, merchantId: string, slice: Slice): Promise<Page<EndpointRow>> {
  return await findPage<EndpointRow>(db, {
    table: sql`webhook_endpoints`,
    columns: sql`${columns}`,
    merchantId,
    where: sql`and deleted_at is null`,
    matchesFew: true,
    ...slice,
  })
}

type Key = { merchantId: string; endpointId: string }

export async function findEndpoint(db: Db | Tx, { merchantId, endpointId }: Key): Promise<EndpointRow | null> {
  const [row] = await db.query<EndpointRow>(sql`
    select ${columns} from webhook_endpoints
    where merchant_id = ${merchantId} and id = ${endpointId} and deleted_at is null`)
  return row ?? null
}

export async function lockEndpoint(tx: Tx, { merchantId, endpointId }: Key): Promise<EndpointRow | null> {
  const [row] = await tx.query<EndpointRow>(sql`
    select ${columns} from webhook_endpoints
    where merchant_id = ${merchantId} and id = ${endpointId} and deleted_at is null
    for no key update`)
  return row ?? null
}

/** False if another endpoint of the merchant has this URL. */
export async function updateEndpoint(tx: Tx, row: EndpointRow): Promise<boolean> {
  const [updated] = await tx.query<{ is_updated: boolean }>(sql`
    with other as (
      select from webhook_endpoints
      where merchant_id = ${row.merchant_id} and url = ${row.url} and id <> ${row.id} and deleted_at is null
    ), updated as (
      update webhook_endpoints
      set
        url = ${row.url}, receiver = ${row.receiver}, description = ${row.description}, event_types = ${row.event_types},
        updated_at = ${row.updated_at}, failing_since = ${row.failing_since}, disabled_at = ${row.disabled_at},
        disabled_reason = ${row.disabled_reason}
      where merchant_id = ${row.merchant_id} and id = ${row.id} and not exists (select from other)
      returning id
    )
    select exists (select from updated) as is_updated`)
  assert(updated, 'a select without a table returns a row')
  return updated.is_updated
}

/** The row stays, without its secrets: deliveries name it. */
export async function markDeleted(tx: Tx, { merchantId, endpointId, now }: Key & { now: Date }): Promise<void> {
  await tx.query(sql`delete from webhook_secrets where merchant_id = ${merchantId} and endpoint_id = ${endpointId}`)
  await tx.query(sql`
    update webhook_endpoints set deleted_at = ${now}, updated_at = ${now}
    where merchant_id = ${merchantId} and id = ${endpointId}`)
}

/**
 * Those that Guichê disabled, the oldest first: if there are more than `limit`, a newly disabled one does not end the
 * alert of an older one.
 */
export async function listDisabledEndpoints(
  db: Db,
  limit: number,
): Promise<{ client: string; receiver: string; since: Date }[]> {
  return await db.query(sql`
    select client_id as client, receiver, min(disabled_at) as since
    from webhook_endpoints join clients using (merchant_id)
    where disabled_reason in ('failing', 'gone') and deleted_at is null
    group by client_id, receiver order by since, client, receiver limit ${limit}`)
}

// ——— What the delivery worker reads and writes

export type EndpointState = { id: string; url: string; isActive: boolean; failingSince: Date | null }

export async function listEndpointStates(
  db: Db,
  { merchantIds, endpointIds }: { merchantIds: string[]; endpointIds: string[] },
): Promise<EndpointState[]> {
  return await db.query<EndpointState>(
    sql`
    select id, url, ${isActive} as "isActive", failing_since as "failingSince"
    from webhook_endpoints where merchant_id = any (${merchantIds}::uuid[]) and id = any (${endpointIds}::uuid[])`,
    'list-endpoint-states',
  )
}

/**
 * Sets since when all attempts to this URL have failed, or that one succeeded; at the start and the end of a failure
 * only. Does nothing once the endpoint has another URL.
 */
export async function updateFailingSince(
  db: Db,
  { merchantId, endpointId, url, since }: Key & { url: string; since: Date | null },
): Promise<void> {
  await db.query(
    sql`
    update webhook_endpoints set failing_since = ${since}::timestamptz
    where merchant_id = ${merchantId} and id = ${endpointId} and url = ${url}
      and (failing_since is null) <> (${since}::timestamptz is null)`,
    'update-failing-since',
  )
}

/**
 * Makes deliveries due that wait for their next attempt, if their endpoint is disabled or deleted or has another URL:
 * the worker applies that when it claims them. Skips rows that are locked: they are being finished, or the worker finds
 * the change when they are due. Returns how many.
 */
export async function makeDeliveriesDue(db: Db, { merchantId, endpointId, now }: Key & { now: Date }): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    with changed as (
      update webhook_deliveries set next_attempt_at = ${now}, retry_after = null
      where ctid = any (array(
        select ctid from webhook_deliveries delivery
        where merchant_id = ${merchantId} and endpoint_id = ${endpointId} and state = 'pending' and next_attempt_at > ${now}
          and (leased_until is null or leased_until < ${now})
          and not exists (
            select from webhook_endpoints
            where merchant_id = ${merchantId} and id = ${endpointId} and url = delivery.url and ${isActive})
        limit 1000 for no key update skip locked))
      returning 1
    )
    select count(*) as count from changed`)
  return row?.count ?? 0
}
