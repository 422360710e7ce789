import { type Db, empty, type Reads, type Sql, sql, type Tx } from '../../db/sql.ts'
import { windowOf } from '../../lib/brasilia.ts'

/** The merchants that created charges on a day in Brazil. */
export async function listMerchantsOf(db: Db, day: string): Promise<string[]> {
  const rows = await db.query<{ merchant_id: string }>(sql`
    select merchant_id from clients where exists (
      select from transaction_counts where transaction_counts.merchant_id = clients.merchant_id and day = ${day}::date)
    or exists (
      select from transaction_count_changes as changes where changes.merchant_id = clients.merchant_id and day = ${day}::date)
    order by merchant_id`)
  return rows.map((row) => row.merchant_id)
}

/**
 * Reads all charges of a merchant's day, and writes for each minute with a change what had become of them by its end.
 * Minutes count from the beginning of the day.
 */
export async function insertMinuteTotals(tx: Tx, merchantId: string, day: string): Promise<void> {
  const { from, to } = windowOf(day)
  await tx.query(sql`
    insert into transaction_minutes (merchant_id, day, minute, created, created_amount, paid, paid_amount, failed)
    select ${merchantId}, ${day}::date, minute, sum(sum(created)) over passed, sum(sum(created * worth)) over passed,
      sum(sum(paid)) over passed, sum(sum(paid * worth)) over passed, sum(sum(failed)) over passed
    from (
      select floor(extract(epoch from at - ${from}) / 60)::smallint as minute, moments.*
      from transactions, lateral (values
        (created_at, 1, 0, 0, amount),
        -- An acquirer may report a time of payment before that of the charge.
        (greatest(payment_date, created_at), 0, 1, 0, coalesce(amount_paid, amount)),
        (case when status = 'FAILED' then status_dates[cardinality(status_dates)] end, 0, 0, 1, 0)
      ) moments (at, created, paid, failed, worth)
      where merchant_id = ${merchantId} and created_at >= ${from} and created_at < ${to}
        and (paid = 0 or payment_date is not null) and at < ${to}
    ) changes
    group by minute
    window passed as (order by minute)
    on conflict do nothing`)
}

export async function deleteMinuteTotalsBefore(db: Db, day: string): Promise<void> {
  await db.query(sql`delete from transaction_minutes where day < ${day}::date`)
}

/** The charges created on a day until a minute of it, and what had become of them by then. */
export type MinuteFigures = {
  created: number
  createdAmount: number
  paid: number
  paidAmount: number
  failed: number
}

/** The figures of some days until a minute, of one merchant or of all (null): reads one entry of an index for each. */
export async function findFiguresUntil(
  db: Reads,
  { merchantId, days, minute }: { merchantId: string | null; days: string[]; minute: number },
): Promise<(MinuteFigures & { day: string })[]> {
  return await db.query<MinuteFigures & { day: string }>(sql`
    select days.day::text, sum(created)::bigint as created, sum(created_amount)::bigint as "createdAmount",
      sum(paid)::bigint as paid, sum(paid_amount)::bigint as "paidAmount", sum(failed)::bigint as failed
    from unnest(${days}::date[]) as days (day), clients, lateral (${latestBefore(minute)}) latest
    where true ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}
    group by days.day`)
}

/** The figures of one day until a minute, of some merchants. */
export async function findMerchantsUntil(
  db: Reads,
  { merchantIds, day, minute }: { merchantIds: string[]; day: string; minute: number },
): Promise<(MinuteFigures & { merchantId: string })[]> {
  return await db.query<MinuteFigures & { merchantId: string }>(sql`
    select merchant_id as "merchantId", created, created_amount as "createdAmount", paid, paid_amount as "paidAmount", failed
    from unnest(${merchantIds}::uuid[]) as clients (merchant_id), (select ${day}::date as day) days,
      lateral (${latestBefore(minute)}) latest`)
}

function latestBefore(minute: number): Sql {
  return sql`
    select created, created_amount, paid, paid_amount, failed from transaction_minutes as minutes
    where minutes.merchant_id = clients.merchant_id and minutes.day = days.day and minute < ${minute}
    order by minute desc limit 1`
}
