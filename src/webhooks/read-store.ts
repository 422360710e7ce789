import { type Db, empty, sql, type Tx } from '../db/sql.ts'

export type DeliveryState = 'waiting' | 'pending' | 'delivered' | 'exhausted' | 'gone'

export type EventListed = {
  id: string
  type: string
  recordType: 'transaction' | 'withdrawal'
  recordId: string
  sequence: number
  occurredAt: Date
  /** Null when the record had no webhook URL: there is nothing to deliver. */
  delivery: DeliveryState | null
}

type Page = { merchantId: string; recordId?: string | undefined; page: number; perPage: number }

/** A merchant's events, newest first, or those of one record. `total` is exact. */
export async function listEvents(db: Db, page: Page): Promise<{ events: EventListed[]; total: number }> {
  const ofRecord = page.recordId === undefined ? empty : sql`and e.record_id = ${page.recordId}`
  const events = await db.query<EventListed>(sql`
    select e.id, e.type, e.record_type as "recordType", e.record_id as "recordId", e.sequence,
      e.occurred_at as "occurredAt", d.state as delivery
    from (
      select * from events e
      where e.merchant_id = ${page.merchantId} ${ofRecord}
      order by e.occurred_at desc, e.id desc
      limit ${page.perPage} offset ${(page.page - 1) * page.perPage}
    ) e
    left join webhook_deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
    order by e.occurred_at desc, e.id desc`)
  const [count] = await db.query<{ total: number }>(sql`
    select count(*) as total from events e where e.merchant_id = ${page.merchantId} ${ofRecord}`)
  return { events, total: count?.total ?? 0 }
}

export type AttemptListed = {
  number: number
  startedAt: Date
  durationMs: number
  status: number | null
  error: string | null
}

export type DeliveryListed = {
  eventId: string
  type: string
  recordId: string
  sequence: number
  url: string
  state: DeliveryState
  /** When it is tried next; null when it is finished, or waits for an earlier event of its record. */
  nextAttemptAt: Date | null
  lastStatus: number | null
  lastError: string | null
  createdAt: Date
  finishedAt: Date | null
  /** All of them, in order; a resend goes on counting. */
  attempts: AttemptListed[]
}

/** A merchant's deliveries with their attempts, newest first; those of one record, one event or one state. */
export async function listDeliveries(
  db: Db,
  page: Page & { eventId?: string | undefined; state?: DeliveryState | undefined },
): Promise<{ deliveries: DeliveryListed[]; total: number }> {
  const filter = sql`
    d.merchant_id = ${page.merchantId}
    ${page.recordId === undefined ? empty : sql`and d.record_id = ${page.recordId}`}
    ${page.eventId === undefined ? empty : sql`and d.event_id = ${page.eventId}`}
    ${page.state === undefined ? empty : sql`and d.state = ${page.state}`}`
  const found = await db.query<Omit<DeliveryListed, 'attempts'>>(sql`
    select d.event_id as "eventId", e.type, d.record_id as "recordId", d.sequence, d.url, d.state,
      case when d.state = 'pending' then d.next_attempt_at end as "nextAttemptAt",
      d.last_status as "lastStatus", d.last_error as "lastError", d.created_at as "createdAt",
      d.finished_at as "finishedAt"
    from events e
    join webhook_deliveries d on d.merchant_id = e.merchant_id and d.event_id = e.id
    where e.merchant_id = ${page.merchantId} and ${filter}
    order by e.occurred_at desc, e.id desc
    limit ${page.perPage} offset ${(page.page - 1) * page.perPage}`)
  const [count] = await db.query<{ total: number }>(sql`
    select count(*) as total from webhook_deliveries d where ${filter}`)
  const attempts = await listAttempts(db, { merchantId: page.merchantId, eventIds: found.map((row) => row.eventId) })
  const deliveries = found.map((row) => ({
    ...row,
    attempts: attempts
      .filter((attempt) => attempt.eventId === row.eventId)
      .map(({ number, startedAt, durationMs, status, error }) => ({ number, startedAt, durationMs, status, error })),
  }))
  return { deliveries, total: count?.total ?? 0 }
}

function listAttempts(
  db: Db,
  { merchantId, eventIds }: { merchantId: string; eventIds: string[] },
): Promise<(AttemptListed & { eventId: string })[]> {
  return db.query(sql`
    select event_id as "eventId", number, started_at as "startedAt", duration_ms as "durationMs", status, error
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

/** Due now and with all attempts before it, unless an earlier one of its record is under way or a worker has it in hand. */
export async function updateToResend(
  tx: Tx,
  { merchantId, eventId, now }: { merchantId: string; eventId: string; now: Date },
): Promise<void> {
  await tx.query(sql`
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
    where merchant_id = ${merchantId} and event_id = ${eventId}`)
}
