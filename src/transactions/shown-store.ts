import { type Sql, sql } from '../db/sql.ts'
import type { RefundStatus } from './refund/store.ts'

/** A dispute as part of the transaction's response. */
export type ShownDispute = {
  id: string
  amount: number
  amountReturned: number
  amountBlocked: number
  status: 'OPEN' | 'ACCEPTED' | 'RETURNED' | 'REJECTED' | 'CANCELED'
  reason: string | null
  openedAt: string
  deadline: string | null
  finishedAt: string | null
}

/**
 * A return that was not a refund, as part of the transaction's response. `disputeId` is null when it was not under
 * MED.
 */
export type ShownReturn = {
  endToEndRefund: string | null
  amount: number
  disputeId: string | null
  date: string
}

/** A refund as part of the transaction's response. */
export type ShownRefund = {
  id: string
  amount: number
  status: RefundStatus
  endToEndRefund: string | null
  reason: string | null
  createdAt: string
}

const toText = (column: Sql) => sql`to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

export const shownRefunds = sql`(
  select coalesce(json_agg(json_build_object(
    'id', refunds.id, 'amount', refunds.amount, 'status', refunds.status, 'endToEndRefund', refunds.end_to_end,
    'reason', refunds.reason,
    'createdAt', to_char(refunds.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    order by refunds.created_at), '[]'::json)
  from refunds
  where refunds.merchant_id = transactions.merchant_id and refunds.transaction_id = transactions.id)`

const disputes = sql`(
  select coalesce(json_agg(json_build_object(
    'id', disputes.id, 'amount', disputes.amount, 'amountReturned', disputes.returned_amount,
    'amountBlocked', disputes.blocked_amount, 'status', upper(disputes.state), 'reason', disputes.reason,
    'openedAt', ${toText(sql`disputes.opened_at`)}, 'deadline', ${toText(sql`disputes.deadline_at`)},
    'finishedAt', ${toText(sql`disputes.finished_at`)})
    order by disputes.opened_at, disputes.id), '[]'::json)
  from disputes
  where disputes.merchant_id = transactions.merchant_id and disputes.transaction_id = transactions.id)`

const returns = sql`(
  select coalesce(json_agg(json_build_object(
    'endToEndRefund', back.end_to_end, 'amount', back.amount, 'disputeId', back.dispute_id,
    'date', ${toText(sql`back.returned_at`)})
    order by back.posted_at, back.id), '[]'::json)
  from transaction_returns back
  where back.merchant_id = transactions.merchant_id and back.transaction_id = transactions.id)`

// Only a disputed transaction has disputes, and only one with returned money has returns: the others need no
// subquery.
export const disputesAndReturns = sql`
  case when transactions.infraction_date is null then '[]'::json else ${disputes} end as disputes,
  case when transactions.amount_returned = 0 then '[]'::json else ${returns} end as returns`
