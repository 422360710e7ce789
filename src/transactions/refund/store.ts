import { type Db, sql, type Tx } from '../../db/sql.ts'
import { type Claim, claimDueRows, isAnyDue } from '../../jobs/claim.ts'

export type RefundStatus = 'PROCESSING' | 'REFUNDED' | 'FAILED'

export type RefundRow = {
  merchant_id: string
  id: string
  transaction_id: string
  amount: number
  fee_amount: number
  /** The part of the payment's fee that was returned with it. */
  fee_returned: number
  status: RefundStatus
  end_to_end: string | null
  reason: string | null
  idempotency_key: string | null
  error_message: string | null
  created_at: Date
  finished_at: Date | null
  /** For a reversed attribution: the suspense payment that its money went to. */
  suspense_payment_id: string | null
  /** When the acquirer was last asked to send it, whatever it answered; a refused repeat does not change it. */
  requested_at: Date | null
  /** Whether the amount was all that was left of the payment when the refund was requested. */
  is_of_rest: boolean
}

export type NewRefund = Pick<
  RefundRow,
  | 'merchant_id'
  | 'id'
  | 'transaction_id'
  | 'amount'
  | 'fee_amount'
  | 'fee_returned'
  | 'reason'
  | 'idempotency_key'
  | 'created_at'
  | 'is_of_rest'
> & { check_at: Date }

const columns = sql`
  merchant_id, id, transaction_id, amount, fee_amount, fee_returned, status, end_to_end, reason, idempotency_key, error_message, created_at,
  finished_at, suspense_payment_id, requested_at, is_of_rest`

/** Returns false when the idempotency key is taken. Of two concurrent calls the second waits for the first. */
export async function insertRefund(tx: Tx, refund: NewRefund): Promise<boolean> {
  const rows = await tx.query(sql`
    insert into refunds (
      merchant_id, id, transaction_id, amount, fee_amount, fee_returned, status, reason, idempotency_key, created_at, check_at,
      is_of_rest)
    values (
      ${refund.merchant_id}, ${refund.id}, ${refund.transaction_id}, ${refund.amount}, ${refund.fee_amount},
      ${refund.fee_returned}, 'PROCESSING', ${refund.reason}, ${refund.idempotency_key}, ${refund.created_at}, ${refund.check_at},
      ${refund.is_of_rest})
    on conflict (merchant_id, idempotency_key) do nothing
    returning id`)
  return rows.length === 1
}

/** Records a reversed attribution: complete at once, and its money is in the suspense account. */
export async function insertReversal(
  tx: Tx,
  refund: Pick<
    RefundRow,
    'merchant_id' | 'id' | 'transaction_id' | 'amount' | 'reason' | 'created_at' | 'suspense_payment_id'
  >,
): Promise<void> {
  await tx.query(sql`
    insert into refunds (
      merchant_id, id, transaction_id, amount, status, reason, created_at, finished_at, suspense_payment_id)
    values (
      ${refund.merchant_id}, ${refund.id}, ${refund.transaction_id}, ${refund.amount}, 'REFUNDED', ${refund.reason},
      ${refund.created_at}, ${refund.created_at}, ${refund.suspense_payment_id})`)
}

export async function findRefund(db: Db | Tx, merchantId: string, id: string): Promise<RefundRow | null> {
  const rows = await db.query<RefundRow>(sql`
    select ${columns} from refunds where merchant_id = ${merchantId} and id = ${id}`)
  return rows[0] ?? null
}

export async function findRefundByKey(
  db: Db | Tx,
  merchantId: string,
  idempotencyKey: string,
): Promise<RefundRow | null> {
  const rows = await db.query<RefundRow>(sql`
    select ${columns} from refunds where merchant_id = ${merchantId} and idempotency_key = ${idempotencyKey}`)
  return rows[0] ?? null
}

/** Lists all refunds of a transaction in the order of their requests. They change only under the transaction's lock. */
export async function listRefunds(
  db: Db | Tx,
  { merchant_id, id }: { merchant_id: string; id: string },
): Promise<RefundRow[]> {
  return await db.query<RefundRow>(sql`
    select ${columns} from refunds where merchant_id = ${merchant_id} and transaction_id = ${id} order by created_at`)
}

/** Whether one of a transaction's refunds took its payment back into the suspense account. */
export function isAttributionReversed(refunds: RefundRow[]): boolean {
  return refunds.some(({ suspense_payment_id: suspensePaymentId }) => suspensePaymentId !== null)
}

/**
 * Writes how a refund ended. Returns false when that is known already, or when it was requested again after the
 * request that was refused.
 */
export async function finishRefund(
  tx: Tx,
  refund: { merchant_id: string; id: string },
  end: {
    status: 'REFUNDED' | 'FAILED'
    endToEnd: string | null
    errorMessage: string | null
    /** When the refused request was made; null when the outcome is certain whatever else was requested. */
    refusedRequest: Date | null
    at: Date
  },
): Promise<boolean> {
  const rows = await tx.query(sql`
    update refunds set status = ${end.status}, end_to_end = coalesce(${end.endToEnd}, end_to_end),
      error_message = ${end.errorMessage}, finished_at = ${end.at}, check_at = null
    where merchant_id = ${refund.merchant_id} and id = ${refund.id} and status = 'PROCESSING'
      and (${end.refusedRequest}::timestamptz is null or requested_at = ${end.refusedRequest})
    returning id`)
  return rows.length === 1
}

/** Writes when a refund is checked next, and its endToEndId as soon as it is known. */
export async function updateRefundCheck(
  db: Db,
  refund: { merchant_id: string; id: string },
  { checkAt, endToEnd }: { checkAt: Date; endToEnd: string | null },
): Promise<void> {
  await db.query(sql`
    update refunds set check_at = ${checkAt}, end_to_end = coalesce(${endToEnd}, end_to_end)
    where merchant_id = ${refund.merchant_id} and id = ${refund.id} and status = 'PROCESSING'`)
}

/**
 * Writes that the acquirer is about to be asked to send a refund, or restores the former value. Returns false when
 * another process is asking.
 */
export async function updateRefundRequested(
  db: Db,
  refund: RefundRow,
  from: Date | null,
  to: Date | null,
): Promise<boolean> {
  const rows = await db.query(sql`
    update refunds set requested_at = ${to}
    where merchant_id = ${refund.merchant_id} and id = ${refund.id} and status = 'PROCESSING'
      and requested_at is not distinct from ${from}::timestamptz
    returning id`)
  return rows.length === 1
}

export async function claimDueRefunds(db: Db, claim: Claim): Promise<RefundRow[]> {
  return await claimDueRows<RefundRow>(db, { ...toCheck, columns }, claim)
}

const toCheck = { table: sql`refunds`, dueAt: sql`check_at` }

export async function isRefundDue(db: Db, now: Date): Promise<boolean> {
  return await isAnyDue(db, toCheck, { now, name: 'is-refund-due' })
}
