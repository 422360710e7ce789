import { channel } from 'node:diagnostics_channel'
import type { Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { raw, type Sql } from 'sql-template-tag'
import { assert, BrokenInvariant } from '../lib/assert.ts'
import { pipelined } from '../lib/concurrent.ts'
import { parseServers } from '../lib/database-url.ts'
import { databaseSpan, inSpan } from '../lib/spans.ts'
import { clientFor, type ServerState, serverState } from './hosts.ts'
import { DatabaseUnavailable, WatchedPool } from './watched-pool.ts'

// For measurements: the driver is part of the bundle, where nobody else can import it.
channel('guiche:driver').publish(pg)

export { default as sql, empty, join, raw, Sql } from 'sql-template-tag'

/**
 * Runs a statement and returns its rows. A statement with a name is parsed and planned once per connection: use it for
 * frequent statements with constant text.
 */
type Query = <Row extends object>(statement: Sql, name?: string) => Promise<Row[]>

/** Runs statements outside a transaction. Stores take a `Db` or a `Tx` and never open a transaction. */
export type Db = Reads & {
  /**
   * Runs `work` in a transaction at READ COMMITTED; any error thrown by it rolls all of it back. When the connection
   * breaks during the commit, the outcome is unknown: the caller finds out, and repeats nothing blindly. With an
   * advisory lock the transaction begins once it has the lock, so its first statement sees everything that the previous
   * holders committed.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, lock?: AdvisoryLock): Promise<Result>
  /**
   * The newest transactions that PostgreSQL has acknowledged: numbers of the transactions of `transaction`, and those
   * that a statement outside of it returned as `committed_xid`. Transactions with asynchronous commit are left out.
   */
  readonly recentXids: number[]
  /** Only in a `Db` for background work: the `Db` that it uses, and the function that runs a step in its turn. */
  readonly background?: { of: Db; step: Step }
}

export type Step = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * Runs statements that only read. A standby may answer them, if it has all that the primary had when the read began.
 */
export type Reads = {
  query: Query
  readonly pool: pg.Pool
  /** Returns what answers: the standby, once it has replayed enough, or the primary. Called before a read queues. */
  ready?(): Promise<{ query: Query }>
}

/**
 * An advisory lock for transactions that must not overlap: many may share it, or one holds it exclusively. Waiters get
 * it in the order in which they came. `isPipelined`: the first statements are sent together with it, which is allowed
 * if they only lock or read.
 */
export type AdvisoryLock = { number: number; isShared: boolean; isPipelined?: boolean }

/** Means "inside your transaction". A separate type, so that a `Db` cannot be passed as a `Tx`. */
export type Tx = {
  query: Query
  /**
   * Sends a statement whose result nothing in the transaction needs, so that the commit need not wait for its answer.
   * If it fails, the transaction fails with its error. `send` sends one statement, before it waits for anything.
   */
  sendLast(send: () => Promise<unknown>): void
  readonly inTransaction: true
}

const int8 = 20
const numeric = 1700

const types = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === int8 || oid === numeric) return toSafeInteger
    return pg.types.getTypeParser(oid, format)
  },
}

function toSafeInteger(text: string): number {
  const value = Number(text)
  assert(Number.isSafeInteger(value), 'a number from the database is not a safe integer')
  return value
}

export type ConnectOptions = {
  connectionString: string
  /** The setting that has this address. */
  setting?: 'DATABASE_URL' | 'DATABASE_READ_URL'
  connectionsMax: number
  /** How long a statement waits for a new or a free connection. Three seconds by default. */
  waitMs?: number
  /** Called when an idle connection breaks; without a listener it would end the process. */
  onError: (error: Error) => void
}

/**
 * A statement that runs for a minute is a bug; one that waits for a lock for ten seconds is close to a deadlock. They
 * are set by a statement: PgBouncer refuses a connection that begins with such settings.
 */
const limits =
  "set statement_timeout = '60s'; set lock_timeout = '10s'; set idle_in_transaction_session_timeout = '60s'"

/**
 * For connections that hold a lock for long. A machine that loses its network closes nothing: with these settings the
 * server notices within half a minute instead of hours.
 */
export const detectLostClient =
  'set tcp_keepalives_idle = 10; set tcp_keepalives_interval = 5; set tcp_keepalives_count = 3'

/**
 * How long a connection is kept that nobody uses. A new one costs the server a process, and plans each named statement
 * six times: with the driver's ten seconds, a burst would begin with that. A load balancer also closes idle
 * connections, ours (deploy/ha/haproxy.cfg) after an hour and others after minutes: that would look like a failure.
 */
const idleMs = 60_000

/** Opens a pool of connections to PostgreSQL. It connects at the first statement. */
export function connect(options: ConnectOptions): Db {
  const { setting = 'DATABASE_URL' } = options
  const servers = parseServers(options.connectionString, setting === 'DATABASE_URL' ? 'all' : 'reads')
  const config: pg.PoolConfig & pg.ClientConfig & { pipeline: true; Client: typeof pg.Client } = {
    connectionString: servers.connectionStrings[0],
    Client: clientFor(servers, setting),
    max: options.connectionsMax,
    types,
    // Statements are sent without waiting for the previous answer, so that independent ones share a round trip.
    pipeline: true,
    application_name: 'guiche',
    // For a new connection, and for a free one: a request that waits longer is answered 503.
    connectionTimeoutMillis: options.waitMs ?? 3_000,
    idleTimeoutMillis: idleMs,
    // A connection whose server has gone without a word is closed, also while nothing is sent on it.
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  }
  const pool = new WatchedPool(config, limits)
  // While the pool ends, the server may end too and close its connections: that is expected.
  const onError = (error: Error) => {
    if (!pool.ending) options.onError(error)
  }
  pool.on('error', onError)
  pool.on('connect', (client) => client.on('error', onError))
  return toDb(pool)
}

/** More than 20 connections (the default) can have in progress: acknowledgements arrive almost in commit order. */
const recentXidsMax = 128

export function toDb(pool: pg.Pool): Db {
  const recentXids: number[] = []
  const note = (xid: number | null | undefined) => {
    if (xid && recentXids.push(xid) > recentXidsMax) recentXids.splice(0, recentXidsMax / 2)
  }
  const queryPool = toQuery(pool)
  const transact: Db['transaction'] = async (work, lock) => {
    const client = await pool.connect()
    let broken: Error | undefined
    const lasts: Promise<unknown>[] = []
    /** Nothing of these has been sent yet, perhaps because it cannot be: PostgreSQL would commit without them. */
    const unsent: Promise<unknown>[] = []
    let sentCount = 0
    try {
      const query = toQuery(client)
      let refused: Error | undefined
      const tx: Tx = {
        inTransaction: true,
        sendLast: (send) => {
          const countBefore = sentCount
          const sent = send()
          // It is awaited later.
          sent.catch(() => {})
          if (sentCount === countBefore) unsent.push(sent)
          else lasts.push(sent)
        },
        query: async (statement, name) => {
          // After a BEGIN that failed, a statement would commit on its own.
          if (refused) throw refused
          writeOnce(client)
          sentCount += 1
          return await query(statement, name)
        },
      }
      writeOnce(client)
      const begun = client.query(lock === undefined ? 'begin' : beginWithLock(lock)).catch((error: Error) => {
        refused = error
        throw error
      })
      if (!lock?.isPipelined) await begun
      const [, result] = await pipelined(begun, work(tx))
      if (unsent.length > 0) await pipelined(...unsent)
      writeOnce(client)
      const [xid] = await pipelined(commit(client), ...lasts)
      note(xid)
      return result
    } catch (thrown) {
      const error: unknown = await pipelined(Promise.reject(thrown), ...lasts).catch((cause: unknown) => cause)
      // A connection that cannot even roll back is destroyed, not returned to the pool.
      await client.query('rollback').catch((cause: Error) => {
        broken = cause
      })
      // Such as a server that became a read-only standby: the next connection may find the primary.
      if (isDatabaseUnavailable(error)) broken ??= error
      throw error
    } finally {
      client.release(broken)
    }
  }
  return {
    pool,
    recentXids,
    query: async <Row extends object>(statement: Sql, name?: string) => {
      const rows = await queryPool<Row>(statement, name)
      note((rows[0] as { committed_xid?: number } | undefined)?.committed_xid)
      return rows
    },
    transaction: async (work, lock) =>
      await inSpan('database transaction', databaseSpan, async () => await transact(work, lock)),
  }
}

/** Runs `work` on one connection, on which it may send several statements at once. */
export async function onConnection<Result>(
  { pool }: Pick<Db, 'pool'>,
  work: (on: { query: Query }) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect()
  let broken: Error | undefined
  try {
    return await work({ query: toQuery(client) })
  } catch (error) {
    if (isDatabaseUnavailable(error)) broken = error
    throw error
  } finally {
    client.release(broken)
  }
}

const commitWithXid = `
  select case when current_setting('synchronous_commit') <> 'off' then pg_current_xact_id_if_assigned()::text::bigint end as xid;
  commit`

/**
 * Commits, in one message. Returns the number of the transaction; null if it has written nothing, or if its commit is
 * asynchronous. Fails, like any statement would, when a statement of the transaction has failed.
 */
async function commit(client: pg.PoolClient): Promise<number | null> {
  const results = (await client.query(commitWithXid)) as unknown as pg.QueryResult<{ xid: number | null }>[]
  return results[0]?.rows[0]?.xid ?? null
}

/**
 * Before a new connection is used for anything else, `check` gets a `Db` that uses it. If `check` throws, the
 * connection is closed.
 */
export function onNewConnection({ pool }: Db, check: (db: Db) => Promise<void>): void {
  assert(pool instanceof WatchedPool, 'the pool was opened by connect()')
  pool.check = async (client) => {
    const own = { connect: async () => Object.assign(client, { release: () => {} }), query: client.query.bind(client) }
    await check(toDb(own as unknown as pg.Pool))
  }
}

/**
 * Statements of one turn are sent in one write: each write wakes PostgreSQL's process, which on two cores costs 100 µs
 * and more.
 */
function writeOnce(client: pg.PoolClient): void {
  const { stream } = (client as pg.PoolClient & { connection: { stream: Writable } }).connection
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** In one message, so that the lock costs no extra round trip. */
function beginWithLock({ number, isShared }: AdvisoryLock): string {
  assert(Number.isSafeInteger(number), 'an advisory lock has a number')
  return `begin; select pg_advisory_xact_lock${isShared ? '_shared' : ''}(${number})`
}

function toQuery(on: pg.Pool | pg.PoolClient): Query {
  return async <Row extends object>({ text, values }: Sql, name?: string) =>
    (await on.query<Row>({ name, text, values })).rows
}

/** Longer than this, the load balancer would not wait for an answer. */
const readyMaxMs = 2_000

/**
 * Resolves if the database can be written and answers in time.
 * @throws {Error} if it is a standby or read-only, or does not answer within two seconds
 */
export async function checkReady(db: Db): Promise<void> {
  const late = new AbortController()
  const timeout = sleep(readyMaxMs, undefined, { signal: late.signal, ref: false }).then(() => {
    throw new Error(`the database did not answer within ${readyMaxMs} ms`)
  })
  try {
    await Promise.race([checkWritable(db), timeout])
  } finally {
    late.abort()
  }
}

/** @throws {Error} if it is a standby or read-only */
export async function checkWritable(db: Db): Promise<void> {
  const [server] = await db.query<ServerState>(raw(serverState))
  if (server?.is_in_recovery)
    throw new Error('the database is a read-only standby. Set DATABASE_URL to the primary server.')
  if (server?.is_read_only)
    throw new Error(
      'the database takes no writes, because default_transaction_read_only is on for this role, this database or the server. Turn it off, or set DATABASE_URL to another server.',
    )
}

/** True for a standby, and for a server that replays its log. */
export async function isInRecovery(db: Db): Promise<boolean> {
  const [server] = await db.query<ServerState>(raw(serverState))
  return server?.is_in_recovery !== false
}

/**
 * True if a single row may be the cause: PostgreSQL refused the data of a statement (SQLSTATE classes 22 and 23), or a
 * row could not be encoded.
 */
export function mayBeOneRowsFault(error: unknown): boolean {
  if (error instanceof BrokenInvariant) return true
  return error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '')
}

/**
 * SQLSTATEs of a PostgreSQL that shuts down or starts (57P0x), lacks connections, memory or disk space (53), is a
 * read-only standby (25006), ended a statement or a wait for a lock at its limit (57014, 55P03), or failed the
 * connection (08).
 */
const unavailableStates = /^(57P0.|53...|25006|57014|55P03|08...)$/
/** System errors of the connection. A missing file has one of these codes as well, but another system call. */
const unavailableCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'ENOENT',
  'ENOTCONN',
  'ENOTFOUND',
  'EAI_AGAIN',
])
const unavailableCalls: ReadonlySet<string> = new Set(['connect', 'read', 'write', 'getaddrinfo'])
/** The driver's own errors have no code. */
const unavailableMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed)/

/**
 * True if the database did not answer, or could not do its work for a reason that passes. A commit may or may not have
 * happened: nothing may be repeated for this reason alone.
 */
export function isDatabaseUnavailable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  if (error instanceof DatabaseUnavailable) return true
  if (error instanceof pg.DatabaseError) return unavailableStates.test(error.code ?? '')
  if (unavailableMessages.test(error.message)) return true
  const { code, syscall } = error as NodeJS.ErrnoException
  return code !== undefined && unavailableCodes.has(code) && syscall !== undefined && unavailableCalls.has(syscall)
}
