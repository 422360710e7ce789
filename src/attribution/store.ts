import { type Db, empty, sql, type Tx } from '../db/sql.ts'
import type { SuspenseRow } from '../suspense/store.ts'

/** A charge that a payment of this amount may belong to. */
export type CandidateRow = {
  merchant_id: string
  client_id: string
  id: string
  status: 'PIX_QRCODE_GENERATED' | 'FAILED'
  amount: number
  created_at: Date
  pix_expires_at: Date
  customer_document: string | null
  customer_search_name: string | null
}

/** The most candidates, the newest ones: nobody reads through more. */
export const candidatesMax = 50

/**
 * Unpaid charges of the same amount, with a code of the same acquirer, created from three days before the payment to
 * five minutes after it; only those of one merchant if it is named. It scans these days in each merchant's index by
 * time, which includes status and amount. That takes half a second with a million charges a day, so the query has no
 * index of its own.
 */
export async function listCandidates(
  db: Db | Tx,
  payment: Pick<SuspenseRow, 'acquirer' | 'amount' | 'paid_at'>,
  merchantId: string | null,
): Promise<CandidateRow[]> {
  return await db.query<CandidateRow>(sql`
    select clients.merchant_id, client_id, unpaid.*
    from clients cross join lateral (
      select id, status, amount, created_at, pix_expires_at, customer_document, customer_search_name
      from transactions
      where merchant_id = clients.merchant_id
        and created_at between ${payment.paid_at}::timestamptz - interval '3 days' and ${payment.paid_at}::timestamptz + interval '5 minutes'
        and status in ('PIX_QRCODE_GENERATED', 'FAILED') and amount = ${payment.amount}
        and pix_expires_at is not null and (acquirer = ${payment.acquirer} or ${payment.acquirer} = any(other_acquirers))
    ) unpaid
    ${merchantId === null ? empty : sql`where clients.merchant_id = ${merchantId}`}
    order by created_at desc limit ${candidatesMax}`)
}

/** Ends the automatic checks of a payment. */
export async function leaveToOperator(db: Db, row: Pick<SuspenseRow, 'merchant_id' | 'id'>): Promise<void> {
  await db.query(sql`
    update suspense_payments set check_at = null
    where merchant_id = ${row.merchant_id} and id = ${row.id} and status = 'held'`)
}

/**
 * Detaches the payment of a locked transaction, so that it can pay another one. Repeated reversals of one payment get
 * different times: the unique index needs them.
 */
export async function updateAttributionReversed(
  tx: Tx,
  { merchantId, transactionId, now }: { merchantId: string; transactionId: string; now: Date },
): Promise<void> {
  await tx.query(sql`
    update transactions set attribution_reversed_at = greatest(${now}::timestamptz, (
      select max(other.attribution_reversed_at) + interval '1 millisecond' from transactions other
      where other.merchant_id = transactions.merchant_id and other.end_to_end = transactions.end_to_end))
    where id = ${transactionId} and merchant_id = ${merchantId}`)
}
