import { type Db, type Sql, sql, type Tx } from '../db/sql.ts'

/** A table whose rows are work that becomes due. */
export type Queue = {
  table: Sql
  /** The column that says when a row is due. */
  dueAt: Sql
  /** The rows that wait for work; without it, all of them. */
  isOpen?: Sql
  /** What a claim returns of a row. */
  columns: Sql
}

/** `leaseUntil`: until then no other process gets what was claimed. */
export type Claim = { now: Date; leaseUntil: Date; limit: number }

/**
 * Claims due rows, oldest first, and leases them to the caller by changing the column that says when they are due: if
 * the process dies, they are due again when the lease ends. It suits work that takes seconds. A job may take hours, so
 * it is leased to an instance instead (`claimJobs` in store.ts).
 */
export async function claimDueRows<Row extends object>(
  db: Db,
  queue: Queue,
  { now, leaseUntil, limit }: Claim,
): Promise<Row[]> {
  return await claimRows(db, queue, { now, limit, lease: sql`${queue.dueAt} = ${leaseUntil}` })
}

/**
 * Whether a claim would find any row. Nearly always there is none, and a job that finds none costs three commits.
 * Without the order PostgreSQL would search the whole table for one: it expects to find a third of the rows due.
 */
export async function isAnyDue(
  db: Db | Tx,
  { table, dueAt, isOpen }: Omit<Queue, 'columns'>,
  { now, name }: { now: Date; name: string },
): Promise<boolean> {
  const due = await db.query(
    sql`select from ${table} where ${dueAt} <= ${now} and ${isOpen ?? sql`true`} order by ${dueAt} limit 1`,
    name,
  )
  return due.length > 0
}

/**
 * Claims due rows with any lease: an assignment after which no claim finds them. Concurrent claims skip each other's
 * rows. The rows are chosen once, by their physical place (ctid): with a join the planner could search the whole table
 * for them, or choose again for each row, beyond the limit. A row that changes at that very moment is left for the next
 * claim.
 */
export async function claimRows<Row extends object>(
  db: Db,
  { table, dueAt, isOpen, columns }: Queue,
  { now, limit, lease }: { now: Date | Sql; limit: number; lease: Sql },
  name?: string,
): Promise<Row[]> {
  return await db.query<Row>(
    sql`
      update ${table} set ${lease}
      where ctid = any (array(
        select ctid from ${table} where ${dueAt} <= ${now} and ${isOpen ?? sql`true`}
        order by ${dueAt} limit ${limit} for no key update skip locked))
      returning ${columns}`,
    name,
  )
}
