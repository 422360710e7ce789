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

export async function saveListedUntil(db: Db, acquirer: string, listedUntil: Date): Promise<void> {
  await db.query(sql`
    insert into acquirer_cursors (acquirer, listed_until, first_listed_at) values (${acquirer}, ${listedUntil}, ${listedUntil})
    on conflict (acquirer) do update set listed_until = greatest(acquirer_cursors.listed_until, excluded.listed_until)`)
}

/** Has the lists of all acquirers read again from this moment on. */
export async function readListsAgain(tx: Tx, from: Date): Promise<void> {
  await tx.query(sql`
    update acquirer_cursors set listed_until = least(listed_until, ${from}::timestamptz), returns_read_from = null`)
}

/** The moment down to which an acquirer's list of returned payments has been read; null before the first part. */
export async function findReturnsReadFrom(db: Db, acquirer: string): Promise<Date | null> {
  const rows = await db.query<{ from: Date | null }>(sql`
    select returns_read_from as from from acquirer_cursors where acquirer = ${acquirer}`)
  return rows[0]?.from ?? null
}

/** An acquirer whose payments were never read has no row, and no recorded payment of it could be returned. */
export async function saveReturnsReadFrom(db: Db, acquirer: string, from: Date | null): Promise<void> {
  await db.query(sql`update acquirer_cursors set returns_read_from = ${from} where acquirer = ${acquirer}`)
}
