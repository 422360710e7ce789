import { type Db, sql, type Tx } from '../db/sql.ts'

/**
 * A check that is due within these times is left alone: it comes due soon in any case. That of a payout may be in
 * progress, because its lease is a `check_at` too, of one minute for refunds and two for withdrawals: no payout is sent
 * while another request for it is open. Checks of charges have no lease.
 */
const chargeMarginMs = 75_000
const payoutLeaseMs = 3 * 60_000
/** Most records of one merchant that one call moves, of each kind. */
const recordsMax = 100_000

type Move = { merchantId: string; seconds: number; now: Date }

/** The merchant's charges that wait for a payment or for an outcome. */
export async function listOpenIds(db: Db, { merchantId, now }: Pick<Move, 'merchantId' | 'now'>): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select id from transactions
    where ${isOpen({ merchantId, now })}
    limit ${recordsMax}`)
  return rows.map(({ id }) => id)
}

/** Those of some records that belong to the merchant. */
export async function findOwn(
  db: Db,
  { merchantId, transactions, withdrawals }: { merchantId: string; transactions: string[]; withdrawals: string[] },
): Promise<{ transactions: string[]; withdrawals: string[] }> {
  const [row] = await db.query<{ transactions: string[]; withdrawals: string[] }>(sql`
    select
      array(select id from transactions where id = any (${transactions}::uuid[]) and merchant_id = ${merchantId})
        as transactions,
      array(select id from withdrawals where id = any (${withdrawals}::uuid[]) and merchant_id = ${merchantId})
        as withdrawals`)
  return row ?? { transactions: [], withdrawals: [] }
}

/**
 * Lets the open codes of a merchant expire earlier. A code counts as expired some minutes after its expiry, so its
 * expiry may move that far before now. Returns how many have expired.
 */
export async function moveCharges(tx: Tx, { merchantId, seconds, now }: Move, graceMs: number): Promise<number> {
  const floor = new Date(now.getTime() - graceMs)
  const rows = await tx.query<{ isDue: boolean }>(sql`
    with locked as (
      select id, merchant_id, pix_expires_at as before from transactions
      where ${isOpen({ merchantId, now })}
      order by id, merchant_id limit ${recordsMax} for no key update
    )
    update transactions t
    set
      pix_expires_at = least(pix_expires_at, greatest(${floor}::timestamptz, pix_expires_at - ${seconds} * interval '1 second')),
      check_at = greatest(${now}::timestamptz, check_at - ${seconds} * interval '1 second')
    from locked where t.id = locked.id and t.merchant_id = locked.merchant_id
    returning locked.before > ${now} and t.pix_expires_at <= ${now} as "isDue"`)
  return rows.filter(({ isDue }) => isDue).length
}

/**
 * Makes the next checks of refunds in progress, or of withdrawals that are not pending review, due earlier. Returns how
 * many are due now.
 */
export async function moveChecks(
  tx: Tx,
  table: 'withdrawals' | 'refunds',
  { merchantId, seconds, now }: Move,
): Promise<number> {
  const isWaiting = table === 'refunds' ? sql`status = 'PROCESSING'` : sql`review_reason is null`
  const name = table === 'refunds' ? sql`refunds` : sql`withdrawals`
  const rows = await tx.query<{ isDue: boolean }>(sql`
    with locked as (
      select id from ${name}
      where merchant_id = ${merchantId} and check_at > ${new Date(now.getTime() + payoutLeaseMs)} and ${isWaiting}
      order by id limit ${recordsMax} for no key update
    )
    update ${name} t set check_at = greatest(${now}::timestamptz, check_at - ${seconds} * interval '1 second')
    from locked where t.id = locked.id and t.merchant_id = ${merchantId}
    returning check_at <= ${now} as "isDue"`)
  return rows.filter(({ isDue }) => isDue).length
}

/**
 * Makes the next attempts of a merchant's deliveries due earlier. What is left of the time applies to the attempts
 * after them (`advance_left`), so that a call of four days plays a whole schedule. A delivery that a worker has keeps
 * its lease. Those that wait behind another have no schedule yet.
 */
export async function moveDeliveries(tx: Tx, { merchantId, seconds, now }: Move): Promise<number> {
  const moved = sql`${seconds} * interval '1 second'`
  const rows = await tx.query<{ isDue: boolean }>(sql`
    with locked as (
      select
        merchant_id, record_id, id, next_attempt_at as before, coalesce(leased_until > ${now}, false) as is_leased,
        greatest(interval '0', next_attempt_at - ${now}) as wait
      from webhook_deliveries
      where merchant_id = ${merchantId} and state = 'pending'
      order by merchant_id, record_id, sequence limit ${recordsMax} for no key update
    )
    update webhook_deliveries d
    set
      next_attempt_at = case
        when is_leased or before <= ${now} then next_attempt_at
        else greatest(${now}::timestamptz, next_attempt_at - ${moved})
      end,
      retry_after = case when is_leased then retry_after else retry_after - ${moved} end,
      advance_left = nullif(
        coalesce(advance_left, interval '0') + ${moved} - case when is_leased then interval '0' else least(wait, ${moved}) end,
        interval '0'
      )
    from locked l
    where d.merchant_id = l.merchant_id and d.record_id = l.record_id and d.id = l.id
    returning not is_leased and before > ${now} and d.next_attempt_at <= ${now} as "isDue"`)
  return rows.filter(({ isDue }) => isDue).length
}

/** Adds to how far a merchant's time was moved in all, and returns the sum. */
export async function addOffset(
  tx: Tx,
  { merchantId, seconds }: Pick<Move, 'merchantId' | 'seconds'>,
): Promise<number> {
  const [row] = await tx.query<{ offset: number }>(sql`
    insert into settings (name, value) values (${`sandbox_clock:${merchantId}`}, ${String(seconds)})
    on conflict (name) do update set value = (settings.value::bigint + ${seconds})::text
    returning value::bigint as offset`)
  return row?.offset ?? seconds
}

const isOpen = ({ merchantId, now }: Pick<Move, 'merchantId' | 'now'>) => sql`
  merchant_id = ${merchantId} and check_at > ${new Date(now.getTime() + chargeMarginMs)}
  and status in ('PENDING', 'PIX_QRCODE_GENERATED')`
