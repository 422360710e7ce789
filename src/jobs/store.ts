import { rowsParam } from '../db/rows-param.ts'
import { type Db, type Sql, sql, type Tx } from '../db/sql.ts'
import { claimRows } from './claim.ts'

/** Notified when jobs were inserted, when those of a dead instance were released, and when an instance began. */
export const jobsChannel = 'jobs'

export type JobRow = { name: string; payload: object; key?: string; runAt?: Date }

const jobsParam = rowsParam<JobRow>({ name: 'text', payload: 'json', key: 'text', runAt: 'timestamptz' })

/** Inserts jobs and notifies the runners. One whose key exists already is dropped. */
export async function insertJobs(db: Db | Tx, jobs: JobRow[], attemptsMax: number): Promise<void> {
  await insert(db, { jobs, attemptsMax, onConflict: sql`do nothing` })
}

/**
 * The same for one job, except that a waiting job of the same key is replaced. A job of that key that already runs may
 * have read older data: it loses its key, and this one runs as well.
 */
export async function insertOrReplaceJob(db: Db | Tx, job: JobRow, attemptsMax: number): Promise<void> {
  // A loop: between the two statements the waiting job may be claimed, or the running one may end.
  while (!(await insert(db, { jobs: [job], attemptsMax, onConflict: replaceWaiting })))
    await db.query(sql`update jobs set key = null where key = ${job.key} and locked_by is not null`)
}

const replaceWaiting = sql`
  do update set name = excluded.name, payload = excluded.payload, run_at = excluded.run_at, attempts = 0,
    attempts_max = excluded.attempts_max, last_error = null
  where jobs.locked_by is null`

/** Returns false if all were dropped. */
async function insert(
  db: Db | Tx,
  { jobs, attemptsMax, onConflict }: { jobs: JobRow[]; attemptsMax: number; onConflict: Sql },
): Promise<boolean> {
  const notified = await db.query(sql`
    with inserted as (
      insert into jobs (name, payload, key, run_at, attempts_max)
      select name, payload, key, coalesce("runAt", now()), ${attemptsMax}::integer from ${jobsParam(jobs)} order by key
      on conflict (key) ${onConflict}
      returning id
    )
    select pg_notify(${jobsChannel}, '') from inserted limit 1`)
  return notified.length > 0
}

export type ClaimedJob = { id: number; name: string; payload: unknown; attempts: number; attemptsMax: number }

/**
 * Claims jobs that are due. They belong to the instance until it deletes, postpones or releases them. It claims at most
 * one of each name in `oneAtOnce`. If the instance seemed dead, another one has released its jobs while it still runs
 * them. It does not claim those again: the end of the first run would delete the job of the second.
 */
export async function claimJobs(
  db: Db,
  {
    instance,
    names,
    oneAtOnce,
    limit,
    inHand,
  }: { instance: number; names: string[]; oneAtOnce: string[]; limit: number; inHand: number[] },
): Promise<ClaimedJob[]> {
  const isOpen = sql`
    locked_by is null and attempts < attempts_max and name = any (${names}) and id <> all (${inHand}::bigint[])`
  return await claimRows<ClaimedJob>(
    db,
    {
      table: sql`jobs`,
      dueAt: sql`run_at`,
      isOpen: sql`${isOpen} and (name <> all (${oneAtOnce}) or id in (
        select distinct on (name) id from jobs
        where ${isOpen} and name = any (${oneAtOnce}) and run_at <= now() order by name, run_at))`,
      columns: sql`id, name, payload, attempts, attempts_max as "attemptsMax"`,
    },
    { now: sql`now()`, limit, lease: sql`attempts = attempts + 1, locked_by = ${instance}, locked_at = now()` },
  )
}

type OwnJob = { instance: number; id: number }

export async function deleteJob(db: Db, { instance, id }: OwnJob): Promise<void> {
  await db.query(sql`delete from jobs where id = ${id} and locked_by = ${instance}`, 'delete-job')
}

export async function postponeJob(
  db: Db,
  { instance, id, pauseSeconds, error }: OwnJob & { pauseSeconds: number; error: string },
): Promise<void> {
  await db.query(sql`
    update jobs set ${unlocked}, last_error = ${error}, run_at = now() + make_interval(secs => ${pauseSeconds})
    where id = ${id} and locked_by = ${instance}`)
}

/** Releases the jobs that the database says an instance has claimed, except those that it is running. */
export async function releaseJobs(db: Db, { instance, inHand }: { instance: number; inHand: number[] }): Promise<void> {
  await db.query(sql`
    update jobs set ${unlocked} where locked_by = ${instance} and id <> all (${inHand}::bigint[])`)
}

/** Returns to the queue all that these instances have claimed, and notifies the runners. */
export async function releaseJobsOf(tx: Tx, instances: number[]): Promise<void> {
  await tx.query(sql`update jobs set ${unlocked} where locked_by = any (${instances}::integer[])`)
  await tx.query(sql`select pg_notify(${jobsChannel}, '')`)
}

/**
 * A job after its last attempt stays visible to the operator but gives up its key: otherwise no later job with that key
 * would ever run.
 */
const unlocked = sql`locked_by = null, locked_at = null, key = case when attempts < attempts_max then key end`

/**
 * oldestDueSeconds: how long the oldest due job of those named in `timed` has waited to run. failing: those that failed
 * and will be tried again. givenUp: those that wait for the operator.
 */
export type JobBacklog = { due: number; oldestDueSeconds: number; failing: number; givenUp: number }

/** The machines that work on the database, with how far their clocks were last found ahead of PostgreSQL's. */
export async function listClocks(db: Db): Promise<{ host: string; aheadMs: number }[]> {
  return await db.query<{ host: string; aheadMs: number }>(sql`
    select distinct on (host) host, clock_ahead_ms as "aheadMs" from instances
    where clock_ahead_ms is not null
    order by host, abs(clock_ahead_ms) desc`)
}

/** `timed`: the names of the jobs whose waiting time is measured. */
export async function findJobBacklog(db: Db, timed: string[]): Promise<JobBacklog> {
  const [row] = await db.query<JobBacklog>(sql`
    select count(*) filter (where is_open and run_at <= now()) as due,
      coalesce(
        extract(epoch from now() - min(run_at) filter (
          where is_open and locked_by is null and run_at <= now() and name = any (${timed}))), 0)::float8
        as "oldestDueSeconds",
      count(*) filter (where is_open and last_error is not null) as failing,
      count(*) filter (where not is_open) as "givenUp"
    from jobs, lateral (select locked_by is not null or attempts < attempts_max) as state (is_open)`)
  return row ?? { due: 0, oldestDueSeconds: 0, failing: 0, givenUp: 0 }
}

/** Whether a job waits or runs under a key. */
export async function isJobOpen(db: Db, key: string): Promise<boolean> {
  return (await db.query(sql`select from jobs where key = ${key}`)).length > 0
}
