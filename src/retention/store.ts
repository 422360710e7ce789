import { type Db, type Sql, sql } from '../db/sql.ts'

/** Deletes rows older than a time, oldest first, up to a limit. Returns their number. */
export type DeleteBefore = (db: Db, before: Date, limit: number) => Promise<number>

/**
 * Attempts of deliveries that ended before that time. The delivery stays, with its state and the outcome of its last
 * attempt.
 */
export const deleteAttemptsBefore: DeleteBefore = (db, before, limit) =>
  countDeleted(
    db,
    sql`
      delete from webhook_attempts where (merchant_id, delivery_id, number) in (
        select attempt.merchant_id, attempt.delivery_id, attempt.number
        from webhook_attempts attempt
        join webhook_deliveries delivery on delivery.merchant_id = attempt.merchant_id and delivery.id = attempt.delivery_id
        where attempt.started_at < ${before} and delivery.finished_at < ${before}
        order by attempt.started_at limit ${limit})`,
  )

/**
 * Notices that were processed before that time. A notice that arrives again later is processed again and finds its
 * payment settled. One that arrives during the deletion is kept: its state is checked once more under the row's lock.
 */
export const deleteNoticesBefore: DeleteBefore = (db, before, limit) =>
  countDeleted(
    db,
    sql`
      delete from callback_inbox where (acquirer, event_key) in (
        select acquirer, event_key from callback_inbox
        where finished_at < ${before} and state <> 'received' order by finished_at limit ${limit})
        and state <> 'received'`,
  )

export const deleteExchangesBefore: DeleteBefore = (db, before, limit) =>
  countDeleted(
    db,
    sql`
      delete from acquirer_exchanges where (at, id) in (
        select at, id from acquirer_exchanges where at < ${before} order by at, id limit ${limit})`,
  )

export const deleteApiRequestsBefore: DeleteBefore = (db, before, limit) =>
  countDeleted(
    db,
    sql`
      delete from api_requests where (merchant_id, at, id) in (
        select merchant_id, at, id from api_requests where at < ${before} order by at limit ${limit})`,
  )

/**
 * Deletes the buckets of rate limits that are full: a bucket without a row is full too. `full_at` is in the time of
 * PostgreSQL's clock, plus the milliseconds by which a test has moved the service's clock; otherwise 0.
 */
export async function deleteFullBuckets(db: Db, movedMs: number): Promise<void> {
  await db.query(sql`delete from rate_limits where full_at < now() + make_interval(secs => ${movedMs / 1_000})`)
}

async function countDeleted(db: Db, statement: Sql): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    with deleted as (${statement} returning 1) select count(*) as count from deleted`)
  return row?.count ?? 0
}
