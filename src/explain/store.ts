import { type Db, type Sql, sql } from '../db/sql.ts'
import type { Account, RecordType, TransferKind } from '../ledger/accounts.ts'
import { transfersByAccountType } from '../ledger/record-filter-store.ts'
import type { SuspenseStatus } from '../suspense/status.ts'
import type { TransactionStatus } from '../transactions/status.ts'
import type { WithdrawalStatus } from '../withdrawals/status.ts'

/** The fields of both kinds of records. Nothing that identifies the payer, the customer or the receiver is read. */
type CommonRow = {
  id: string
  merchant_id: string
  client_id: string
  client_name: string
  acquirer: string
  /** Other acquirers that were asked for the charge. */
  other_acquirers: string[]
  amount: number
  fee_amount: number | null
  external_code: string | null
  webhook_url: string | null
  created_at: Date
  status_dates: Date[]
  error_message: string | null
  end_to_end: string | null
  /** When the service checks it next. */
  check_at: Date | null
}

export type TransactionRecord = CommonRow & {
  type: 'transaction'
  status: TransactionStatus
  statuses: TransactionStatus[]
  amount_paid: number | null
  /** Returned other than by our refunds: under MED, or by the bank itself. */
  amount_returned: number
  payment_date: Date | null
  pix_expires_at: Date | null
}

export type WithdrawalRecord = CommonRow & {
  type: 'withdrawal'
  status: WithdrawalStatus
  statuses: WithdrawalStatus[]
  pix_key_type: string
  review_reason: 'approval' | 'duplicate' | null
  initial_review_reason: 'approval' | 'duplicate' | null
  commits_lost_at: Date | null
  processed_date: Date | null
}

export async function findTransactionRecord(db: Db, id: string): Promise<TransactionRecord | null> {
  const rows = await db.query<TransactionRecord>(sql`
    select 'transaction' as type, ${commonColumns}, other_acquirers, amount_paid, amount_returned, payment_date, pix_expires_at
    from transactions record join clients using (merchant_id) where record.id = ${id}`)
  return rows[0] ?? null
}

export async function findWithdrawalRecord(db: Db, id: string): Promise<WithdrawalRecord | null> {
  const rows = await db.query<WithdrawalRecord>(sql`
    select 'withdrawal' as type, ${commonColumns}, '{}'::text[] as other_acquirers, pix_key_type, review_reason, initial_review_reason, commits_lost_at,
      processed_date
    from withdrawals record join clients using (merchant_id) where record.id = ${id}`)
  return rows[0] ?? null
}

const commonColumns: Sql = sql`
  record.id, merchant_id, client_id, clients.name as client_name, acquirer, amount, fee_amount, external_code, webhook_url,
  record.created_at, statuses, status_dates, status, error_message, end_to_end, check_at`

type Key = { merchantId: string; id: string }

export type RefundRecord = {
  id: string
  amount: number
  status: 'PROCESSING' | 'REFUNDED' | 'FAILED'
  error_message: string | null
  created_at: Date
  finished_at: Date | null
  check_at: Date | null
  /** For a reversed attribution: the payment in suspense that has the money now. */
  suspense_payment_id: string | null
}

export async function listRefundRecords(db: Db, { merchantId, id }: Key): Promise<RefundRecord[]> {
  return await db.query(sql`
    select id, amount, status, error_message, created_at, finished_at, check_at, suspense_payment_id from refunds
    where merchant_id = ${merchantId} and transaction_id = ${id} order by created_at, id`)
}

export type DisputeRecord = {
  id: string
  amount: number
  /** The amount that was returned to the payer after this dispute. */
  returned_amount: number
  state: 'open' | 'accepted' | 'returned' | 'rejected' | 'canceled'
  opened_at: Date
  decided_at: Date | null
  finished_at: Date | null
}

export async function listDisputeRecords(db: Db, { merchantId, id }: Key): Promise<DisputeRecord[]> {
  return await db.query(sql`
    select id, amount, returned_amount, state, opened_at, decided_at, finished_at from disputes
    where merchant_id = ${merchantId} and transaction_id = ${id} order by opened_at, id`)
}

export type TransferRecord = {
  kind: TransferKind
  debit: Account
  credit: Account
  amount: number
  event_key: string
  record_type: RecordType
  created_at: Date
}

export async function listTransferRecords(
  db: Db,
  { merchantId, recordIds }: { merchantId: string; recordIds: string[] },
): Promise<TransferRecord[]> {
  return await db.query(sql`
    select kind, debit, credit, amount, event_key, record_type, created_at from ${transfersByAccountType}
    where merchant_id = ${merchantId} and record_id = any(${recordIds}::uuid[]) order by id`)
}

export type DuplicateRecord = {
  acquirer: string
  end_to_end: string
  amount: number
  status: SuspenseStatus
  error_message: string | null
}

/** The confirmed corrections of discrepancies about these records: their transfers and actions name the discrepancy. */
export async function listCorrections(
  db: Db,
  { merchantId, recordIds }: { merchantId: string; recordIds: string[] },
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(sql`
    select id from differences
    where merchant_id = ${merchantId} and record_id = any(${recordIds}::uuid[]) and state = 'confirmed'
      and proposal ->> 'action' = 'correct'`)
  return rows.map(({ id }) => id)
}

/** Duplicate payments of a transaction. */
export async function listDuplicateRecords(db: Db, id: string): Promise<DuplicateRecord[]> {
  return await db.query(sql`
    select acquirer, end_to_end, amount, status, error_message from suspense_payments
    where transaction_id = ${id} order by paid_at, end_to_end`)
}

/** The payments in suspense that concern a transaction: its duplicates, and the one attributed to it. */
export async function listSuspense(db: Db, id: string): Promise<{ id: string; is_duplicate: boolean }[]> {
  return await db.query(sql`
    select id, transaction_id is not distinct from ${id} as is_duplicate from suspense_payments
    where transaction_id = ${id} or attributed_transaction_id = ${id}`)
}

export type NoticeRecord = {
  acquirer: string
  end_to_end: string
  state: 'received' | 'settled' | 'unconfirmed' | 'unmatched'
  received_at: Date
  finished_at: Date | null
}

/**
 * Callbacks that named the record by its txid. It reads the table without an index: an index would slow down every
 * payment, and only people run this query, rarely.
 */
export async function listNoticeRecords(
  db: Db,
  { acquirers, txid, since }: { acquirers: string[]; txid: string; since: Date },
): Promise<NoticeRecord[]> {
  return await db.query(sql`
    select acquirer, end_to_end, state, received_at, finished_at from callback_inbox
    where acquirer = any(${acquirers}) and lower(txid) = ${txid} and received_at >= ${since}::timestamptz - interval '1 hour'
    order by received_at, event_key`)
}

/** Which of these actors, as the audit log names them, are the merchant's own users. */
export async function listMerchantActors(
  db: Db,
  { merchantId, actors }: { merchantId: string; actors: string[] },
): Promise<string[]> {
  if (actors.length === 0) return []
  const rows = await db.query<{ actor: string }>(sql`
    select 'user:' || email as actor from users
    where merchant_id = ${merchantId} and 'user:' || email = any (${actors})`)
  return rows.map((row) => row.actor)
}
