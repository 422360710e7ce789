import { type Db, empty, type Sql, sql, type Tx } from '../../db/sql.ts'
import { brasilia, dayOf, nextDay, windowOf } from '../../lib/brasilia.ts'
import type { TransactionStatus } from '../status.ts'

/** The filters whose total can be taken from the counts by day. */
export type CountedFilters = { startDate?: Date; endDate?: Date; statuses?: TransactionStatus[] }

const dayMs = 86_400_000

/**
 * The number of a merchant's transactions, as an SQL expression. It adds the stored counts of whole days. At each end
 * of the filter it counts the rows between that time and the nearest midnight, and adds or subtracts them. With 100,000
 * transactions over 120 days it takes 0.15 ms; counting takes 7 ms.
 */
export function countByDays(merchantId: string, filters: CountedFilters): Sql {
  const { startDate, endDate, statuses } = filters
  const ofStatus = statuses ? sql`and status = any(${statuses})` : empty
  const between = (from: number, until: number) => sql`(
    select count(*) from transactions
    where merchant_id = ${merchantId} and created_at >= ${new Date(from)} and created_at < ${new Date(until)} ${ofStatus})`

  const from = startDate && withinCalendar(startDate.getTime())
  // `created_at` has millisecond precision, and `endDate` is inclusive.
  const until = endDate && withinCalendar(endDate.getTime() + 1)
  if (from !== undefined && until !== undefined && until - from < 2 * dayMs) return between(from, until)

  const firstDay = from === undefined ? undefined : nearestDay(from)
  const endDay = until === undefined ? undefined : nearestDay(until)
  const days = sql`
    where merchant_id = ${merchantId} ${ofStatus}
      ${firstDay === undefined ? empty : sql`and day >= ${firstDay}::date`}
      ${endDay === undefined ? empty : sql`and day < ${endDay}::date`}`
  return sql`(
    select coalesce(sum(count), 0)::bigint from (
      select count from transaction_counts ${days}
      union all
      select change from transaction_count_changes ${days}
    ) counts)
    ${from === undefined ? empty : addBetween(from, midnight(nearestDay(from)))}
    ${until === undefined ? empty : addBetween(midnight(nearestDay(until)), until)}`

  function addBetween(a: number, b: number): Sql {
    if (a === b) return empty
    return a < b ? sql`+ ${between(a, b)}` : sql`- ${between(b, a)}`
  }
}

/**
 * Finds where a deep page starts. The stored counts tell how many rows the newer days have. Returns one row: `before`
 * (the page starts below this time) and `rest` (the rows still to skip); no row if the list has ended before it. In the
 * middle of 100,000 rows it takes 0.3 ms, and 5 ms without the counts.
 */
export function startOfPage(merchantId: string, statuses: TransactionStatus[] | undefined, offset: number): Sql {
  const ofMerchant = sql`
    where merchant_id = ${merchantId} ${statuses ? sql`and status = any(${statuses})` : empty}`
  return sql`
    select (day + 1)::timestamp at time zone ${brasilia} as before, ${offset} - (through - count) as rest
    from (
      select day, sum(count) as count, sum(sum(count)) over (order by day desc) as through
      from (
        select day, count from transaction_counts ${ofMerchant}
        union all
        select day, change from transaction_count_changes ${ofMerchant}
      ) counts
      group by day
    ) days
    where through > ${offset} order by day desc limit 1`
}

/**
 * Every transaction was created between 2000 and 2200. A filter may name the years 0 and 9999, where `dayOf` and
 * `nextDay` return wrong days.
 */
function withinCalendar(time: number): number {
  return Math.min(Math.max(time, Date.UTC(2000, 0)), Date.UTC(2200, 0))
}

/** The day whose first moment is nearest. */
function nearestDay(time: number): string {
  const day = dayOf(new Date(time))
  const { from, to } = windowOf(day)
  return time - from.getTime() < to.getTime() - time ? day : nextDay(day)
}

function midnight(day: string): number {
  return windowOf(day).from.getTime()
}

export async function hasChangesToFold(db: Db): Promise<boolean> {
  return (await db.query(sql`select from transaction_count_changes limit 1`, 'has-changes-to-fold')).length > 0
}

/**
 * At most this many changes per statement: after a night without a worker there may be millions, and PostgreSQL ends a
 * statement after a minute (`statement_timeout`, db/sql.ts).
 */
const foldedMax = 100_000

/**
 * Adds the changes since the last time to the counts. Counts are written in sorted order, and changes are deleted in
 * physical order: otherwise two concurrent calls would deadlock. The second call waits, and adds what the first left
 * over. Not locking each change first makes it 1.2 µs per change instead of 2.4.
 */
export async function foldChanges(db: Db, stopping?: AbortSignal): Promise<void> {
  for (let folded = foldedMax; folded === foldedMax && !stopping?.aborted; ) {
    const [row] = await db.query<{ folded: number }>(sql`
      with taken as (
        delete from transaction_count_changes
        where ctid = any(array(select ctid from transaction_count_changes limit ${foldedMax}))
        returning merchant_id, day, status, change, amount
      ), counted as (
        insert into transaction_counts (merchant_id, day, status, count, amount)
        select merchant_id, day, status, sum(change), sum(amount) from taken
        group by merchant_id, day, status having sum(change) <> 0 or sum(amount) <> 0
        order by merchant_id, day, status
        on conflict (merchant_id, day, status) do update
          set count = transaction_counts.count + excluded.count, amount = transaction_counts.amount + excluded.amount
      )
      select count(*) as folded from taken`)
    folded = row?.folded ?? 0
  }
}

/** `amount` is in cents. */
export type CountCorrection = { day: string; status: TransactionStatus; change: number; amount: number }

/**
 * Counts a merchant's transactions, and writes every difference from the stored counts as a change. Both come from
 * one snapshot, so the result is right while others write. The lock keeps other processes from doing the same
 * meanwhile.
 */
export async function correctCounts(tx: Tx, merchantId: string): Promise<CountCorrection[]> {
  await tx.query(sql`lock table transaction_counts in share update exclusive mode`)
  return await tx.query<CountCorrection>(sql`
    with counted as (
      select day, status, sum(count) as count, sum(amount) as amount from (
        select day, status, count, amount from transaction_counts where merchant_id = ${merchantId}
        union all
        select day, status, change, amount from transaction_count_changes where merchant_id = ${merchantId}
      ) counts group by day, status
    ), present as (
      select brazilian_day(created_at) as day, status, count(*) as count, sum(coalesce(amount_paid, amount)) as amount
      from transactions where merchant_id = ${merchantId} group by 1, 2
    ), differing as (
      select day, status, coalesce(present.count, 0) - coalesce(counted.count, 0) as change,
        coalesce(present.amount, 0) - coalesce(counted.amount, 0) as amount
      from present full join counted using (day, status)
    )
    insert into transaction_count_changes (merchant_id, day, status, change, amount)
    select ${merchantId}, day, status, change, amount from differing where change <> 0 or amount <> 0
    returning day::text, status, change, amount`)
}

export async function listMerchants(db: Db): Promise<string[]> {
  const rows = await db.query<{ merchant_id: string }>(sql`select merchant_id from clients order by merchant_id`)
  return rows.map((row) => row.merchant_id)
}
