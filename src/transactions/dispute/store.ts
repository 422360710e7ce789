import { type Db, empty, sql, type Tx } from '../../db/sql.ts'
import { newUuid } from '../../lib/secrets.ts'
import type { LockedTransaction } from '../store.ts'

export const disputeStates = ['open', 'accepted', 'returned', 'rejected', 'canceled'] as const

export type DisputeState = (typeof disputeStates)[number]

export type DisputeRow = {
  merchant_id: string
  id: string
  transaction_id: string
  /** The acquirer that received the payment. */
  acquirer: string
  acquirer_reference: string | null
  /** Who reported the dispute; `return`: nobody, the payment showed a return under MED. */
  source: 'acquirer' | 'operator' | 'return'
  /** The acquirer's last status of the dispute, in its own word. */
  acquirer_status: string | null
  /** The same status as we interpret it. */
  acquirer_state: DisputeState | 'unknown' | null
  deadline_at: Date | null
  /** The disputed amount. */
  amount: number
  /** The amount blocked for it now. */
  blocked_amount: number
  /** The amount returned under it. */
  returned_amount: number
  /** The number of its postings. */
  postings: number
  reason: string | null
  state: DisputeState
  opened_at: Date
  decided_at: Date | null
  finished_at: Date | null
}

export const disputeColumns = sql`
  merchant_id, id, transaction_id, acquirer, acquirer_reference, source, acquirer_status, acquirer_state, deadline_at, amount,
  blocked_amount, returned_amount, postings, reason, state, opened_at, decided_at, finished_at`

export async function insertDispute(tx: Tx, row: DisputeRow): Promise<void> {
  await tx.query(sql`
    insert into disputes (${disputeColumns})
    values (
      ${row.merchant_id}, ${row.id}, ${row.transaction_id}, ${row.acquirer}, ${row.acquirer_reference}, ${row.source},
      ${row.acquirer_status}, ${row.acquirer_state}, ${row.deadline_at}, ${row.amount}, ${row.blocked_amount}, ${row.returned_amount}, ${row.postings},
      ${row.reason}, ${row.state}, ${row.opened_at}, ${row.decided_at}, ${row.finished_at})`)
}

/** A dispute with its merchant's client. */
export type DisputeOfClient = DisputeRow & { client_id: string; client_name: string }

export async function findDispute(db: Db | Tx, id: string): Promise<DisputeOfClient | null> {
  const rows = await db.query<DisputeOfClient>(sql`
    select disputes.*, client_id, name as client_name
    from (select ${disputeColumns} from disputes where id = ${id}) disputes join clients using (merchant_id)`)
  return rows[0] ?? null
}

/** Lists all disputes of a transaction, the oldest first. They change only under the transaction's lock. */
export async function listDisputesOf(
  db: Db | Tx,
  { merchant_id, id }: { merchant_id: string; id: string },
): Promise<DisputeRow[]> {
  return await db.query<DisputeRow>(sql`
    select ${disputeColumns} from disputes where merchant_id = ${merchant_id} and transaction_id = ${id} order by opened_at, id`)
}

export async function updateDispute(tx: Tx, row: DisputeRow): Promise<void> {
  await tx.query(sql`
    update disputes set acquirer_reference = ${row.acquirer_reference}, source = ${row.source},
      acquirer_status = ${row.acquirer_status}, acquirer_state = ${row.acquirer_state}, deadline_at = ${row.deadline_at},
      amount = ${row.amount}, blocked_amount = ${row.blocked_amount}, returned_amount = ${row.returned_amount},
      postings = ${row.postings}, reason = ${row.reason}, state = ${row.state}, opened_at = ${row.opened_at},
      decided_at = ${row.decided_at}, finished_at = ${row.finished_at}
    where merchant_id = ${row.merchant_id} and id = ${row.id}`)
}

/**
 * The dispute needs an answer again: a defence that was sent, or submitted by hand, before it ended becomes a draft.
 * Sending that makes a new submission, under an id of its own.
 */
export async function reopenDefence(tx: Tx, { merchant_id, id }: DisputeRow): Promise<void> {
  await tx.query(sql`update disputes set answered_at = null where merchant_id = ${merchant_id} and id = ${id}`)
  await tx.query(sql`
    update dispute_defences set state = 'draft', answered_at = null, reference = null
    where merchant_id = ${merchant_id} and dispute_id = ${id} and state in ('sending', 'sent', 'handed_in')`)
}

/**
 * Called when the attribution of a payment to a locked transaction is reversed. The references belong to the payment:
 * if one of its disputes is reopened, it is recorded at the transaction that has the payment then, and no two disputes
 * of a merchant at one acquirer may have the same reference.
 */
export async function clearReferences(tx: Tx, row: LockedTransaction): Promise<void> {
  await tx.query(sql`
    update disputes set acquirer_reference = null
    where merchant_id = ${row.merchant_id} and transaction_id = ${row.id} and acquirer_reference is not null`)
}

/** Writes when a locked transaction was last disputed, and returns the updated row. */
export async function updateDisputeDate<Row extends LockedTransaction>(tx: Tx, row: Row, date: Date): Promise<Row> {
  await tx.query(sql`
    update transactions set infraction_date = ${date} where id = ${row.id} and merchant_id = ${row.merchant_id}`)
  return { ...row, infraction_date: date }
}

/** Finds a dispute that the acquirer has reported before, by its reference: only unique at this acquirer. */
export async function findReported(
  db: Db,
  { acquirer, reference }: { acquirer: string; reference: string },
): Promise<DisputeRow | null> {
  const [row] = await db.query<DisputeRow>(sql`
    select ${disputeColumns} from disputes where acquirer = ${acquirer} and acquirer_reference = ${reference}
      and merchant_id = any(array(select distinct merchant_id from clients))`)
  return row ?? null
}

/** When the oldest dispute of an acquirer that has not ended was opened; null for none. */
export async function findOldestUndecided(db: Db, acquirer: string): Promise<Date | null> {
  const [row] = await db.query<{ opened_at: Date | null }>(
    sql`
      select min(opened_at) as opened_at from disputes
      where acquirer = ${acquirer} and state in ('open', 'accepted')`,
    'find-oldest-undecided',
  )
  return row?.opened_at ?? null
}

/** A part of a payment that was returned other than by our refunds. */
export type ReturnRow = {
  merchant_id: string
  transaction_id: string
  /** The dispute under which it was returned; null when there was none. */
  dispute_id: string | null
  reference: string
  end_to_end: string | null
  amount: number
  returned_at: Date
}

export async function listReturns(
  db: Db | Tx,
  { merchant_id, id }: { merchant_id: string; id: string },
): Promise<ReturnRow[]> {
  return await db.query<ReturnRow>(sql`
    select merchant_id, transaction_id, dispute_id, reference, end_to_end, amount, returned_at from transaction_returns
    where merchant_id = ${merchant_id} and transaction_id = ${id} order by posted_at, id`)
}

/** Writes a return of a locked transaction, and returns the updated transaction. */
export async function insertReturn<Row extends LockedTransaction>(
  tx: Tx,
  row: Row,
  one: Omit<ReturnRow, 'merchant_id' | 'transaction_id'>,
  now: Date,
): Promise<Row> {
  await tx.query(sql`
    insert into transaction_returns (
      merchant_id, id, transaction_id, dispute_id, reference, end_to_end, amount, returned_at, posted_at)
    values (
      ${row.merchant_id}, ${newUuid()}, ${row.id}, ${one.dispute_id}, ${one.reference}, ${one.end_to_end}, ${one.amount},
      ${one.returned_at}, ${now})`)
  await tx.query(sql`
    update transactions set amount_returned = amount_returned + ${one.amount}
    where id = ${row.id} and merchant_id = ${row.merchant_id}`)
  return { ...row, amount_returned: row.amount_returned + one.amount }
}

/** The Central Bank gives banks seven days to decide a dispute. Used when the acquirer gives no deadline. */
export const deadline = sql`coalesce(deadline_at, opened_at + interval '7 days')`

/**
 * Disputes that should have ended before a time and still block money, which only a person can release then: open
 * longer than any takes, or accepted while the banks no longer return the payment, which they do for 90 days.
 */
export async function countOverdueDisputes(
  db: Db,
  { before, merchantId, limit }: { before: Date; merchantId: string | null; limit: number | null },
): Promise<{ count: number; amount: number; first: Date | null }> {
  const [row] = await db.query<{ count: number; amount: number; first: Date | null }>(sql`
    select count(*) as count, coalesce(sum(blocked_amount), 0)::bigint as amount, min(due_at) as first from (
      select blocked_amount, due_at from disputes i
      cross join lateral (
        select case when i.state = 'open' then greatest(i.opened_at + interval '18 days', i.deadline_at)
          -- A return may follow a late decision.
          else greatest(t.payment_date + interval '90 days', i.decided_at + interval '1 day') end as due_at
        from transactions t where t.merchant_id = i.merchant_id and t.id = i.transaction_id
      ) due
      where i.state in ('open', 'accepted') and blocked_amount > 0 and due_at <= ${before}
        ${merchantId === null ? empty : sql`and i.merchant_id = ${merchantId}`}
      order by due_at limit ${limit}
    ) overdue`)
  return row ?? { count: 0, amount: 0, first: null }
}

type Counts = { open: number; accepted: number; unknown: number; unattributed: number }

/**
 * unknown: undecided disputes whose last status we cannot interpret; unattributed: disputes that have not ended, of
 * payments that belong to no transaction.
 */
export async function countDisputes(db: Db): Promise<Counts> {
  const [counts] = await db.query<Counts>(sql`
    select count(*) filter (where state = 'open') as open, count(*) filter (where state = 'accepted') as accepted,
      count(*) filter (where acquirer_state = 'unknown') as unknown,
      (select count(*) from unattributed_disputes where acquirer_state in ('open', 'accepted', 'unknown')) as unattributed
    from disputes where state in ('open', 'accepted')`)
  return counts ?? { open: 0, accepted: 0, unknown: 0, unattributed: 0 }
}

export async function sumBlocked(db: Db): Promise<number> {
  const [row] = await db.query<{ blocked: number }>(sql`
    select coalesce(sum(blocked_amount), 0)::bigint as blocked from disputes where state in ('open', 'accepted')`)
  return row?.blocked ?? 0
}

/**
 * One deadline for each day on which open disputes without a sent defence are due: the first of the day that is still
 * ahead, or else the last of the day.
 */
export async function listDeadlines(db: Db, now: Date): Promise<Date[]> {
  const rows = await db.query<{ deadline: Date }>(sql`
    select coalesce(min(deadline) filter (where deadline > ${now}), max(deadline)) as deadline from (
      select ${deadline} as deadline from disputes where state = 'open' and answered_at is null
    ) open
    group by (deadline at time zone 'America/Sao_Paulo')::date`)
  return rows.map(({ deadline }) => deadline)
}

export async function sumDebts(db: Db): Promise<number> {
  const [row] = await db.query<{ debt: number }>(sql`
    select coalesce(-sum(balance), 0)::bigint as debt from ledger_accounts where account = 'debt'`)
  return row?.debt ?? 0
}
