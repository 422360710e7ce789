import type { PoolClient } from 'pg'
import { type Db, sql } from '../db/sql.ts'

/** The first half of an advisory lock's name; the second is a hash of the instance. */
const lockSpace = 0x6775_6963

/**
 * Holds a lock in the database that ends with the connection, and so with the process: whoever can take it knows that the
 * instance is gone, without clocks or heartbeats.
 */
export async function holdInstanceLock(db: Db, instance: string): Promise<{ release(): Promise<void> }> {
  let client: PoolClient | null = null
  let isReleased = false
  const hold = async () => {
    const connection = await db.pool.connect()
    client = connection
    connection.once('error', () => {
      connection.release(true)
      client = null
      // The lock is gone with the connection. Others may take our jobs now; jobs can be run twice.
      if (!isReleased) setTimeout(() => void hold().catch(() => {}), 1000).unref()
    })
    await connection.query(sql`select pg_advisory_lock(${lockSpace}, hashtext(${instance}))`)
  }
  await hold()
  return {
    async release() {
      isReleased = true
      client?.release(true)
    },
  }
}

/** Gives jobs that a dead instance had in hand back to the queue. Returns the instances. */
export async function unlockJobsOfDeadInstances(db: Db): Promise<string[]> {
  return await db.transaction(async (tx) => {
    const rows = await tx.query<{ instance: string }>(sql`
      select instance from (
        select distinct locked_by as instance from graphile_worker._private_jobs where locked_by is not null
      ) holders
      where pg_try_advisory_xact_lock(${lockSpace}, hashtext(instance))`)
    const instances = rows.map((row) => row.instance)
    if (instances.length > 0) await tx.query(sql`select graphile_worker.force_unlock_workers(${instances}::text[])`)
    return instances
  })
}
