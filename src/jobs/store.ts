import { type Db, sql, type Tx } from '../db/sql.ts'

export type ClaimedJob = { id: number; name: string; payload: unknown; attempts: number; attemptsMax: number }

/** Claims jobs that are due. They belong to the instance until it finishes, postpones or releases them. */
export async function claimJobs(
  db: Db,
  { instance, names, limit }: { instance: string; names: string[]; limit: number },
): Promise<ClaimedJob[]> {
  return await db.query<ClaimedJob>(sql`
    with chosen as (
      select id from graphile_worker._private_jobs
      where is_available and run_at <= now()
        and task_id in (select id from graphile_worker._private_tasks where identifier = any(${names}))
      order by priority, run_at limit ${limit} for update skip locked
    )
    update graphile_worker._private_jobs job
    set attempts = job.attempts + 1, locked_by = ${instance}, locked_at = now()
    from chosen, graphile_worker._private_tasks task
    where job.id = chosen.id and task.id = job.task_id
    returning job.id, task.identifier as name, job.payload, job.attempts, job.max_attempts as "attemptsMax"`)
}

export async function deleteJob(db: Db, { instance, id }: { instance: string; id: number }): Promise<void> {
  await db.query(sql`delete from graphile_worker._private_jobs where id = ${id} and locked_by = ${instance}`)
}

/**
 * A job after its last attempt stays visible to the operator but gives up its key: otherwise no later job with that key
 * would ever run.
 */
const freed = sql`locked_by = null, locked_at = null, key = case when attempts < max_attempts then key end`

export async function postponeJob(
  db: Db,
  { instance, id, pauseSeconds, error }: { instance: string; id: number; pauseSeconds: number; error: string },
): Promise<void> {
  await db.query(sql`
    update graphile_worker._private_jobs
    set ${freed}, last_error = ${error}, run_at = now() + make_interval(secs => ${pauseSeconds})
    where id = ${id} and locked_by = ${instance}`)
}

/** Gives back what an instance has claimed, as the database sees it, and does not have in hand. */
export async function releaseJobs(db: Db, { instance, inHand }: { instance: string; inHand: number[] }): Promise<void> {
  await db.query(sql`
    update graphile_worker._private_jobs set ${freed}
    where locked_by = ${instance} and id <> all(${inHand}::bigint[])`)
}

/** Gives back all that these instances have claimed. */
export async function releaseJobsOf(tx: Tx, instances: string[]): Promise<void> {
  await tx.query(sql`update graphile_worker._private_jobs set ${freed} where locked_by = any(${instances}::text[])`)
}

/** failing: those that failed and will be tried again; givenUp: those that wait for the operator. */
export type JobBacklog = { due: number; oldestDueSeconds: number; failing: number; givenUp: number }

export async function findJobBacklog(db: Db): Promise<JobBacklog> {
  const [row] = await db.query<JobBacklog>(sql`
    select count(*) filter (where is_open and run_at <= now()) as due,
      coalesce(extract(epoch from now() - min(run_at) filter (where is_open and run_at <= now())), 0)::float8
        as "oldestDueSeconds",
      count(*) filter (where is_open and last_error is not null) as failing,
      count(*) filter (where not is_open) as "givenUp"
    from graphile_worker._private_jobs, lateral (select is_available or locked_at is not null) as state (is_open)`)
  return row ?? { due: 0, oldestDueSeconds: 0, failing: 0, givenUp: 0 }
}

/** Whether a job waits or runs under a key. */
export async function isJobThere(db: Db, key: string): Promise<boolean> {
  return (await db.query(sql`select from graphile_worker._private_jobs where key = ${key}`)).length > 0
}
