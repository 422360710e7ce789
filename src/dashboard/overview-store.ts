import { empty, type Reads, type Sql, sql } from '../db/sql.ts'
import type { Balances } from '../ledger/accounts.ts'
import { toBalances } from '../ledger/store.ts'
import type { Window } from '../lib/brasilia.ts'
import type { TransactionStatus } from '../transactions/status.ts'

/** One merchant, or all if null. */
export type Whose = { merchantId: string | null }

export type DayRow = { day: string; status: TransactionStatus; count: number; amount: number }

/** Charges created per day by their current status; days in Brazil, from `firstDay` (yyyy-mm-dd) on. */
export async function listDays(db: Reads, { merchantId }: Whose, firstDay: string): Promise<DayRow[]> {
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
export async function listHours(db: Reads, { merchantId }: Whose, since: Date): Promise<HourRow[]> {
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

export type MinuteRow = {
  minute: number
  created: number
  createdAmount: number
  paid: number
  amount: number
  failed: number
}

/**
 * What happened in each minute of a day to the charges created on it; minutes count from its beginning. Reads all
 * charges of the day, so a caller keeps the result.
 */
export async function listMinutes(db: Reads, { merchantId }: Whose, { from, to }: Window): Promise<MinuteRow[]> {
  return await db.query<MinuteRow>(sql`
    select minute, sum(created)::bigint as created, sum(created_amount)::bigint as "createdAmount",
      sum(paid)::bigint as paid, sum(amount)::bigint as amount, sum(failed)::bigint as failed
    from clients, lateral (
      select floor(extract(epoch from at - ${from}) / 60)::int as minute, sum(created) as created,
        sum(created * moments.amount) as created_amount, sum(paid) as paid, sum(paid * moments.amount) as amount,
        sum(failed) as failed
      from transactions, lateral (values
        (created_at, 1, 0, 0, transactions.amount),
        (greatest(payment_date, created_at), 0, 1, 0, transactions.amount),
        (case when status = 'FAILED' then status_dates[cardinality(status_dates)] end, 0, 0, 1, 0)
      ) moments (at, created, paid, failed, amount)
      where transactions.merchant_id = clients.merchant_id and created_at >= ${from} and created_at < ${to}
        and (moments.paid = 0 or payment_date is not null) and at < ${to}
      group by 1
    ) minutes
    where true ${ofMerchant(merchantId)}
    group by minute order by minute`)
}

/**
 * How long the latest payments took from code to money, in seconds. Reads a few per merchant, or more of one
 * merchant.
 */
export async function findPayTimes(
  db: Reads,
  { merchantId }: Whose,
  since: Date,
): Promise<{ sample: number; median: number | null; p90: number | null }> {
  const each = merchantId === null ? 20 : 500
  const [row] = await db.query<{ sample: number; median: number | null; p90: number | null }>(sql`
    select count(*) as sample,
      percentile_cont(0.5) within group (order by seconds) as median,
      percentile_cont(0.9) within group (order by seconds) as p90
    from (select merchant_id from clients where true ${ofMerchant(merchantId)} limit 1000) chosen_clients, lateral (
      select extract(epoch from payment_date - created_at)::float8 as seconds from transactions
      where transactions.merchant_id = chosen_clients.merchant_id and created_at >= ${since} and status = 'PAID'
      order by created_at desc, id desc limit ${each}
    ) paid`)
  return row ?? { sample: 0, median: null, p90: null }
}

/** The balances of a merchant, or the sum of all. */
export async function sumBalances(db: Reads, { merchantId }: Whose): Promise<Balances> {
  const rows = await db.query<{ account: string; balance: number }>(sql`
    select account, sum(balance)::bigint as balance from ledger_accounts where true ${ofMerchant(merchantId)} group by account`)
  return toBalances(rows)
}

const isPaid = sql`status not in ('PENDING', 'PIX_QRCODE_GENERATED', 'FAILED')`

function ofMerchant(merchantId: string | null): Sql {
  return merchantId === null ? empty : sql`and merchant_id = ${merchantId}`
}
