import { type Db, empty, sql, type Tx } from '../db/sql.ts'

export type InfractionState = 'open' | 'accepted' | 'returned' | 'rejected' | 'canceled'

export type InfractionRow = {
  merchant_id: string
  id: string
  transaction_id: string
  acquirer_reference: string | null
  /** What is contested; once returned, what was returned. */
  amount: number
  reason: string | null
  state: InfractionState
  opened_at: Date
  decided_at: Date | null
  finished_at: Date | null
}

const columns = sql`
  merchant_id, id, transaction_id, acquirer_reference, amount, reason, state, opened_at, decided_at, finished_at`

export async function insertInfraction(tx: Tx, row: Omit<InfractionRow, 'decided_at'>): Promise<void> {
  await tx.query(sql`
    insert into infractions (
      merchant_id, id, transaction_id, acquirer_reference, amount, reason, state, opened_at, finished_at)
    values (
      ${row.merchant_id}, ${row.id}, ${row.transaction_id}, ${row.acquirer_reference}, ${row.amount}, ${row.reason}, ${row.state},
      ${row.opened_at}, ${row.finished_at})`)
}

/** All contests of a transaction, the oldest first. They change under the transaction's lock only. */
export async function listInfractions(
  db: Db | Tx,
  { merchant_id, id }: { merchant_id: string; id: string },
): Promise<InfractionRow[]> {
  return await db.query<InfractionRow>(sql`
    select ${columns} from infractions where merchant_id = ${merchant_id} and transaction_id = ${id} order by opened_at, id`)
}

export async function updateInfraction(tx: Tx, row: InfractionRow): Promise<void> {
  await tx.query(sql`
    update infractions set acquirer_reference = ${row.acquirer_reference}, amount = ${row.amount}, state = ${row.state},
      decided_at = ${row.decided_at}, finished_at = ${row.finished_at}
    where merchant_id = ${row.merchant_id} and id = ${row.id}`)
}

/** A contest as it stands among others, with whose it is and what of it is blocked by the books. */
export type ListedInfraction = Omit<InfractionRow, 'merchant_id'> & {
  client_id: string
  client_name: string
  blocked: number
}

/** Contests of one merchant or of all: those that are to be decided or returned, the oldest first; or those that have ended, the last first. */
export async function listContests(
  db: Db,
  { merchantId, isOpen, limit, offset }: { merchantId: string | null; isOpen: boolean; limit: number; offset: number },
): Promise<{ total: number; items: ListedInfraction[] }> {
  const state = isOpen ? sql`state in ('open', 'accepted')` : sql`finished_at is not null`
  const matching = sql`infractions where ${state} ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}`
  const order = isOpen ? sql`opened_at, id` : sql`finished_at desc, id`
  const rows = await db.query<ListedInfraction & { total: number }>(sql`
    select (select count(*) from ${matching}) as total, id, transaction_id, acquirer_reference, amount, reason, state, opened_at,
      decided_at, finished_at, client_id, name as client_name, coalesce(booked.blocked, 0) as blocked
    from (select * from ${matching} order by ${order} limit ${limit} offset ${offset}) contests
    join clients using (merchant_id)
    left join lateral (
      select sum(case when credit = 'blocked' then amount when debit = 'blocked' then -amount else 0 end)::bigint as blocked
      from ledger_transfers where merchant_id = contests.merchant_id and record_id = contests.id
    ) booked on true
    order by ${order}`)
  return { total: rows[0]?.total ?? 0, items: rows }
}
