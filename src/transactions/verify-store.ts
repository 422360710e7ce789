import { type Db, sql, type Tx } from '../db/sql.ts'
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
import { operatorMerchantId } from '../suspense/status.ts'

export type UnequalTransfer = {
  merchant_id: string
  record_id: string
  event_key: string
  kind: string
  debit: string
  credit: string
  expected: number | null
  posted: number | null
}

/**
 * Transfers that a payment or a refund must have in its state and that are missing or different; and transfers that
 * should not exist, or that belong to no record.
 */
export async function findUnequalTransfers(db: Db | Tx, filter: RecordFilter): Promise<UnequalTransfer[]> {
  return await db.query<UnequalTransfer>(sql`
    with expected as (
      select t.merchant_id, t.id as record_id, 'transaction:' || t.id || ':paid' as event_key,
        step.kind, step.debit, step.credit, step.amount
      from transactions t
      cross join lateral (
        values ('payment', 'acquirer', 'available', t.amount_paid), ('fee', 'available', 'fees', t.fee_amount)
      ) step (kind, debit, credit, amount)
      where t.amount_paid is not null and step.amount > 0 and ${matchesFilter(filter, 't.merchant_id', 't.id')}
      union all
      select r.merchant_id, r.id, 'refund:' || r.id || ':' || step.event, step.kind, step.debit, step.credit, step.amount
      from refunds r
      cross join lateral (
        values
          ('reserved', 'refund_reserved', 'available', 'reserved', r.amount + r.fee_amount, null),
          ('sent', 'refund_sent', 'reserved', 'acquirer', r.amount, 'REFUNDED'),
          ('sent', 'fee', 'reserved', 'fees', r.fee_amount, 'REFUNDED'),
          ('reserved', 'fee_returned', 'fees', 'available', r.fee_returned, null),
          ('released', 'refund_released', 'reserved', 'available', r.amount + r.fee_amount, 'FAILED'),
          ('released', 'fee_return_reversed', 'available', 'fees', r.fee_returned, 'FAILED')
      ) step (event, kind, debit, credit, amount, status)
      -- A reversed attribution moved its money to suspense (src/suspense/verify-store.ts).
      where step.amount > 0 and (step.status is null or step.status = r.status) and r.suspense_payment_id is null
        and ${matchesFilter(filter, 'r.merchant_id', 'r.id')}
    ), posted as (
      -- The transfers of one event are summed, so that a second, equal transfer added later shows as a difference.
      -- Another check covers what the operator's own merchant pays of a returned fee (findUnequalFeeReturns).
      select merchant_id, record_id, event_key, kind, case when kind = 'fee_returned' and debit = 'acquirer' then 'fees' else debit end as debit,
        credit, sum(amount) as amount
      from ${transfersByAccountType}
      where (record_type in ('transaction', 'refund') or kind in ('payment', 'fee_returned', 'fee_return_reversed') or kind like 'refund_%')
        and kind not in ('debt_repaid', 'match_undone')
        and not (kind = 'fee_returned' and (credit = 'acquirer' or event_key like '%:undone'))
        and ${matchesFilter(filter, 'merchant_id', 'record_id')}
      group by 1, 2, 3, 4, 5, 6
    )
    select merchant_id, record_id, event_key, kind, debit, credit, expected.amount as expected, posted.amount as posted
    from expected full join posted using (merchant_id, record_id, event_key, kind, debit, credit)
    where expected.amount is distinct from posted.amount`)
}

export type UnequalFeeReturn = {
  merchant_id: string
  record_id: string
  returned: number
  share: number
  missing: number
  paid: number
}

/**
 * Refunds that returned a part of the payment's fee which is not their share of it; one that returned none of it is
 * not checked. Also refunds that returned more of a fee than the merchant's `fees` account had, where the operator's own
 * merchant did not pay the missing part.
 */
export async function findUnequalFeeReturns(db: Db | Tx, filter: RecordFilter): Promise<UnequalFeeReturn[]> {
  return await db.query<UnequalFeeReturn>(sql`
    with ordered as (
      select r.merchant_id, r.transaction_id, r.id, r.amount, r.fee_returned,
        -- Those before it: one runs at a time, so they had ended.
        coalesce(sum(r.amount) filter (where r.status = 'REFUNDED') over (
          partition by r.merchant_id, r.transaction_id order by r.created_at rows between unbounded preceding and 1 preceding), 0) as before
      from refunds r
      where ${matchesFilter(filter, 'r.merchant_id', 'r.transaction_id')}
    ), shares as (
      select o.merchant_id, o.id, o.fee_returned,
        div(t.fee_amount * (o.before + o.amount), t.amount_paid) - div(t.fee_amount * o.before, t.amount_paid) as share
      from ordered o join transactions t on t.merchant_id = o.merchant_id and t.id = o.transaction_id
      where o.fee_returned <> 0
    ), of_merchants as (
      select merchant_id, record_id, debit as account, sum(amount) as missing from ledger_transfers
      where kind = 'fee_returned' and debit like 'acquirer:%' and ${matchesFilter(filter, 'merchant_id', 'record_id')}
      group by merchant_id, record_id, debit
    ), of_operator as (
      select record_id, credit as account,
        sum(case when debit in ('fees', 'debt') and event_key in ('refund:' || record_id || ':reserved', 'refund:' || record_id || ':undone') then amount end) as paid
      from ledger_transfers
      where kind = 'fee_returned' and credit like 'acquirer:%' and merchant_id = ${operatorMerchantId}
        and ${filter === null ? sql`true` : sql`record_id in (select id from (${tableOf(filter)}) touched)`}
      group by record_id, credit
    ), compared as (
      select coalesce(s.merchant_id, m.merchant_id, ${operatorMerchantId}::uuid) as merchant_id, coalesce(s.id, m.record_id, h.record_id) as record_id,
        coalesce(fee_returned, 0) as returned, coalesce(share, 0) as share, coalesce(missing, 0) as missing, coalesce(paid, 0) as paid
      from shares s
      full join of_merchants m on m.merchant_id = s.merchant_id and m.record_id = s.id
      full join of_operator h on h.record_id = m.record_id and h.account = m.account
    )
    select merchant_id, record_id, returned, share::bigint as share, missing, paid from compared
    where returned <> share or missing <> paid`)
}

export type UnequalRepayment = { merchant_id: string; record_id: string; event_key: string; repaid: number }

/**
 * Repayments of debts out of payments and released refunds that are neither the whole debt nor everything that was
 * available for it.
 */
export async function findUnequalRepayments(db: Db | Tx, filter: RecordFilter): Promise<UnequalRepayment[]> {
  return await db.query<UnequalRepayment>(sql`
    select merchant_id, record_id, event_key, coalesce(sum(amount) filter (where kind = 'debt_repaid'), 0) as repaid
    from ${transfersByAccountType}
    where record_type in ('transaction', 'refund') and ${matchesFilter(filter, 'merchant_id', 'record_id')}
    group by merchant_id, record_id, event_key
    having count(*) filter (where kind = 'debt_repaid') > 0 and (
      count(*) filter (where kind = 'debt_repaid') > 1
      or not bool_and(debit = 'available' and credit = 'debt') filter (where kind = 'debt_repaid')
      -- The whole debt, or everything that came in: the event then leaves nothing of it to the merchant.
      or (
        max(credit_balance) filter (where kind = 'debt_repaid') <> 0
        and sum(case when credit = 'available' then amount when debit = 'available' then -amount else 0 end) <> 0
      )
      or sum(case when credit = 'available' then amount when debit = 'available' then -amount else 0 end) < 0)`)
}

export type UnequalDispute = {
  merchant_id: string
  record_id: string
  state: string | null
  blocked: number
  returned: number
  released: number
}

/** Disputes whose transfers do not match their state: what is blocked for each now, and what was returned under it. */
export async function findUnequalDisputes(db: Db | Tx, filter: RecordFilter): Promise<UnequalDispute[]> {
  return await db.query<UnequalDispute>(sql`
    with sums as (
      select merchant_id, record_id,
        coalesce(sum(amount) filter (where kind = 'infraction_blocked' and credit = 'blocked'), 0) as blocked,
        coalesce(sum(amount) filter (where kind = 'infraction_returned' and credit = 'acquirer'), 0) as returned,
        coalesce(sum(amount) filter (where kind = 'infraction_returned' and debit = 'blocked'), 0) as returned_of_blocked,
        coalesce(sum(amount) filter (where kind = 'infraction_released' and debit = 'blocked'), 0) as released,
        bool_and(record_type = 'infraction' and event_key like 'infraction:' || record_id || ':%' and (kind, debit, credit) in (
          ('infraction_blocked', 'available', 'blocked'), ('infraction_blocked', 'debt', 'blocked'),
          ('infraction_returned', 'blocked', 'acquirer'), ('infraction_returned', 'available', 'acquirer'),
          ('infraction_returned', 'debt', 'acquirer'),
          ('infraction_released', 'blocked', 'available'), ('infraction_released', 'blocked', 'debt'))) as is_shaped
      from ${transfersByAccountType}
      where (record_type = 'infraction' or kind like 'infraction_%') and ${matchesFilter(filter, 'merchant_id', 'record_id')}
      group by merchant_id, record_id
    ), disputes as (
      select merchant_id, id as record_id, state, blocked_amount, returned_amount from disputes
      where ${matchesFilter(filter, 'merchant_id', 'id')}
    ), compared as (
      select merchant_id, record_id, state, blocked_amount, returned_amount, coalesce(is_shaped, true) as is_shaped,
        coalesce(blocked, 0) as blocked, coalesce(returned, 0) as returned,
        coalesce(returned_of_blocked, 0) as returned_of_blocked, coalesce(released, 0) as released
      from disputes full join sums using (merchant_id, record_id)
    )
    select merchant_id, record_id, state, blocked, returned, released from compared
    where not is_shaped
      or not coalesce(returned = returned_amount and blocked - returned_of_blocked - released = blocked_amount, false)`)
}

export type UnequalDisputed = { merchant_id: string; record_id: string; blocked: number; returned: number }

/**
 * Transactions whose blocked amount is not the disputed amount, limited to what is left of the payment after returns
 * and refunds (also refunds in progress); or whose returned amount is not what their returns and disputes say.
 */
export async function findUnequalDisputed(db: Db | Tx, filter: RecordFilter): Promise<UnequalDisputed[]> {
  return await db.query<UnequalDisputed>(sql`
    with disputed as (
      select merchant_id, transaction_id as id, sum(blocked_amount) as blocked, sum(returned_amount) as returned,
        coalesce(sum(amount - returned_amount) filter (where state in ('open', 'accepted')), 0) as to_block
      from disputes where ${matchesFilter(filter, 'merchant_id', 'transaction_id')} group by merchant_id, transaction_id
    ), gone as (
      select merchant_id, transaction_id as id, sum(amount) as amount,
        coalesce(sum(amount) filter (where dispute_id is not null), 0) as under_med
      from transaction_returns where ${matchesFilter(filter, 'merchant_id', 'transaction_id')} group by merchant_id, transaction_id
    )
    select t.merchant_id, t.id as record_id, coalesce(blocked, 0) as blocked, t.amount_returned as returned
    from transactions t
    left join disputed on disputed.merchant_id = t.merchant_id and disputed.id = t.id
    left join gone on gone.merchant_id = t.merchant_id and gone.id = t.id
    where ${matchesFilter(filter, 't.merchant_id', 't.id')} and (disputed.id is not null or gone.id is not null or t.amount_returned <> 0)
      and (
        t.amount_returned <> coalesce(gone.amount, 0) or coalesce(returned, 0) <> coalesce(under_med, 0)
        or coalesce(blocked, 0) <> least(coalesce(to_block, 0), greatest(0, t.amount_paid - t.amount_returned - coalesce((
          select sum(r.amount) from refunds r
          where r.merchant_id = t.merchant_id and r.transaction_id = t.id and r.status <> 'FAILED'), 0))))`)
}

export type UnequalStatus = { merchant_id: string; record_id: string; status: string; expected: string }

/** Transactions whose status is not the one that their payment, refunds and disputes imply. */
export async function findUnequalStatuses(db: Db | Tx, filter: RecordFilter): Promise<UnequalStatus[]> {
  // A dispute that is known only from its return has the source `return`.
  return await db.query<UnequalStatus>(sql`
    with of_refunds as (
      select merchant_id, transaction_id as id, bool_or(status = 'PROCESSING') as is_processing,
        coalesce(sum(amount) filter (where status = 'REFUNDED'), 0) as refunded
      from refunds where ${matchesFilter(filter, 'merchant_id', 'transaction_id')} group by merchant_id, transaction_id
    ), of_disputes as (
      select merchant_id, transaction_id as id, bool_or(state = 'returned' and source <> 'return') as is_lost,
        bool_or(state = 'open') as is_open, bool_or(state = 'accepted') as is_accepted, sum(returned_amount) > 0 as is_returned
      from disputes where ${matchesFilter(filter, 'merchant_id', 'transaction_id')} group by merchant_id, transaction_id
    ), made as (
      select t.merchant_id, t.id as record_id, t.status, case
        when amount_paid is null then case when status in ('PENDING', 'PIX_QRCODE_GENERATED', 'FAILED') then status else 'paid' end
        when is_accepted and amount_paid - amount_returned > coalesce(refunded, 0) then 'PROCESSING_INFRACTION'
        when is_open and amount_paid - amount_returned > coalesce(refunded, 0) then 'BLOCKED'
        when is_processing then 'PROCESSING_REFUND'
        when is_lost or (is_returned and amount_paid - amount_returned <= coalesce(refunded, 0)) then 'INFRACTION'
        when amount_paid - amount_returned <= coalesce(refunded, 0) then 'REFUNDED'
        else 'PAID'
      end as expected
      from transactions t
      left join of_refunds using (merchant_id, id)
      left join of_disputes using (merchant_id, id)
      where ${matchesFilter(filter, 'merchant_id', 'id')}
    )
    select merchant_id, record_id, status, expected from made where status <> expected`)
}

/**
 * The known records and those of the window: transactions paid, refunds requested that are in progress, disputes opened
 * that are open or accepted, and refunds and disputes ended. And for all of these, the transactions of refunds and
 * disputes, and the open or accepted disputes of transactions.
 */
export async function findTouched(db: Db | Tx, window: Window, known: RecordKey[]): Promise<RecordKey[]> {
  return await db.query<RecordKey>(sql`
    with touched as (
      ${tableOf(known)}
      union
      select merchant_id, id from transactions where ${isWithin(window, 'payment_date')}
      union
      select merchant_id, id from refunds where status = 'PROCESSING' and ${isWithin(window, 'created_at')}
      union
      select merchant_id, id from refunds where ${isWithin(window, 'finished_at')}
      union
      select merchant_id, id from disputes where state in ('open', 'accepted') and ${isWithin(window, 'opened_at')}
      union
      select merchant_id, id from disputes where ${isWithin(window, 'finished_at')}
    ), charged as (
      select merchant_id, id from touched
      union
      select merchant_id, transaction_id from refunds join touched using (merchant_id, id)
      union
      select merchant_id, transaction_id from disputes join touched using (merchant_id, id)
    )
    select merchant_id as "merchantId", id from charged
    union
    select i.merchant_id, i.id
    from disputes i
    join charged on charged.merchant_id = i.merchant_id and charged.id = i.transaction_id
    where i.state in ('open', 'accepted')`)
}

/**
 * What must hold between transactions and the ledger at any moment, because row and transfers share a commit: every
 * payment, refund and dispute has exactly the transfers of its state, every transfer has its record, and the status
 * is the one that they imply.
 */
export async function findTransactionBreaches(db: Db | Tx, filter: RecordFilter = null): Promise<Breach[]> {
  const transfers = (await findUnequalTransfers(db, filter)).map((row) => ({
    rule: row.event_key.startsWith('refund:') ? 'refund_transfers' : 'payment_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.kind} from ${row.debit} to ${row.credit} under ${row.event_key} should be ${row.expected ?? 'none'}, and is ${row.posted ?? 'none'}`,
  }))
  const feeReturns = (await findUnequalFeeReturns(db, filter)).map((row) => ({
    rule: 'fee_returned',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.returned} cents of a fee came back with a refund whose share is ${row.share}; the operator should have paid ${row.missing} and paid ${row.paid}`,
  }))
  const repayments = (await findUnequalRepayments(db, filter)).map((row) => ({
    rule: 'debt_repaid',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.repaid} cents of a debt were repaid under ${row.event_key}, which is neither the whole debt nor everything that was available for it, or was posted more than once or between wrong accounts`,
  }))
  const disputes = (await findUnequalDisputes(db, filter)).map((row) => ({
    rule: 'infraction_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `a dispute that is ${row.state ?? 'missing'} has ${row.blocked} cents blocked, ${row.returned} returned and ${row.released} released`,
  }))
  const disputed = (await findUnequalDisputed(db, filter)).map((row) => ({
    rule: 'disputed_amounts',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.blocked} cents of a transaction are blocked and ${row.returned} were returned, which does not match its disputes and returns`,
  }))
  const statuses = (await findUnequalStatuses(db, filter)).map((row) => ({
    rule: 'transaction_status',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `a transaction that is ${row.status} should be ${row.expected}`,
  }))
  return [...transfers, ...feeReturns, ...repayments, ...disputes, ...disputed, ...statuses]
}

export const transactionVerification: Verification = { findBreaches: findTransactionBreaches, findTouched }
