import { type Db, empty, type Reads, type Sql, sql, type Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'

/**
 * The only row of `database_mark`. Its counter grows in each second in which something is written, so that a process
 * notices a server that has lost commits: its counter is lower than one that was read before.
 */
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

/** Another transaction has written since the counter grew. */
const isBehind = sql`pg_snapshot_xmax(pg_current_snapshot())::text::bigint <> xid + 1`

/**
 * Lets the counter grow if another transaction has written since: an idle database writes nothing. A separate statement
 * reads it after the commit, so that no process knows a value that could still be rolled back.
 */
export async function advanceMark(db: Db, now: Date): Promise<MarkRow> {
  const [row] = await db.query<MarkRow & { is_behind: boolean }>(
    sql`select database_id, counter, marked_at, ${isBehind} as is_behind from database_mark`,
    'find-mark',
  )
  assert(row, 'the table database_mark has its row')
  if (!row.is_behind) return row
  await db.query(
    sql`
      update database_mark set counter = counter + 1, xid = pg_current_xact_id()::text::bigint, marked_at = ${now}
      where ${isBehind}`,
    'advance-mark',
  )
  return await findMark(db)
}

/** How far the log of a server reaches: what the primary has on disk, or what a standby has replayed. */
export type Position = {
  is_standby: boolean
  lsn: number
  counter: number
  /** The number of timelines that services have written on. */
  timelines: number
  /** Identifies the running server. */
  started_at: string
  database_id: string
}

export async function findPosition(db: Pick<Reads, 'query'>): Promise<Position> {
  const [row] = await db.query<Position>(
    sql`
      select pg_is_in_recovery() as is_standby, counter, database_id,
        (select count(*) from database_timelines) as timelines,
        extract(epoch from pg_postmaster_start_time())::text as started_at,
        coalesce(pg_wal_lsn_diff(
          case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_flush_lsn() end, '0/0'), 0) as lsn
      from database_mark`,
    'find-position',
  )
  assert(row, 'the table database_mark has its row')
  return row
}

/** The system identifier of a PostgreSQL cluster, from initdb. Its standbys and physical copies have the same. */
export async function findSystem(db: Db): Promise<string> {
  const [row] = await db.query<{ system: string }>(
    sql`select system_identifier::text as system from pg_control_system()`,
  )
  assert(row, 'a server has an identifier')
  return row.system
}

/** A cluster of PostgreSQL, and which of its histories a server continues. */
export type Timeline = { system_identifier: string; timeline: number }

/** Null for a read-only standby: its timeline may change while a connection is open. */
export async function findTimeline(db: Db): Promise<Timeline | null> {
  const [row] = await db.query<{ system_identifier: string; timeline: number | null }>(sql`
    select system_identifier::text,
      case when not pg_is_in_recovery()
        then ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline
    from pg_control_system()`)
  assert(row, 'a server has an identifier')
  const { system_identifier, timeline } = row
  return timeline === null ? null : { system_identifier, timeline }
}

/**
 * Records the first transaction number of a timeline, before anything else is written on it. The row means nothing on
 * another timeline, so its commit waits for no standby: a new primary may still have none.
 */
export async function insertTimeline(db: Db, { system_identifier, timeline }: Timeline): Promise<void> {
  await db.query(sql`
    insert into database_timelines (system_identifier, timeline, first_xid)
    select ${system_identifier}, ${timeline}, pg_current_xact_id()::text::bigint
    from (select set_config('synchronous_commit', 'local', true)) local_commit
    where not exists (
      select from database_timelines where system_identifier = ${system_identifier} and timeline = ${timeline})
    on conflict do nothing`)
}

/**
 * Whether one of these transactions, which were acknowledged on the timeline `since` or before, is not committed: its
 * number is not used yet, was used without a commit, or belongs to a later timeline.
 */
export async function hasLostOne(
  db: Db,
  xids: number[],
  { since, now }: { since: Timeline; now: Timeline },
): Promise<boolean> {
  if (xids.length === 0) return false
  const [row] = await db.query<{ has_lost: boolean }>(sql`
    select coalesce(bool_or(
      case when xid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint then true
      else
        coalesce(pg_xact_status(xid::text::xid8) = 'aborted', false)
        or exists (
          select from database_timelines
          where system_identifier = ${now.system_identifier} and timeline > ${since.timeline} and first_xid <= xid)
      end), false) as has_lost
    from unnest(${xids}::bigint[]) recent (xid)`)
  return row?.has_lost === true
}

/** False if another process has reported a loss on this timeline. */
export async function claimLoss(tx: Tx, { system_identifier, timeline }: Timeline, now: Date): Promise<boolean> {
  const rows = await tx.query(sql`
    update database_timelines set loss_found_at = ${now}
    where system_identifier = ${system_identifier} and timeline = ${timeline} and loss_found_at is null
    returning timeline`)
  return rows.length === 1
}
