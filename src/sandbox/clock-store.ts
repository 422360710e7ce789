import { type Db, sql, type Tx } from '../db/sql.ts'

/**
 * A check asks the acquirer for the outcome. One that is due within these times is not moved: it comes due soon anyway.
 * A check of a refund or a withdrawal may be in progress: `check_at` is then its lease of one or two minutes, and
 * moving it would let a second request start. Checks of charges have no lease.
 */
const chargeMarginMs = 75_000
const payoutMarginMs = 3 * 60_000
/** The most records of each kind that one call moves for a merchant. */
const recordsMax = 100_000

type Move = { merchantId: string; seconds: number; now: Date }

/** The merchant's charges that wait for a payment or for an outcome, and are not checked soon. */
export async function listOpenIds(db: Db, { merchantId, now }: Pick<Move, 'merchantId' | 'now'>): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select id from transactions
    where ${isOpenAndNotDueSoon({ merchantId, now })}
    limit ${recordsMax}`)
  return rows.map(({ id }) => id)
}

/** Which of the given records belong to the merchant. */
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
 * Lets the open charges of a merchant expire earlier. A charge fails only some minutes (`graceMs`) after its expiry, so
 * its expiry may move that far before now. Returns how many passed their expiry with this call.
 */
export async function moveCharges(tx: Tx, { merchantId, seconds, now }: Move, graceMs: number): Promise<number> {
  const floor = new Date(now.getTime() - graceMs)
  const rows = await tx.query<{ isDue: boolean }>(sql`
    with locked as (
      select id, merchant_id, pix_expires_at as before from transactions
      where ${isOpenAndNotDueSoon({ merchantId, now })}
      order by id, merchant_id limit ${recordsMax} for no key update
    )
    update transactions t
    set
      -- A charge without a code has no expiry, and \`least\` would ignore that.
      pix_expires_at = case when pix_expires_at is not null then
        least(pix_expires_at, greatest(${floor}::timestamptz, pix_expires_at - ${seconds} * interval '1 second')) end,
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
      where merchant_id = ${merchantId} and check_at > ${new Date(now.getTime() + payoutMarginMs)} and ${isWaiting}
      order by id limit ${recordsMax} for no key update
    )
    update ${name} t set check_at = greatest(${now}::timestamptz, check_at - ${seconds} * interval '1 second')
    from locked where t.id = locked.id and t.merchant_id = ${merchantId}
    returning check_at <= ${now} as "isDue"`)
  return rows.filter(({ isDue }) => isDue).length
}

/**
 * Makes the next attempts of a merchant's deliveries due earlier. What is left of the time applies to the attempts
 * after them (`advance_left`), so that advancing by four days runs through the whole schedule. A delivery that a worker
 * is sending keeps its lease. Those that wait behind another are not moved: their schedule has not begun.
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

const isOpenAndNotDueSoon = ({ merchantId, now }: Pick<Move, 'merchantId' | 'now'>) => sql`
  merchant_id = ${merchantId} and check_at > ${new Date(now.getTime() + chargeMarginMs)}
  and status in ('PENDING', 'PIX_QRCODE_GENERATED')`
