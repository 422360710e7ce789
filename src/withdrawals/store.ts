import type { PayoutKey } from '../acquirers/acquirer.ts'
import { type Db, type Reads, sql, type Tx } from '../db/sql.ts'
import { type Claim, claimDueRows, isAnyDue } from '../jobs/claim.ts'
import type { AccountHolder } from '../pix/holder.ts'
import { fromTxid, toTxid } from '../pix/ids.ts'
import type { PixKeyType } from '../pix/key.ts'
import type { ReviewReason, WithdrawalStatus } from './status.ts'

/** The fields set at creation that never change. */
type CreatedFields = {
  id: string
  merchant_id: string
  acquirer: string
  amount: number
  /** On top of the amount. */
  fee_amount: number
  idempotency_key: string | null
  external_code: string | null
  webhook_url: string | null
  pix_key: string
  pix_key_type: PixKeyType
  metadata: Record<string, unknown> | null
  created_at: Date
  /** The person who requested it, as the audit log names people; null: a merchant, by its token. */
  requested_by: string | null
  /** The review reason that the response to its creation contained. */
  initial_review_reason: ReviewReason | null
}

/** The fields that change with the status. */
export type Changeable = {
  statuses: WithdrawalStatus[]
  status_dates: Date[]
  amount_withdrawn: number | null
  processed_date: Date | null
  error_message: string | null
  end_to_end: string | null
  end_to_end_refund: string | null
  payer: AccountHolder | null
  receiver: AccountHolder | null
}

export type WithdrawalRow = CreatedFields &
  Changeable & {
    status: WithdrawalStatus
    review_reason: ReviewReason | null
    /**
     * When the latest repeat of the request to send it was made. If the acquirer refuses a repeat without reporting the
     * outcome of the first request, the time before it is restored.
     */
    requested_at: Date | null
    /** The ids of all parts that the receiver sent back, but the last, which is `end_to_end_refund`. */
    earlier_end_to_end_refunds: string[] | null
    /** The acquirer's own id of it, if it assigns one. It is written once. */
    acquirer_reference: string | null
    /**
     * When the database lost commits while it was PENDING, or PROCESSING without a reference: it may have been sent, and
     * its reference may be lost too. Null again once the operator has approved it.
     */
    commits_lost_at: Date | null
  }

/** The fields that an update may set. */
export type Settable = Partial<Changeable & Pick<WithdrawalRow, 'earlier_end_to_end_refunds'>>

/** It is created PENDING, and pending review if `initial_review_reason` gives a reason. */
export type NewWithdrawal = CreatedFields & { check_at: Date | null }

export const withdrawalColumns = sql`
  id, merchant_id, acquirer, amount, fee_amount, idempotency_key, external_code, webhook_url, pix_key, pix_key_type, metadata,
  created_at, requested_by, initial_review_reason, review_reason, statuses, status_dates, status, amount_withdrawn, processed_date, error_message, end_to_end,
  end_to_end_refund, earlier_end_to_end_refunds, payer, receiver, requested_at, acquirer_reference, commits_lost_at`

export async function insertWithdrawal(tx: Tx, row: NewWithdrawal): Promise<WithdrawalRow | null> {
  const metadata = row.metadata === null ? null : JSON.stringify(row.metadata)
  const rows = await tx.query<WithdrawalRow>(sql`
    insert into withdrawals (
      id, merchant_id, acquirer, amount, fee_amount, idempotency_key, external_code, webhook_url, pix_key, pix_key_type, metadata,
      created_at, requested_by, initial_review_reason, review_reason, statuses, status_dates, check_at)
    values (
      ${row.id}, ${row.merchant_id}, ${row.acquirer}, ${row.amount}, ${row.fee_amount}, ${row.idempotency_key},
      ${row.external_code}, ${row.webhook_url}, ${row.pix_key}, ${row.pix_key_type}, ${metadata}, ${row.created_at},
      ${row.requested_by}, ${row.initial_review_reason}, ${row.initial_review_reason}, array['PENDING'], array[${row.created_at}::timestamptz], ${row.check_at})
    returning ${withdrawalColumns}`)
  return rows[0] ?? null
}

export async function findWithdrawal(db: Db | Tx, merchantId: string, id: string): Promise<WithdrawalRow | null> {
  const rows = await db.query<WithdrawalRow>(sql`
    select ${withdrawalColumns} from withdrawals where id = ${id} and merchant_id = ${merchantId}`)
  return rows[0] ?? null
}

export async function findWithdrawals(
  db: Reads,
  keys: { merchantId: string; recordId: string }[],
): Promise<WithdrawalRow[]> {
  return await db.query<WithdrawalRow>(sql`
    select ${withdrawalColumns} from withdrawals
    where (id, merchant_id) in (
      select "recordId", "merchantId"
      from json_to_recordset(${JSON.stringify(keys)}::json) as input ("recordId" uuid, "merchantId" uuid))`)
}

export async function findWithdrawalByKey(
  db: Db | Tx,
  merchantId: string,
  idempotencyKey: string,
): Promise<WithdrawalRow | null> {
  const rows = await db.query<WithdrawalRow>(sql`
    select ${withdrawalColumns} from withdrawals where merchant_id = ${merchantId} and idempotency_key = ${idempotencyKey}`)
  return rows[0] ?? null
}

/** The owner of a withdrawal of which only the id is known: from a callback, or from an operator. */
export async function findOwner(db: Db | Tx, id: string): Promise<{ id: string; merchant_id: string } | null> {
  const rows = await db.query<{ id: string; merchant_id: string }>(sql`
    select id, merchant_id from withdrawals where id = ${id}`)
  return rows[0] ?? null
}

export async function lockWithdrawal(tx: Tx, merchantId: string, id: string): Promise<WithdrawalRow | null> {
  const rows = await tx.query<WithdrawalRow>(sql`
    select ${withdrawalColumns} from withdrawals where id = ${id} and merchant_id = ${merchantId} for no key update`)
  return rows[0] ?? null
}

/** Writes a new status and the fields that change with it, and ends a review. The row must be locked and current. */
export async function updateWithdrawal(
  tx: Tx,
  row: WithdrawalRow,
  change: { to: WithdrawalStatus; at: Date; checkAt: Date | null; set: Settable },
): Promise<WithdrawalRow | null> {
  const next = { ...row, ...change.set }
  const rows = await tx.query<WithdrawalRow>(sql`
    update withdrawals set
      statuses = statuses || ${change.to}::text, status_dates = status_dates || ${change.at}::timestamptz, review_reason = null,
      amount_withdrawn = ${next.amount_withdrawn}, processed_date = ${next.processed_date}, error_message = ${next.error_message},
      end_to_end = ${next.end_to_end}, end_to_end_refund = ${next.end_to_end_refund},
      earlier_end_to_end_refunds = ${next.earlier_end_to_end_refunds}, payer = ${next.payer}, receiver = ${next.receiver}, check_at = ${change.checkAt}
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = ${row.status}
    returning ${withdrawalColumns}`)
  return rows[0] ?? null
}

/** Records that more of a locked REFUNDED withdrawal was returned. */
export async function updateReturned(
  tx: Tx,
  row: WithdrawalRow,
  { checkAt, set }: { checkAt: Date | null; set: Settable },
): Promise<WithdrawalRow | null> {
  const next = { ...row, ...set }
  const rows = await tx.query<WithdrawalRow>(sql`
    update withdrawals set
      end_to_end_refund = ${next.end_to_end_refund}, earlier_end_to_end_refunds = ${next.earlier_end_to_end_refunds},
      error_message = ${next.error_message}, check_at = ${checkAt}
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = 'REFUNDED'
    returning ${withdrawalColumns}`)
  return rows[0] ?? null
}

/** The amount of a locked withdrawal that is recorded as returned. */
export async function sumReturned(tx: Tx, row: WithdrawalRow): Promise<number> {
  const rows = await tx.query<{ sum: number }>(sql`
    select coalesce(sum(amount), 0) as sum from ledger_transfers
    where merchant_id = ${row.merchant_id} and record_id = ${row.id} and kind = 'withdrawal_returned'`)
  return rows[0]?.sum ?? 0
}

/** Ends the review of a locked PENDING withdrawal (null), or gives it another reason. */
export async function updateReview(
  tx: Tx,
  row: WithdrawalRow,
  change: { reviewReason: ReviewReason | null; checkAt: Date | null },
): Promise<WithdrawalRow | null> {
  const rows = await tx.query<WithdrawalRow>(sql`
    update withdrawals set review_reason = ${change.reviewReason}, check_at = ${change.checkAt}, commits_lost_at = null
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = 'PENDING'
    returning ${withdrawalColumns}`)
  return rows[0] ?? null
}

/**
 * After a loss of commits: PENDING withdrawals may have been sent, and not every acquirer finds a payout by our id. All
 * of them wait for the operator's decision. A PROCESSING one without a reference may have been sent under one that was
 * lost.
 */
export async function reviewAfterLostCommits(tx: Tx, now: Date): Promise<void> {
  await tx.query(sql`
    update withdrawals set review_reason = 'approval', check_at = null, commits_lost_at = ${now} where status = 'PENDING'`)
  await tx.query(sql`
    update withdrawals set commits_lost_at = ${now} where status = 'PROCESSING' and acquirer_reference is null`)
}

/** Does nothing if the status has changed meanwhile: the next check is then scheduled by that change. */
export async function updateCheckAt(
  db: Db,
  row: Pick<WithdrawalRow, 'id' | 'merchant_id' | 'status'>,
  checkAt: Date | null,
): Promise<void> {
  await db.query(sql`
    update withdrawals set check_at = ${checkAt}
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = ${row.status} and check_at is not null`)
}

/**
 * Records that the request to send it is about to be repeated, or restores the former time. Returns false when another
 * process repeats it.
 */
export async function updateRequested(
  db: Db,
  row: WithdrawalRow,
  from: Date | null,
  to: Date | null,
): Promise<boolean> {
  const rows = await db.query(sql`
    update withdrawals set requested_at = ${to}
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = 'PROCESSING'
      and requested_at is not distinct from ${from}::timestamptz
    returning id`)
  return rows.length === 1
}

/**
 * Writes the acquirer's id of a PROCESSING withdrawal, unless it has one already; returns the stored id. Null: the
 * status has changed meanwhile.
 */
export async function insertReference(db: Db, row: WithdrawalRow, reference: string): Promise<string | null> {
  const rows = await db.query<{ acquirer_reference: string }>(sql`
    update withdrawals set acquirer_reference = coalesce(acquirer_reference, ${reference})
    where id = ${row.id} and merchant_id = ${row.merchant_id} and status = 'PROCESSING'
    returning acquirer_reference`)
  return rows[0]?.acquirer_reference ?? null
}

/** The ids by which the acquirer knows one of our payouts. */
export async function findPayoutKey(db: Db | Tx, payoutId: string): Promise<PayoutKey> {
  const rows = await db.query<{ acquirer_reference: string | null }>(sql`
    select acquirer_reference from withdrawals where id = ${fromTxid(payoutId)}`)
  return { payoutId, reference: rows[0]?.acquirer_reference ?? null }
}

/** Our ids of payouts that an acquirer identifies by its own ids. */
export async function findPayoutIds(db: Db, acquirer: string, references: string[]): Promise<Map<string, string>> {
  const rows = await db.query<{ id: string; acquirer_reference: string }>(sql`
    select id, acquirer_reference from withdrawals
    where acquirer = ${acquirer} and acquirer_reference = any (${references})`)
  return new Map(rows.map(({ id, acquirer_reference }) => [acquirer_reference, toTxid(id)]))
}

export async function claimDueWithdrawals(
  db: Db,
  statuses: readonly WithdrawalStatus[],
  claim: Claim,
): Promise<WithdrawalRow[]> {
  return await claimDueRows<WithdrawalRow>(db, { ...toCheck(statuses), columns: withdrawalColumns }, claim)
}

function toCheck(statuses: readonly WithdrawalStatus[]) {
  return { table: sql`withdrawals`, dueAt: sql`check_at`, isOpen: sql`status = any (${[...statuses]})` }
}

export async function isWithdrawalDue(db: Db, statuses: readonly WithdrawalStatus[], now: Date): Promise<boolean> {
  return await isAnyDue(db, toCheck(statuses), { now, name: 'is-withdrawal-due' })
}

/**
 * Whether any withdrawal was sent with this id. Needed so rarely that it has no index. Transactions with the same id wait
 * for each other: the second sees what the first has written.
 */
export async function isEndToEndKnown(tx: Tx, endToEndId: string): Promise<boolean> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${`payout ${endToEndId}`}, 0))`)
  const rows = await tx.query(sql`select from withdrawals where end_to_end = ${endToEndId} limit 1`)
  return rows.length > 0
}
