import { type Db, sql, type Tx } from '../db/sql.ts'

// ——— Secrets

export async function insertWebhookSecret(
  db: Db | Tx,
  secret: { merchantId: string; id: string; sealed: Buffer; createdAt: Date },
): Promise<void> {
  await db.query(sql`
    insert into webhook_secrets (merchant_id, id, sealed, created_at)
    values (${secret.merchantId}, ${secret.id}, ${secret.sealed}, ${secret.createdAt})`)
}

export async function lockClient(tx: Tx, merchantId: string): Promise<void> {
  await tx.query(sql`select from clients where merchant_id = ${merchantId} for no key update`)
}

/** The current secret lives on until the given moment; one that was already on its way out ends now. */
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
  return db.query(sql`
    select merchant_id as "merchantId", sealed
    from webhook_secrets
    where merchant_id = any (${merchantIds}::uuid[]) and (expires_at is null or expires_at > ${now})
    order by merchant_id, expires_at desc nulls first, created_at desc`)
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

export async function insertEvents(tx: Tx, rows: EventRow[]): Promise<void> {
  await tx.query(sql`
    insert into events (merchant_id, id, type, record_type, record_id, sequence, occurred_at, snapshot)
    select "merchantId", id, type, "recordType", "recordId", sequence, "occurredAt", nullif(snapshot::text, 'null')::json
    from json_to_recordset(${JSON.stringify(rows)}::json) as row (
      "merchantId" uuid, id uuid, type text, "recordType" text, "recordId" uuid, sequence integer,
      "occurredAt" timestamptz, snapshot json)`)
}

type DeliveryRow = EventRow & { url: string; receiver: string; state: string }

export async function insertDeliveries(tx: Tx, rows: DeliveryRow[]): Promise<void> {
  await tx.query(sql`
    insert into webhook_deliveries
      (merchant_id, event_id, record_id, sequence, url, receiver, state, next_attempt_at, created_at)
    select "merchantId", id, "recordId", sequence, url, receiver, state, "occurredAt", "occurredAt"
    from json_to_recordset(${JSON.stringify(rows)}::json) as row (
      "merchantId" uuid, id uuid, "recordId" uuid, sequence integer, url text, receiver text, state text,
      "occurredAt" timestamptz)`)
}

/**
 * Locks what is still to be delivered of these records, and gives the records that have any. One of them that failed
 * before begins its schedule anew, now: the newer event would else wait for hours behind it. One in a worker's hands
 * gets the same when that attempt fails.
 */
export async function lockUnfinished(tx: Tx, rows: EventRow[]): Promise<string[]> {
  const keys = rows.map(({ merchantId, recordId, occurredAt }) => ({ merchantId, recordId, now: occurredAt }))
  const found = await tx.query<{ recordId: string }>(sql`
    with record as (
      select "merchantId" as merchant_id, "recordId" as record_id, max(now) as now
      from json_to_recordset(${JSON.stringify(keys)}::json) as row ("merchantId" uuid, "recordId" uuid, now timestamptz)
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
      where d.merchant_id = u.merchant_id and d.event_id = u.event_id
        and d.state = 'pending' and d.attempts > d.attempts_before
    )
    select distinct record_id as "recordId" from unfinished`)
  return found.map(({ recordId }) => recordId)
}

// ——— The queue

export type Claimed = {
  merchantId: string
  eventId: string
  recordId: string
  sequence: number
  url: string
  receiver: string
  attempts: number
  attemptsBefore: number
  leasedUntil: Date
  type: string
  recordType: 'transaction' | 'withdrawal'
  occurredAt: Date
  snapshot: unknown
}

type Claim = {
  now: Date
  leasedUntil: Date
  /** Receivers are looked at in order of their names, from the one after this, and so many of them. */
  afterReceiver: string
  receiversMax: number
  /** Deliveries looked at per receiver, and how many a receiver may have that is not among the loads. */
  perReceiverMax: number
  start: number
  loads: { receiver: string; inFlight: number; room: number }[]
  limit: number
}

/**
 * Leases what is due. It walks from receiver to receiver through the index (a skip scan), and takes a few of each: a
 * receiver with 100,000 due costs as much as one with sixteen. Whoever has least in flight comes first.
 * Also gives the last receiver it looked at, or null when it came to the end.
 */
export async function claimDue(db: Db, claim: Claim): Promise<{ claimed: Claimed[]; lastReceiver: string | null }> {
  const rows = await db.query<(Claimed | { eventId: null }) & { lastReceiver: string | null }>(sql`
    with recursive walk (receiver, place) as (
      (select receiver, 1 from webhook_deliveries
       where state = 'pending' and receiver > ${claim.afterReceiver} order by receiver limit 1)
      union all
      select next.receiver, walk.place + 1
      from walk
      cross join lateral (
        select d.receiver from webhook_deliveries d
        where d.state = 'pending' and d.receiver > walk.receiver order by d.receiver limit 1
      ) next
      where walk.place < ${claim.receiversMax}
    ), due as (
      select
        d.merchant_id, d.event_id, coalesce(load."inFlight", 0) as in_flight, coalesce(load.room, ${claim.start}) as room,
        row_number() over (partition by walk.receiver order by d.next_attempt_at) as place
      from walk
      left join json_to_recordset(${JSON.stringify(claim.loads)}::json)
        as load (receiver text, "inFlight" integer, room integer) on load.receiver = walk.receiver
      cross join lateral (
        select merchant_id, event_id, next_attempt_at from webhook_deliveries
        where state = 'pending' and receiver = walk.receiver and next_attempt_at <= ${claim.now}
        order by next_attempt_at limit ${claim.perReceiverMax}
      ) d
    ), chosen as (
      select merchant_id, event_id from due where place <= room order by in_flight + place limit ${claim.limit}
    ), locked as (
      select d.merchant_id, d.event_id
      from chosen
      join webhook_deliveries d on d.merchant_id = chosen.merchant_id and d.event_id = chosen.event_id
      where d.state = 'pending' and d.next_attempt_at <= ${claim.now}
      for no key update of d skip locked
    ), claimed as (
      update webhook_deliveries d
      set leased_until = ${claim.leasedUntil}, next_attempt_at = ${claim.leasedUntil}
      from locked
      where d.merchant_id = locked.merchant_id and d.event_id = locked.event_id
      returning d.*
    )
    select
      (select receiver from walk where place = ${claim.receiversMax}) as "lastReceiver",
      c.merchant_id as "merchantId", c.event_id as "eventId", c.record_id as "recordId", c.sequence, c.url, c.receiver,
      c.attempts, c.attempts_before as "attemptsBefore", c.leased_until as "leasedUntil",
      e.type, e.record_type as "recordType", e.occurred_at as "occurredAt", e.snapshot
    from (select) always
    left join claimed c on true
    left join events e on e.merchant_id = c.merchant_id and e.record_id = c.record_id and e.sequence = c.sequence`)
  const claimed = rows.filter((row): row is Claimed & { lastReceiver: string | null } => row.eventId !== null)
  return { claimed, lastReceiver: rows[0]?.lastReceiver ?? null }
}

export type Lease = { merchantId: string; eventId: string; leasedUntil: Date }

/** Gives back what was claimed and not tried. */
export async function releaseLeases(tx: Tx, { leases, now }: { leases: Lease[]; now: Date }): Promise<void> {
  await tx.query(sql`
    update webhook_deliveries d
    set leased_until = null, next_attempt_at = ${now}
    from json_to_recordset(${JSON.stringify(leases)}::json)
      as lease ("merchantId" uuid, "eventId" uuid, "leasedUntil" timestamptz)
    where d.merchant_id = lease."merchantId" and d.event_id = lease."eventId" and d.leased_until = lease."leasedUntil"`)
}

/** Lets go of all that dead workers had in hand. Only where no worker is alive. */
export async function releaseAllLeases(tx: Tx, now: Date): Promise<void> {
  await tx.query(sql`
    update webhook_deliveries set leased_until = null, next_attempt_at = ${now}
    where state = 'pending' and leased_until > ${now}`)
}

/** Locks deliveries in the order in which the outbox does. */
export async function lockDeliveries(tx: Tx, keys: { merchantId: string; eventId: string }[]): Promise<void> {
  await tx.query(sql`
    select from webhook_deliveries d
    join json_to_recordset(${JSON.stringify(keys)}::json) as key ("merchantId" uuid, "eventId" uuid)
      on d.merchant_id = key."merchantId" and d.event_id = key."eventId"
    order by d.merchant_id, d.record_id, d.sequence
    for no key update of d`)
}

export type AttemptResult = Lease & {
  attemptsBefore: number
  startedAt: Date
  finishedAt: Date
  durationMs: number
  status: number | null
  error: string | null
  state: 'pending' | 'delivered' | 'exhausted' | 'gone'
  nextAttemptAt: Date
  retryAfter: Date | null
}

/**
 * Books attempts. A result whose lease has lapsed meanwhile changes nothing. Where the schedule began anew while the attempt was
 * in flight (see {@link lockUnfinished}) a failure means: again, at once.
 */
export async function updateAttempted(tx: Tx, results: AttemptResult[]): Promise<void> {
  await tx.query(sql`
    with result as (
      select * from json_to_recordset(${JSON.stringify(results)}::json) as row (
        "merchantId" uuid, "eventId" uuid, "leasedUntil" timestamptz, "attemptsBefore" integer, "startedAt" timestamptz,
        "finishedAt" timestamptz, "durationMs" integer, status integer, error text, state text,
        "nextAttemptAt" timestamptz, "retryAfter" timestamptz)
    ), attempted as (
      update webhook_deliveries d
      set
        attempts = d.attempts + 1,
        leased_until = null,
        retry_after = r."retryAfter",
        last_status = r.status,
        last_error = r.error,
        state = case when is_anew then 'pending' else r.state end,
        next_attempt_at = case when is_anew then greatest(r."finishedAt", r."retryAfter") else r."nextAttemptAt" end,
        finished_at = case when not is_anew and r.state <> 'pending' then r."finishedAt" end
      from result r
      join webhook_deliveries was on was.merchant_id = r."merchantId" and was.event_id = r."eventId"
      cross join lateral (
        select was.attempts_before <> r."attemptsBefore" and r.state in ('pending', 'exhausted') as is_anew
      ) schedule
      where d.merchant_id = r."merchantId" and d.event_id = r."eventId" and d.leased_until = r."leasedUntil"
      returning d.merchant_id, d.event_id, d.attempts
    )
    insert into webhook_attempts (merchant_id, event_id, number, started_at, duration_ms, status, error)
    select a.merchant_id, a.event_id, a.attempts, r."startedAt", r."durationMs", r.status, r.error
    from attempted a
    join result r on r."merchantId" = a.merchant_id and r."eventId" = a.event_id`)
}

/**
 * Lets the next one of each record go. A statement of its own, after the lock: an event that was enqueued while we waited
 * for the lock is seen by this one only.
 */
export async function promoteWaiting(
  tx: Tx,
  { records, now }: { records: { merchantId: string; recordId: string }[]; now: Date },
): Promise<void> {
  await tx.query(sql`
    update webhook_deliveries d
    set state = 'pending', next_attempt_at = ${now}
    from (
      select distinct on (u.merchant_id, u.record_id) u.merchant_id, u.event_id, u.state
      from webhook_deliveries u
      join json_to_recordset(${JSON.stringify(records)}::json) as record ("merchantId" uuid, "recordId" uuid)
        on u.merchant_id = record."merchantId" and u.record_id = record."recordId"
      where u.state in ('waiting', 'pending')
      order by u.merchant_id, u.record_id, u.sequence
    ) first
    where first.state = 'waiting' and d.merchant_id = first.merchant_id and d.event_id = first.event_id`)
}

export async function findBacklog(db: Db, now: Date): Promise<{ due: number; oldest: Date | null }> {
  const [row] = await db.query<{ due: number; oldest: Date | null }>(sql`
    select count(*) as due, min(next_attempt_at) as oldest
    from webhook_deliveries where state = 'pending' and next_attempt_at <= ${now}`)
  return row ?? { due: 0, oldest: null }
}
