import { rowsParam, smallRowsParam } from '../db/rows-param.ts'
import { type Db, type Sql, sql, type Tx } from '../db/sql.ts'

// ——— Secrets

export async function insertWebhookSecret(
  db: Db | Tx,
  secret: { merchantId: string; id: string; sealed: Buffer; createdAt: Date },
): Promise<void> {
  await db.query(sql`
    insert into webhook_secrets (merchant_id, id, sealed, created_at)
    values (${secret.merchantId}, ${secret.id}, ${secret.sealed}, ${secret.createdAt})`)
}

export async function lockClient(tx: Tx, merchantId: string): Promise<string | null> {
  const [row] = await tx.query<{ client_id: string }>(sql`
    select client_id from clients where merchant_id = ${merchantId} for no key update`)
  return row?.client_id ?? null
}

/** The current secret stays valid until the given moment; one that was already ending ends now. */
export async function endWebhookSecrets(
  tx: Tx,
  { merchantId, now, until }: { merchantId: string; now: Date; until: Date },
): Promise<void> {
  await tx.query(sql`
    update webhook_secrets
    set expires_at = case when expires_at is null then ${until}::timestamptz else ${now}::timestamptz end
    where merchant_id = ${merchantId} and (expires_at is null or expires_at > ${now})`)
}

/** Newest first: the one without an end is the current one. */
export function listLiveSecrets(
  db: Db | Tx,
  { merchantIds, now }: { merchantIds: string[]; now: Date },
): Promise<{ merchantId: string; sealed: Buffer }[]> {
  return db.query(
    sql`
    select merchant_id as "merchantId", sealed
    from webhook_secrets
    where merchant_id = any (${merchantIds}::uuid[]) and (expires_at is null or expires_at > ${now})
    order by merchant_id, expires_at desc nulls first, created_at desc`,
    'list-live-secrets',
  )
}

/** When each signing secret was created and when it ends, newest first. */
export async function listSecretsSigning(
  db: Db,
  merchantId: string,
  now: Date,
): Promise<{ createdAt: Date; expiresAt: Date | null }[]> {
  return await db.query(sql`
    select created_at as "createdAt", expires_at as "expiresAt" from webhook_secrets
    where merchant_id = ${merchantId} and (expires_at is null or expires_at > ${now})
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

type DeliveryRow = EventRow & { url: string; receiver: string; state: string }

const deliveriesParam = rowsParam<DeliveryRow>({
  merchantId: 'uuid',
  id: 'uuid',
  recordId: 'uuid',
  sequence: 'integer',
  url: 'text',
  receiver: 'text',
  state: 'text',
  occurredAt: 'timestamptz',
})

const deliveriesFrom = (rows: DeliveryRow[]) => sql`
  insert into webhook_deliveries
    (merchant_id, event_id, record_id, sequence, url, receiver, state, next_attempt_at, created_at)
  select "merchantId", input.id, "recordId", sequence, url, receiver, state, "occurredAt", "occurredAt"
  from ${deliveriesParam(rows)}`

export async function insertEvents(tx: Tx, rows: EventRow[]): Promise<void> {
  await tx.query(eventsFrom(rows), 'insert-events')
}

export async function insertDeliveries(tx: Tx, rows: DeliveryRow[]): Promise<void> {
  await tx.query(deliveriesFrom(rows), 'insert-deliveries')
}

/** Further parts of a statement that inserts records, for those of them that it returns as `inserted`. */
export function insertForInserted(events: EventRow[], deliveries: DeliveryRow[]): Sql {
  const isInserted = sql`join inserted on inserted.id = input."recordId" and inserted.merchant_id = input."merchantId"`
  return sql`
    first_events as (${eventsFrom(events)} ${isInserted}),
    first_deliveries as (${deliveriesFrom(deliveries)} ${isInserted})`
}

const recordsParam = smallRowsParam<EventRow>({ merchantId: 'uuid', recordId: 'uuid', occurredAt: 'timestamptz' })

/**
 * Locks the unfinished deliveries of these records, and returns the records that have any. One that failed before
 * restarts its schedule now: otherwise the newer event would wait behind it for hours. One that a worker holds
 * restarts when that attempt fails.
 */
export async function lockUnfinished(tx: Tx, rows: EventRow[]): Promise<string[]> {
  if (rows.length === 0) return []
  const found = await tx.query<{ recordId: string }>(
    sql`
      with record as (
        select "merchantId" as merchant_id, "recordId" as record_id, max("occurredAt") as now
        from ${recordsParam(rows)}
        group by 1, 2
      ), unfinished as (
        select d.merchant_id, d.event_id, d.record_id, record.now
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
        where d.merchant_id = u.merchant_id and d.record_id = u.record_id and d.event_id = u.event_id
          and d.state = 'pending' and d.attempts > d.attempts_before
      )
      select distinct record_id as "recordId" from unfinished`,
    'lock-unfinished',
  )
  return found.map(({ recordId }) => recordId)
}
