import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PoolClient } from 'pg'
import type { Logger } from 'pino'
import { type Db, detectLostClient, sql, type Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { createFailure } from '../lib/failure.ts'
import { jobsChannel } from './store.ts'

/** The first half of an advisory lock's key; the second is the instance. */
const lockSpace = 0x6775_6963

/** How often the connection that holds the lock is tested, and how long it may take to answer. */
const probeEveryMs = 5_000
const probeMaxMs = 5_000
const pauseMs = 1_000

/** Machines that synchronize their clocks differ by milliseconds. The alert has the same limit. */
export const clockDifferenceMaxSeconds = 5
/** A smaller change of the difference is not stored, unless it crosses the limit. */
const clockChangeMinMs = 1_000

/** Returns a number that no other process on this database has. Its leases carry it. */
export async function createInstance(db: Db): Promise<number> {
  const [row] = await db.query<{ id: number }>(sql`select nextval('instance_ids') as id`)
  assert(row !== undefined, 'a sequence has a next value')
  return row.id
}

/** What an instance sends to {@link jobsChannel} when it holds its lock. */
const newInstance = 'instance'

export type InstanceLock = {
  /** Resolves when the lock is held, or at the stop. */
  held(): Promise<void>
  release(): Promise<void>
}

/**
 * Holds a database lock that ends with the connection, and so with the process: whoever can take it knows that the
 * instance is dead or has lost its connection, without clocks or heartbeats. If the connection breaks, the lock is
 * taken again on another one, however long that takes. Until then the instance claims nothing.
 */
export function holdInstanceLock(
  db: Db,
  {
    instance,
    log,
    onNewJob,
    onNewInstance,
    stopping,
  }: {
    instance: number
    log: Logger
    /** Called when a job was enqueued: the connection that holds the lock also listens for notifications. */
    onNewJob: () => void
    /** Called when an instance has started, also this one. */
    onNewInstance: () => void
    /** After this, `held()` does not wait for the lock. The lock is still held until `release()`. */
    stopping: AbortSignal
  },
): InstanceLock {
  const released = new AbortController()
  let latch = createLatch()
  /** As stored; null before the first comparison on a connection. */
  let clockAheadMs: number | null = null
  stopping.addEventListener('abort', () => latch.open(), { once: true })
  const holding = hold()

  return {
    async held() {
      if (!stopping.aborted) await latch.opened
    },
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
      const broken = createFailure()
      connection.once('error', broken.fail)
      connection.on('notification', ({ payload }) => (payload === newInstance ? onNewInstance() : onNewJob()))
      await broken.before(take(connection, instance))
      // The row may be a new one, and the server another one.
      clockAheadMs = null
      await broken.before(compareClocks(connection))
      latch.open()
      while (!released.signal.aborted) {
        await broken.before(pause(probeEveryMs))
        await broken.before(answerInTime(compareClocks(connection)))
      }
      // Its leases are released already. Otherwise another process would report it as dead.
      await connection.query(sql`delete from instances where id = ${instance}`)
    } finally {
      // Destroyed, not returned to the pool: the lock belongs to the connection.
      connection.release(true)
    }
  }

  /** It also shows that the connection answers. */
  async function compareClocks(connection: PoolClient): Promise<void> {
    const aheadMs = await findClockAhead(connection)
    const isWrong = isClockWrong(aheadMs)
    const wasWrong = clockAheadMs !== null && isClockWrong(clockAheadMs)
    if (isWrong === wasWrong && clockAheadMs !== null && Math.abs(aheadMs - clockAheadMs) < clockChangeMinMs) return
    await connection.query(sql`
      update instances set host = ${hostname()}, clock_ahead_ms = ${aheadMs} where id = ${instance}`)
    clockAheadMs = aheadMs
    if (isWrong && !wasWrong)
      log.warn({ aheadSeconds: aheadMs / 1_000 }, 'the clock of this machine differs from that of PostgreSQL')
    if (wasWrong && !isWrong) log.info('the clock of this machine agrees with that of PostgreSQL again')
  }

  async function pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: released.signal, ref: false }).catch(() => {})
  }
}

async function take(connection: PoolClient, instance: number): Promise<void> {
  await connection.query(detectLostClient)
  await connection.query(sql`select pg_advisory_lock(${lockSpace}, ${instance})`)
  await connection.query(sql`insert into instances (id) values (${instance}) on conflict do nothing`)
  await connection.query(`listen ${jobsChannel}`)
  await connection.query(`notify ${jobsChannel}, '${newInstance}'`)
}

/**
 * By how much at least the machine's clock is ahead of PostgreSQL's; negative if it is behind. PostgreSQL read its
 * clock at some moment of the statement, so a difference shorter than the statement counts as none.
 */
async function findClockAhead(connection: PoolClient): Promise<number> {
  const before = Date.now()
  const { rows } = await connection.query<{ at: Date }>('select clock_timestamp() as at')
  const after = Date.now()
  const at = rows[0]?.at.getTime() ?? before
  if (at < before) return before - at
  return at > after ? after - at : 0
}

function isClockWrong(aheadMs: number): boolean {
  return Math.abs(aheadMs) > clockDifferenceMaxSeconds * 1_000
}

async function answerInTime(answer: Promise<void>): Promise<void> {
  const timeout = new AbortController()
  try {
    await Promise.race([
      answer,
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

/** Instances whose process runs. */
export async function listLivingInstances(db: Db): Promise<number[]> {
  const rows = await db.query<{ id: number }>(sql`
    select id from instances where not pg_try_advisory_xact_lock(${lockSpace}, id) order by id`)
  return rows.map(({ id }) => id)
}

/** Releases everything that these instances have leased. */
export type ReleaseLeases = (tx: Tx, instances: number[]) => Promise<void>

/**
 * Finds the instances that do not hold their locks and releases their leases: they are dead, or have lost their
 * connection. An instance that holds a job and is not in the list had lost its lock and has not taken it again. Returns
 * the dead instances, and whether no other instance lives.
 */
export async function releaseDeadInstances(
  db: Db,
  own: number,
  release: ReleaseLeases,
): Promise<{ dead: number[]; isAlone: boolean }> {
  // Nearly always nobody is dead: one statement costs a third of a transaction.
  const { dead, isAlone } = await lockDead(db, own)
  if (dead.length === 0) return { dead, isAlone }
  return await db.transaction(async (tx) => {
    const { dead, isAlone } = await lockDead(tx, own)
    if (dead.length > 0) {
      await release(tx, dead)
      await tx.query(sql`delete from instances where id = any (${dead})`)
    }
    return { dead, isAlone }
  })
}

/**
 * Instances whose lock could be taken, which holds it until the end of the transaction. `isAlone`: no other instance
 * lives.
 */
async function lockDead(db: Db | Tx, own: number): Promise<{ dead: number[]; isAlone: boolean }> {
  const rows = await db.query<{ id: number; is_dead: boolean }>(
    sql`
      select id, pg_try_advisory_xact_lock(${lockSpace}, id) as is_dead from (
        select id from instances union select locked_by from jobs where locked_by is not null
      ) known (id)
      where id <> ${own}`,
    'lock-dead-instances',
  )
  return {
    dead: rows.flatMap(({ id, is_dead }) => (is_dead ? [id] : [])),
    isAlone: rows.every(({ is_dead }) => is_dead),
  }
}
