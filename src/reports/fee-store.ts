import { type Reads, sql } from '../db/sql.ts'
import type { FeeOperation, FeeParts } from '../ledger/store.ts'
import { isPostedWithin } from '../ledger/window-store.ts'
import type { Window } from '../lib/brasilia.ts'

export type ChargedRow = {
  operation: FeeOperation
  /** Null: there was no rule, and no fee. */
  rule: FeeParts | null
  count: number
  volume: number
  fee: number
}

/**
 * What was charged in a window for payments, refunds and withdrawals, by the fee that was agreed, however often it was
 * set. The fee of a payment is that of its posting; the fee of a refund or a withdrawal is set when it is requested.
 */
export async function sumCharged(db: Reads, merchantId: string, { from, to }: Window): Promise<ChargedRow[]> {
  return await db.query<ChargedRow>(sql`
    with posted as (
      select record_type, record_id, min(created_at) as at,
        coalesce(sum(amount) filter (where kind <> 'fee'), 0) as volume,
        coalesce(sum(amount) filter (where kind = 'fee'), 0) as fee
      from ledger_transfers
      where merchant_id = ${merchantId} and ${isPostedWithin(merchantId, { from, until: to })}
        and kind in ('payment', 'refund_sent', 'withdrawal_sent', 'fee')
      group by event_key, record_type, record_id
    )
    select record_type as operation, count(*) as count, sum(volume)::bigint as volume, sum(fee)::bigint as fee,
      case when rule.fixed is not null then json_build_object(
        'fixed', fixed, 'basis_points', basis_points, 'minimum', minimum, 'maximum', maximum) end as rule
    from posted
    cross join lateral (
      select case record_type
        when 'withdrawal' then (select created_at from withdrawals where merchant_id = ${merchantId} and id = record_id)
        when 'refund' then (select created_at from refunds where merchant_id = ${merchantId} and id = record_id)
        else at end as set_at
    ) fee
    left join lateral (
      select valid_from, fixed, basis_points, minimum, maximum from fee_rules
      where merchant_id = ${merchantId} and operation = record_type and valid_from <= set_at
      order by valid_from desc limit 1
    ) rule on true
    group by record_type, fixed, basis_points, minimum, maximum
    order by array_position(array['transaction', 'refund', 'withdrawal'], record_type), min(valid_from) nulls first`)
}

export type ReturnedRow = { kind: 'fee_returned' | 'fee_return_reversed'; count: number; fee: number }

/**
 * The fees of payments that were returned in a window, with refunds or reversed attributions, and those that were
 * charged again.
 */
export async function sumReturned(db: Reads, merchantId: string, { from, to }: Window): Promise<ReturnedRow[]> {
  return await db.query<ReturnedRow>(sql`
    select case when kind = 'fee_return_reversed' then kind else 'fee_returned' end as kind,
      count(distinct event_key) as count, sum(amount)::bigint as fee
    from ledger_transfers
    where merchant_id = ${merchantId} and ${isPostedWithin(merchantId, { from, until: to })} and (
      kind = 'fee_return_reversed' or kind = 'fee_returned' and credit = 'available' or kind = 'match_undone' and debit = 'fees')
    group by 1 order by 1`)
}

export type ChangeRow = { kind: string; count: number; amount: number }

/** By how much each kind of entry changed the available balance in a window. */
export async function sumChanges(db: Reads, merchantId: string, { from, to }: Window): Promise<ChangeRow[]> {
  return await db.query<ChangeRow>(sql`
    select kind, count(*) as count, sum(case when credit = 'available' then amount else -amount end)::bigint as amount
    from ledger_transfers
    where merchant_id = ${merchantId} and 'available' in (debit, credit) and ${isPostedWithin(merchantId, { from, until: to })}
    group by kind order by kind`)
}
