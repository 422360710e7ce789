import type { DisputeFound } from '../acquirers/acquirer.ts'
import { type Db, empty, sql, type Tx } from '../db/sql.ts'
import { cents } from '../lib/money.ts'

/** The dispute of a payment that belongs to no transaction: it is in suspense, or unknown to us. */
export type UnattributedDispute = {
  acquirer: string
  reference: string
  end_to_end: string
  amount: number
  reason: string | null
  acquirer_status: string | null
  acquirer_state: DisputeFound['state']
  opened_at: Date
  deadline_at: Date | null
}

const columns = sql`
  acquirer, reference, end_to_end, amount, reason, acquirer_status, acquirer_state, opened_at, deadline_at`

/** An accepted dispute has not ended: the money is returned later. */
const isOpenDispute = sql`acquirer_state in ('open', 'accepted', 'unknown')`

/**
 * Stores what an acquirer reports about such a dispute. True if the dispute, its amount, its status, our reading of the
 * status or its deadline is new.
 */
export async function saveUnattributedDispute(
  db: Db | Tx,
  { acquirer, found, now }: { acquirer: string; found: DisputeFound; now: Date },
): Promise<boolean> {
  const rows = await db.query(sql`
    insert into unattributed_disputes (${columns}, changed_at)
    values (
      ${acquirer}, ${found.reference}, ${found.endToEndId}, ${found.amount}, ${found.reason}, ${found.status}, ${found.state},
      ${found.openedAt}, ${found.deadline}, ${now})
    on conflict (acquirer, reference) do update set amount = excluded.amount, reason = excluded.reason,
      acquirer_status = excluded.acquirer_status, acquirer_state = excluded.acquirer_state, opened_at = excluded.opened_at,
      deadline_at = excluded.deadline_at, changed_at = excluded.changed_at
    where (
        unattributed_disputes.amount, unattributed_disputes.acquirer_status, unattributed_disputes.acquirer_state,
        unattributed_disputes.deadline_at)
      is distinct from (excluded.amount, excluded.acquirer_status, excluded.acquirer_state, excluded.deadline_at)
    returning reference`)
  return rows.length === 1
}

/** Removes and returns the disputes of a payment: they belong to its transaction from this commit on. */
export async function takeDisputesOf(
  tx: Tx,
  { acquirer, endToEndId }: { acquirer: string; endToEndId: string },
): Promise<DisputeFound[]> {
  const rows = await tx.query<UnattributedDispute>(sql`
    delete from unattributed_disputes where acquirer = ${acquirer} and end_to_end = ${endToEndId} returning ${columns}`)
  return rows
    .toSorted((a, b) => a.opened_at.getTime() - b.opened_at.getTime())
    .map((row) => ({
      reference: row.reference,
      endToEndId: row.end_to_end,
      amount: cents(row.amount),
      reason: row.reason,
      state: row.acquirer_state,
      status: row.acquirer_status,
      openedAt: row.opened_at,
      deadline: row.deadline_at,
    }))
}

/** The disputes of a payment in suspense, the oldest first. */
export async function listDisputesOf(
  db: Db | Tx,
  { acquirer, endToEndId }: { acquirer: string; endToEndId: string },
): Promise<UnattributedDispute[]> {
  return await db.query<UnattributedDispute>(sql`
    select ${columns} from unattributed_disputes
    where acquirer = ${acquirer} and end_to_end = ${endToEndId} order by opened_at, reference`)
}

/** A dispute as shown to the operator with its payment. */
export function toDisputeView(dispute: UnattributedDispute) {
  return {
    reference: dispute.reference,
    amount: dispute.amount,
    reason: dispute.reason,
    state: dispute.acquirer_state,
    status: dispute.acquirer_status,
    openedAt: dispute.opened_at.toISOString(),
    deadline: dispute.deadline_at?.toISOString() ?? null,
  }
}

/** The disputes that have not ended, of payments that belong to no transaction, the oldest first. */
export async function listUnattributedDisputes(
  db: Db,
  { openedFrom, openedBefore, limit }: { openedFrom: Date | undefined; openedBefore: Date | undefined; limit: number },
): Promise<(UnattributedDispute & { suspense_id: string | null })[]> {
  return await db.query(sql`
    select ${columns}, (
      select id from suspense_payments s where s.acquirer = unattributed_disputes.acquirer and s.end_to_end = unattributed_disputes.end_to_end
    ) as suspense_id
    from unattributed_disputes
    where ${isOpenDispute}
      ${openedFrom === undefined ? empty : sql`and opened_at >= ${openedFrom}`}
      ${openedBefore === undefined ? empty : sql`and opened_at < ${openedBefore}`}
    order by opened_at, reference limit ${limit}`)
}

/** Whether a dispute of a payment in suspense has not ended: until then the payment cannot be sent back. */
export async function isDisputed(db: Db | Tx, payment: { acquirer: string; end_to_end: string }): Promise<boolean> {
  const rows = await db.query(sql`
    select from unattributed_disputes
    where acquirer = ${payment.acquirer} and end_to_end = ${payment.end_to_end} and ${isOpenDispute} limit 1`)
  return rows.length === 1
}

/** Finds a stored dispute by its reference. */
export async function findUnattributedDispute(
  db: Db,
  { acquirer, reference }: { acquirer: string; reference: string },
): Promise<UnattributedDispute | null> {
  const [row] = await db.query<UnattributedDispute>(sql`
    select ${columns} from unattributed_disputes where acquirer = ${acquirer} and reference = ${reference}`)
  return row ?? null
}

/** When the oldest dispute of an acquirer that has not ended was opened. */
export async function findOldestUnattributed(db: Db, acquirer: string): Promise<Date | null> {
  const [row] = await db.query<{ opened_at: Date | null }>(
    sql`select min(opened_at) as opened_at from unattributed_disputes where acquirer = ${acquirer} and ${isOpenDispute}`,
    'find-oldest-unattributed',
  )
  return row?.opened_at ?? null
}
