import { type Db, empty, sql } from '../db/sql.ts'
import type { PixKeyType } from '../pix/key.ts'
import { throughOperators } from './limits-store.ts'
import type { ReviewReason, WithdrawalStatus } from './status.ts'

/** A withdrawal with what the operator needs to decide on it. */
export type WithdrawalToDecide = {
  id: string
  merchant_id: string
  client_id: string
  client_name: string
  status: WithdrawalStatus
  review_reason: ReviewReason | null
  amount: number
  fee_amount: number
  pix_key: string
  created_at: Date
  pix_key_type: PixKeyType
  requested_by: string | null
  /** The current amount in cents above which the merchant's withdrawals need approval; null for none. */
  approval_above: number | null
  /** The same for withdrawals requested by the operator's staff. */
  operator_approval_above: number | null
  /** Whether the operator's staff requested it. */
  is_operators: boolean
  /** Whether they requested it, or may have: see `isThroughOperators`. */
  is_through_operators: boolean
  /** The database has lost commits since it was requested: its sending may be among them. */
  may_be_sent: boolean
  /**
   * For a suspected duplicate: the latest withdrawal before it of the same amount to the same key, preferably one that
   * was or may be sent.
   */
  earlier: { id: string; status: WithdrawalStatus; createdAt: string } | null
}

/** The latest withdrawals, newest first: of all merchants or of one, all or only those pending review. */
export async function listForOperator(
  db: Db,
  { merchantId, isPendingReview, limit }: { merchantId: string | null; isPendingReview: boolean; limit: number },
): Promise<WithdrawalToDecide[]> {
  return await db.query<WithdrawalToDecide>(sql`
    select ${columnsToDecide}
    from (
      select * from withdrawals
      where true
        ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}
        ${isPendingReview ? sql`and status = 'PENDING' and review_reason is not null` : empty}
      order by created_at desc, id desc limit ${limit}
    ) record ${withEarlier}
    order by record.created_at desc, record.id desc`)
}

/** Withdrawals pending review, those waiting longest first: of all merchants or of one. */
export async function listPendingReview(
  db: Db,
  { merchantId, limit, offset }: { merchantId: string | null; limit: number; offset: number },
): Promise<{ total: number; items: WithdrawalToDecide[] }> {
  const pendingReview = sql`withdrawals where review_reason is not null ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}`
  const [count] = await db.query<{ total: number }>(sql`select count(*) as total from ${pendingReview}`)
  const items = await db.query<WithdrawalToDecide>(sql`
    select ${columnsToDecide}
    from (select * from ${pendingReview} order by created_at, id limit ${limit} offset ${offset}) record ${withEarlier}
    order by record.created_at, record.id`)
  return { total: count?.total ?? 0, items }
}

/** Since when the oldest withdrawal pending review waits; null for none. */
export async function findPendingReviewSince(db: Db): Promise<Date | null> {
  const [row] = await db.query<{ since: Date | null }>(sql`
    select min(created_at) as since from withdrawals where review_reason is not null`)
  return row?.since ?? null
}

export async function findToDecide(db: Db, id: string): Promise<WithdrawalToDecide | null> {
  const rows = await db.query<WithdrawalToDecide>(sql`
    select ${columnsToDecide} from withdrawals record ${withEarlier} where record.id = ${id}`)
  return rows[0] ?? null
}

const columnsToDecide = sql`
  record.id, record.merchant_id, client_id, clients.name as client_name, record.status, record.review_reason, record.amount, record.fee_amount,
  record.pix_key, record.pix_key_type, record.created_at, record.requested_by, approval_above,
  case when withdrawal_limits is null then 0 else operator_approval_above end as operator_approval_above,
  exists (select from users where 'user:' || email = record.requested_by and users.merchant_id is null) as is_operators,
  ${throughOperators({
    merchantId: sql`record.merchant_id`,
    requestedBy: sql`record.requested_by`,
    at: sql`record.created_at`,
  })} as is_through_operators, record.status = 'PENDING' and record.commits_lost_at is not null as may_be_sent, alike.earlier`

/** Searches only the last 20 of the same amount and key: the duplicate check looks back a day at most. */
const withEarlier = sql`
  join clients using (merchant_id)
  left join withdrawal_limits using (merchant_id)
  left join lateral (
    select json_build_object('id', id, 'status', status, 'createdAt', created_at) as earlier
    from (
      select id, status, created_at from withdrawals
      where merchant_id = record.merchant_id and pix_key = record.pix_key and amount = record.amount and id <> record.id
        and created_at <= record.created_at
      order by created_at desc limit 20
    ) before
    order by status in ('PENDING', 'PROCESSING', 'PROCESSED') desc, created_at desc limit 1
  ) alike on record.initial_review_reason = 'duplicate'`
