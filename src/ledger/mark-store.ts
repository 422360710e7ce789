import { type Db, empty, type Reads, type Sql, sql, type Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'

/** The only row of a table whose counter grows in each second in which something is written. */
export type MarkRow = { database_id: string; counter: number; marked_at: Date }

export async function findMark(db: Db | Tx): Promise<MarkRow> {
  return await find(db, empty)
}

export async function lockMark(tx: Tx): Promise<MarkRow> {
  return await find(tx, sql`for update`)
}

async function find(db: Db | Tx, lock: Sql): Promise<MarkRow> {
  const [row] = await db.query<MarkRow>(sql`select database_id, counter, marked_at from database_mark ${lock}`)
  assert(row, 'the table database_mark has its row')
  return row
}

export async function saveCounter(tx: Tx, counter: number): Promise<void> {
  await tx.query(sql`update database_mark set counter = ${counter}`)
}

/**
 * The counter grows only if another transaction has written since: an idle database writes nothing. It is read by a
 * separate statement, after the commit: no value is known that could still be rolled back.
 */
export async function advanceMark(db: Db, now: Date): Promise<MarkRow> {
  await db.query(sql`
    update database_mark set counter = counter + 1, xid = pg_current_xact_id()::text::bigint, marked_at = ${now}
    where pg_snapshot_xmax(pg_current_snapshot())::text::bigint <> xid + 1`)
  return await findMark(db)
}

/** How far the log of a server reaches: what the primary has on disk, or what a standby has replayed. */
export type Position = {
  is_standby: boolean
  lsn: number
  counter: number
  /** Identifies the running server. */
  started_at: string
  database_id: string
}

export async function findPosition(db: Pick<Reads, 'query'>): Promise<Position> {
  const [row] = await db.query<Position>(
    sql`
      select pg_is_in_recovery() as is_standby, counter, database_id,
        extract(epoch from pg_postmaster_start_time())::text as started_at,
        coalesce(pg_wal_lsn_diff(
          case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end, '0/0'), 0) as lsn
      from database_mark`,
    'find-position',
  )
  assert(row, 'the table database_mark has its row')
  return row
}

/** The number that a PostgreSQL gets when it is made. Its standbys and copies have the same. */
export async function findSystem(db: Db): Promise<string> {
  const [row] = await db.query<{ system: string }>(
    sql`select system_identifier::text as system from pg_control_system()`,
  )
  assert(row, 'a server has a number')
  return row.system
}
