import { type Db, sql } from '../db/sql.ts'

/** The Central Bank gives banks seven days to decide a dispute. Used when the acquirer gives no deadline. */
const analysis = sql`interval '7 days'`

type Counts = { open: number; accepted: number; unknown: number; unattributed: number }

/**
 * unknown: open disputes whose status we cannot interpret; unattributed: disputes of payments that belong to no
 * transaction.
 */
export async function countDisputes(db: Db): Promise<Counts> {
  const [counts] = await db.query<Counts>(sql`
    select count(*) filter (where state = 'open') as open, count(*) filter (where state = 'accepted') as accepted,
      count(*) filter (where acquirer_state = 'unknown') as unknown,
      (select count(*) from unattributed_disputes where acquirer_state in ('open', 'accepted', 'unknown')) as unattributed
    from infractions where state in ('open', 'accepted')`)
  return counts ?? { open: 0, accepted: 0, unknown: 0, unattributed: 0 }
}

export async function sumBlocked(db: Db): Promise<number> {
  const [row] = await db.query<{ blocked: number }>(sql`
    select coalesce(sum(blocked_amount), 0)::bigint as blocked from infractions where state in ('open', 'accepted')`)
  return row?.blocked ?? 0
}

export async function findNextDeadline(db: Db): Promise<number | null> {
  const [row] = await db.query<{ deadline: Date | null }>(sql`
    select min(coalesce(deadline_at, opened_at + ${analysis})) as deadline from infractions where state = 'open'`)
  return row?.deadline ? row.deadline.getTime() / 1000 : null
}

export async function sumDebts(db: Db): Promise<number> {
  const [row] = await db.query<{ debt: number }>(sql`
    select coalesce(-sum(balance), 0)::bigint as debt from ledger_accounts where account = 'debt'`)
  return row?.debt ?? 0
}
