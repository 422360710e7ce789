import { type Db, empty, sql, type Tx } from '../db/sql.ts'
import {
  isWithin,
  matchesFilter,
  type RecordFilter,
  type RecordKey,
  tableOf,
  transfersByAccountType,
  type Window,
} from '../ledger/record-filter-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'

export type UnequalTransfer = {
  merchant_id: string
  record_id: string
  event_key: string
  kind: string
  expected: number | null
  posted: number | null
}

/**
 * Transfers that a payment in suspense must have by its history and that are missing or different; and transfers that
 * should not exist, or that belong to no payment. Returns by others may have been recorded in parts: their events
 * count as one.
 */
export async function findUnequalTransfers(db: Db | Tx, filter: RecordFilter): Promise<UnequalTransfer[]> {
  return await db.query<UnequalTransfer>(sql`
    with expected as (
      select s.merchant_id, s.id as record_id, 'suspense:' || s.id || ':' || step.event as event_key,
        step.kind, step.debit, step.credit, step.amount
      from suspense_payments s
      cross join lateral (
        values
          ('held', 'payment_held', 'acquirer', 'suspense', s.amount),
          ('taken', 'held_returned', 'suspense', 'acquirer', s.taken_amount),
          ('returned', 'held_returned', 'suspense', 'acquirer', case when s.status = 'returned' then s.return_amount else 0 end)
        union all
        -- An attribution and its reversal are named by their place in the history.
        select case moved.status when 'matched' then 'matched:' else 'undone:' end || place,
          case moved.status when 'matched' then 'held_matched' else 'match_undone' end,
          case moved.status when 'matched' then 'suspense' else 'acquirer' end,
          case moved.status when 'matched' then 'acquirer' else 'suspense' end, s.amount
        from unnest(s.statuses) with ordinality moved (status, place)
        where moved.status = 'matched' or (moved.status = 'held' and place > 1 and s.statuses[place - 1] = 'matched')
      ) step (event, kind, debit, credit, amount)
      where step.amount > 0 and ${matchesFilter(filter, 's.merchant_id', 's.id')}
    ), posted as (
      -- Compared as sums: a transfer that was added to a past event is not hidden by an equal one.
      select merchant_id, record_id,
        case when event_key like '%:taken:%' then split_part(event_key, ':taken:', 1) || ':taken' else event_key end as event_key,
        kind, debit, credit, sum(amount) as amount
      from ${transfersByAccountType}
      where (
          record_type = 'suspense' or debit = 'suspense' or credit = 'suspense' or kind in ('payment_held', 'held_returned', 'held_matched')
        ) and ${matchesFilter(filter, 'merchant_id', 'record_id')}
      group by 1, 2, 3, 4, 5, 6
    )
    select merchant_id, record_id, event_key, kind, expected.amount as expected, posted.amount as posted
    from expected full join posted using (merchant_id, record_id, event_key, kind, debit, credit)
    where expected.amount is distinct from posted.amount`)
}

export type UnequalUndoing = { merchant_id: string; record_id: string; amount: number; undone: number; fee: number }

/**
 * Refunds that reversed an attribution without moving exactly the payment to suspense and returning its fee; and such
 * transfers without such a refund.
 */
export async function findUnequalUndoings(db: Db | Tx, filter: RecordFilter): Promise<UnequalUndoing[]> {
  return await db.query<UnequalUndoing>(sql`
    with sums as (
      select merchant_id, record_id,
        coalesce(sum(amount) filter (where debit in ('available', 'debt') and credit = 'acquirer'), 0) as undone,
        coalesce(sum(amount) filter (where debit in ('fees', 'acquirer') and credit = 'available'), 0) as fee,
        bool_and(event_key = 'refund:' || record_id || ':undone' and (kind, debit, credit) in (
          ('match_undone', 'fees', 'available'), ('fee_returned', 'acquirer', 'available'),
          ('match_undone', 'available', 'acquirer'), ('match_undone', 'debt', 'acquirer'))) as is_shaped
      from ${transfersByAccountType}
      where record_type = 'refund' and (kind = 'match_undone' or (kind = 'fee_returned' and event_key like '%:undone' and credit = 'available'))
        and ${matchesFilter(filter, 'merchant_id', 'record_id')}
      group by merchant_id, record_id
    ), undoings as (
      select r.merchant_id, r.id as record_id, r.amount, t.fee_amount
      from refunds r
      join transactions t on t.id = r.transaction_id and t.merchant_id = r.merchant_id
      where r.suspense_payment_id is not null and ${matchesFilter(filter, 'r.merchant_id', 'r.id')}
    )
    select merchant_id, record_id, coalesce(amount, 0) as amount, coalesce(undone, 0) as undone, coalesce(fee, 0) as fee
    from undoings full join sums using (merchant_id, record_id)
    where amount is distinct from undone or coalesce(fee_amount, 0) is distinct from coalesce(fee, 0) or not is_shaped`)
}

export type MisplacedPayment = { merchant_id: string; record_id: string; end_to_end: string }

/** Payments in suspense that are not attributed to a transaction and pay one, or are attributed and do not pay it. */
export async function findMisplaced(db: Db | Tx, filter: RecordFilter): Promise<MisplacedPayment[]> {
  // With a filter, PostgreSQL finds the transactions by the index (merchant_id, end_to_end). Transactions that are not
  // among the records count too.
  const paidByFew = sql`
    and merchant_id = any(array(select merchant_id from clients union select attributed_merchant_id from suspense_payments))
    and end_to_end = any(array(select end_to_end from suspense_payments where ${matchesFilter(filter, 'merchant_id', 'id')}))`
  return await db.query<MisplacedPayment>(sql`
    select s.merchant_id, s.id as record_id, s.end_to_end
    from suspense_payments s
    left join (
      select merchant_id, id, acquirer, end_to_end from transactions where attribution_reversed_at is null ${filter === null ? empty : paidByFew}
    ) t on t.end_to_end = s.end_to_end and t.acquirer = s.acquirer
    where ${matchesFilter(filter, 's.merchant_id', 's.id')}
      and (t.id, t.merchant_id) is distinct from (s.attributed_transaction_id, s.attributed_merchant_id)`)
}

/**
 * Payments that were placed in suspense in the window and are still there; and for the known records, the payments in
 * suspense that pay one of the transactions, and the transactions that payments are attributed to.
 */
export async function findTouched(db: Db | Tx, window: Window, known: RecordKey[]): Promise<RecordKey[]> {
  return await db.query<RecordKey>(sql`
    select merchant_id as "merchantId", id from suspense_payments
    where status in ('held', 'returning') and ${isWithin(window, 'status_dates[1]')}
    union
    select s.merchant_id, s.id
    from (${tableOf(known)}) known
    join transactions t using (merchant_id, id)
    join suspense_payments s on s.acquirer = t.acquirer and s.end_to_end = t.end_to_end
    union
    select attributed_merchant_id, attributed_transaction_id
    from (${tableOf(known)}) known
    join suspense_payments using (merchant_id, id)
    where attributed_transaction_id is not null`)
}

/**
 * What must hold between payments in suspense and the ledger at any moment: each has exactly the transfers of its
 * history, a reversal takes what its attribution gave, and no payment is both in suspense and posted for a
 * transaction.
 */
export async function findSuspenseBreaches(db: Db | Tx, filter: RecordFilter = null): Promise<Breach[]> {
  const transfers = (await findUnequalTransfers(db, filter)).map((row) => ({
    rule: 'suspense_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.kind} under ${row.event_key} should be ${row.expected ?? 'none'}, and is ${row.posted ?? 'none'}`,
  }))
  const undoings = (await findUnequalUndoings(db, filter)).map((row) => ({
    rule: 'match_undone',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `an attribution of ${row.amount} cents was reversed with ${row.undone} cents, with ${row.fee} cents of fee returned`,
  }))
  const misplaced = (await findMisplaced(db, filter)).map((row) => ({
    rule: 'suspense_payment_once',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `the payment ${row.end_to_end} is or was in suspense: the transaction that it pays is not the one that it is attributed to`,
  }))
  return [...transfers, ...undoings, ...misplaced]
}

export const suspenseVerification: Verification = { findBreaches: findSuspenseBreaches, findTouched }
