import { type Db, sql, type Tx } from '../db/sql.ts'

/** The moment up to which an acquirer's list has been read; null before the first time. */
export async function findListedUntil(db: Db, acquirer: string): Promise<Date | null> {
  const rows = await db.query<{ listed_until: Date }>(
    sql`select listed_until from acquirer_cursors where acquirer = ${acquirer}`,
    'find-listed-until',
  )
  return rows[0]?.listed_until ?? null
}

/** When an acquirer's list was first read; null before. */
export async function findFirstListedAt(db: Db, acquirer: string): Promise<Date | null> {
  const rows = await db.query<{ first_listed_at: Date }>(
    sql`select first_listed_at from acquirer_cursors where acquirer = ${acquirer}`,
  )
  return rows[0]?.first_listed_at ?? null
}

/**
 * Saves that a list which had been read up to `before` has been read up to `to`. Does nothing if the cursor has changed
 * since: the database has lost commits, and what was read meanwhile is to be read again ({@link readListsAgain}). `to`
 * may be earlier than `before`, if that was written by a machine whose clock was ahead.
 */
export async function saveListedUntil(
  db: Db,
  acquirer: string,
  { before, to }: { before: Date | null; to: Date },
): Promise<void> {
  await db.query(
    before === null
      ? sql`
        insert into acquirer_cursors (acquirer, listed_until, first_listed_at) values (${acquirer}, ${to}, ${to})
        on conflict (acquirer) do nothing`
      : sql`
        update acquirer_cursors set listed_until = ${to} where acquirer = ${acquirer} and listed_until = ${before}`,
  )
}

/**
 * Has the lists of all acquirers read again from this moment on. Every cursor changes, so a poll that is running now
 * cannot save its result. With a `returns_read_from` in the future, the list of returned payments is read again from
 * its newest part on (dispute/poll-returns.ts).
 */
export async function readListsAgain(tx: Tx, from: Date): Promise<void> {
  await tx.query(sql`
    update acquirer_cursors set
      listed_until = least(listed_until - interval '1 millisecond', ${from}::timestamptz),
      returns_read_from = greatest(returns_read_from, timestamptz '9999-01-01') + interval '1 millisecond'`)
}

/**
 * The moment down to which an acquirer's list of returned payments has been read. The list is read in parts, the newest
 * first: null or in the future before the first part, and null after the last one.
 */
export async function findReturnsReadFrom(db: Db, acquirer: string): Promise<Date | null> {
  const rows = await db.query<{ from: Date | null }>(sql`
    select returns_read_from as from from acquirer_cursors where acquirer = ${acquirer}`)
  return rows[0]?.from ?? null
}

/**
 * Does nothing if the cursor is no longer `before`, as {@link saveListedUntil}. An acquirer whose payments were never
 * read has no row, and no recorded payment of it could be returned.
 */
export async function saveReturnsReadFrom(
  db: Db,
  acquirer: string,
  { before, from }: { before: Date | null; from: Date | null },
): Promise<void> {
  await db.query(sql`
    update acquirer_cursors set returns_read_from = ${from}
    where acquirer = ${acquirer} and returns_read_from is not distinct from ${before}::timestamptz`)
}
