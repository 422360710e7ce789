import { type Db, type Sql, sql } from '../db/sql.ts'

/** Deletes some of what is older than a moment, the oldest first and at most so many rows. Gives their number. */
export type DeleteBefore = (db: Db, before: Date, limit: number) => Promise<number>

/** Attempts of deliveries that had ended by then. The delivery stays, with its state and what came of the last attempt. */
export const deleteAttemptsBefore: DeleteBefore = (db, before, limit) =>
  countDeleted(
    db,
    sql`
      delete from webhook_attempts where (merchant_id, event_id, number) in (
        select attempt.merchant_id, attempt.event_id, attempt.number
        from webhook_attempts attempt
        join webhook_deliveries delivery using (merchant_id, event_id)
        where attempt.started_at < ${before} and delivery.finished_at < ${before}
        order by attempt.started_at limit ${limit})`,
  )

/**
 * Notices that had been looked into by then. One that is told again after that is looked into again, and is settled already; one that is
 * told again at this moment stays: the state is asked for once more under the row's lock.
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

async function countDeleted(db: Db, statement: Sql): Promise<number> {
  const [row] = await db.query<{ count: number }>(sql`
    with deleted as (${statement} returning 1) select count(*) as count from deleted`)
  return row?.count ?? 0
}
