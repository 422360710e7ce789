import { empty, type Reads, type Sql, sql } from '../db/sql.ts'
import type { Balances } from '../ledger/accounts.ts'
import { toBalances } from '../ledger/store.ts'
import { windowOf } from '../lib/brasilia.ts'
import type { TransactionStatus } from '../transactions/status.ts'

/** One merchant, or all if null. */
export type MerchantFilter = { merchantId: string | null }

export type DayRow = { day: string; status: TransactionStatus; count: number; amount: number }

/** Charges created per day by their current status; days in Brazil, from `firstDay` (yyyy-mm-dd) on. */
export async function listDays(db: Reads, { merchantId }: MerchantFilter, firstDay: string): Promise<DayRow[]> {
  const since = sql`where day >= ${firstDay}::date ${ofMerchant(merchantId)}`
  return await db.query<DayRow>(sql`
    select day::text, status, sum(count)::bigint as count, sum(amount)::bigint as amount from (
      select day, status, count, amount from transaction_counts ${since}
      union all
      select day, status, change, amount from transaction_count_changes ${since}
    ) counts
    group by day, status having sum(count) <> 0 order by day, status`)
}

export type HourRow = { hour: Date; created: number; paid: number; amount: number }

/**
 * Charges created per hour since a time, and how much of them is paid. Read from the index of lists, merchant by
 * merchant.
 */
export async function listHours(db: Reads, { merchantId }: MerchantFilter, since: Date): Promise<HourRow[]> {
  return await db.query<HourRow>(sql`
    select hour, sum(created)::bigint as created, sum(paid)::bigint as paid, sum(amount)::bigint as amount
    from clients, lateral (
      select date_trunc('hour', created_at) as hour, count(*) as created,
        count(*) filter (where ${isPaid}) as paid, coalesce(sum(amount) filter (where ${isPaid}), 0) as amount
      from transactions
      where transactions.merchant_id = clients.merchant_id and created_at >= ${since}
      group by 1
    ) hours
    where true ${ofMerchant(merchantId)}
    group by hour order by hour`)
}

/** What each merchant's charges of a day became, by their current status. */
export type MerchantRow = { merchantId: string; clientId: string; name: string } & Omit<DayRow, 'day'>

export async function listMerchantDays(db: Reads, day: string): Promise<MerchantRow[]> {
  const ofDay = (table: Sql) =>
    sql`from ${table} as counted where counted.merchant_id = clients.merchant_id and day = ${day}::date`
  return await db.query<MerchantRow>(sql`
    select merchant_id as "merchantId", client_id as "clientId", name, status, sum(count)::bigint as count,
      sum(amount)::bigint as amount
    from clients, lateral (
      select status, count, amount ${ofDay(sql`transaction_counts`)}
      union all
      select status, change, amount ${ofDay(sql`transaction_count_changes`)}
    ) counts
    group by merchant_id, client_id, name, status having sum(count) <> 0`)
}

/** The payment times of one day, or of all days together (`day` is null). `sample`: how many payments were read. */
export type PayTimeRow = { day: string | null; sample: number; median: number; p90: number }

/** How many of a day's payments are read, the latest: of one merchant, or of each merchant if all are shown. */
const payTimesOfOne = 70
const payTimesOfEach = 3
/** The merchants whose payments are read if all are shown. */
const payTimeMerchantsMax = 1_000

/** How long the latest payments of each day took from creation to payment, in seconds; also of all days together. */
export async function listPayTimes(db: Reads, { merchantId }: MerchantFilter, days: string[]): Promise<PayTimeRow[]> {
  const each = merchantId === null ? payTimesOfEach : payTimesOfOne
  return await db.query<PayTimeRow>(sql`
    select day, count(*) as sample,
      percentile_cont(0.5) within group (order by seconds) as median,
      percentile_cont(0.9) within group (order by seconds) as p90
    from (select merchant_id from clients where true ${ofMerchant(merchantId)} limit ${payTimeMerchantsMax}) chosen_clients,
      unnest(${days}::text[], ${days.map((day) => windowOf(day).from)}::timestamptz[],
        ${days.map((day) => windowOf(day).to)}::timestamptz[]) as days (day, begins, ends),
      lateral (
        -- A payment by a static code may be found late: then its transaction is created after it.
        select greatest(extract(epoch from payment_date - created_at)::float8, 0) as seconds from transactions
        where transactions.merchant_id = chosen_clients.merchant_id and created_at >= begins and created_at < ends
          and status = 'PAID'
        order by created_at desc, id desc limit ${each}
      ) paid
    group by grouping sets ((day), ())
    having count(*) > 0`)
}

/** The balances of a merchant, or the sum of all. */
export async function sumBalances(db: Reads, { merchantId }: MerchantFilter): Promise<Balances> {
  const rows = await db.query<{ account: string; balance: number }>(sql`
    select account, sum(balance)::bigint as balance from ledger_accounts where true ${ofMerchant(merchantId)} group by account`)
  return toBalances(rows)
}

const isPaid = sql`status not in ('PENDING', 'PIX_QRCODE_GENERATED', 'FAILED')`

function ofMerchant(merchantId: string | null): Sql {
  return merchantId === null ? empty : sql`and merchant_id = ${merchantId}`
}
