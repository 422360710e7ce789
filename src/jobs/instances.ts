import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { Logger } from 'pino'
import { type Db, sql, type Tx } from '../db/sql.ts'
import { jobsChannel, releaseJobsOf } from './store.ts'

/** The first half of an advisory lock's name; the second is a hash of the instance. */
const lockSpace = 0x6775_6963
/** The lock that all living instances share. */
const presenceLock = sql`${lockSpace + 1}, 0`

/** How often the connection that holds the lock is tested, and how long it may take to answer. */
const probeEveryMs = 5_000
const probeMaxMs = 5_000
const pauseMs = 1_000

export type InstanceLock = {
  /** Resolves when the lock is held, or released for good. */
  held(): Promise<void>
  release(): Promise<void>
}

/**
 * Holds a database lock that ends with the connection, and so with the process: whoever can take it knows that the
 * instance is dead, without clocks or heartbeats. If the connection breaks, the lock is taken again on another one,
 * however long that takes.
 */
export function holdInstanceLock(
  db: Db,
  {
    instance,
    log,
    onNewJob,
  }: {
    instance: string
    log: Logger
    /** Called when a job was enqueued: the connection that holds the lock also listens for notifications. */
    onNewJob: () => void
  },
): InstanceLock {
  const released = new AbortController()
  let latch = createLatch()
  const holding = hold()

  return {
    held: async () => await latch.opened,
    async release() {
      released.abort()
      latch.open()
      await holding
    },
  }

  async function hold(): Promise<void> {
    while (!released.signal.aborted) {
      try {
        await holdOnce()
      } catch (error) {
        if (released.signal.aborted) return
        // Others may take our jobs now, and jobs in progress may run twice. Nothing is claimed before the lock is held
        // again.
        if (latch.isOpen()) latch = createLatch()
        log.warn({ err: error }, 'the lock that shows that this process is alive was lost and is taken again')
        await pause(pauseMs)
      }
    }
  }

  /** Returns after the release; throws if the lock cannot be taken or is lost. */
  async function holdOnce(): Promise<void> {
    const connection = await db.pool.connect()
    try {
      const broken = new Promise<never>((_, reject) => connection.once('error', reject))
      connection.on('notification', onNewJob)
      await Promise.race([take(connection, instance), broken])
      latch.open()
      while (!released.signal.aborted) {
        await Promise.race([pause(probeEveryMs), broken])
        await Promise.race([probe(connection), broken])
      }
    } finally {
      // Destroyed, not returned to the pool: the lock belongs to the connection.
      connection.release(true)
    }
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: released.signal, ref: false }).catch(() => {})
  }
}

async function take(connection: PoolClient, instance: string): Promise<void> {
  // A machine that loses its network closes nothing: with these settings the server notices within half a minute
  // instead of hours.
  await connection.query(`set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3`)
  await connection.query(sql`select pg_advisory_lock(${lockSpace}, hashtext(${instance}))`)
  await connection.query(sql`select pg_advisory_lock_shared(${presenceLock})`)
  await connection.query(`listen ${jobsChannel}`)
}

async function probe(connection: PoolClient): Promise<void> {
  const timeout = new AbortController()
  try {
    await Promise.race([
      connection.query('select 1'),
      sleep(probeMaxMs, undefined, { signal: timeout.signal, ref: false }).then(() => {
        throw new Error('the connection does not answer')
      }),
    ])
  } finally {
    timeout.abort()
  }
}

function createLatch() {
  let isOpen = false
  let resolve = () => {}
  const opened = new Promise<void>((done) => {
    resolve = done
  })
  return {
    opened,
    isOpen: () => isOpen,
    open: () => {
      isOpen = true
      resolve()
    },
  }
}

/** Runs `work` if no instance is alive, and lets none start meanwhile. */
export async function whenAlone(db: Db, work: (tx: Tx) => Promise<void>): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.query<{ is_alone: boolean }>(sql`
      select pg_try_advisory_xact_lock(${presenceLock}) as is_alone`)
    if (row?.is_alone) await work(tx)
  })
}

/** Returns the jobs that dead instances had claimed to the queue. Returns those instances. */
export async function unlockJobsOfDeadInstances(db: Db, own: string): Promise<string[]> {
  return await db.transaction(async (tx) => {
    const rows = await tx.query<{ instance: string }>(sql`
      select instance from (
        select distinct locked_by as instance from jobs where locked_by <> ${own}
      ) holders
      where pg_try_advisory_xact_lock(${lockSpace}, hashtext(instance))`)
    const instances = rows.map((row) => row.instance)
    if (instances.length > 0) await releaseJobsOf(tx, instances)
    return instances
  })
}
