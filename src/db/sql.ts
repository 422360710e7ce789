import type { Writable } from 'node:stream'
import pg from 'pg'
import type { Sql } from 'sql-template-tag'
import { assert, BrokenInvariant } from '../lib/assert.ts'

export { default as sql, empty, join, raw, Sql } from 'sql-template-tag'

/**
 * Runs a statement and gives its rows. One with a name is parsed and planned once per connection: for those that run often and whose
 * text never varies.
 */
type Query = <Row extends object>(statement: Sql, name?: string) => Promise<Row[]>

/** Where statements run on their own. Stores take a `Db` or a `Tx` and never open a transaction. */
export type Db = {
  query: Query
  /**
   * Runs `work` in one transaction at READ COMMITTED; any error thrown rolls all of it back. Behind a gate it begins once it is let in: its first
   * statement sees whatever those have committed whom it had to wait for.
   */
  transaction<Result>(work: (tx: Tx) => Promise<Result>, gate?: Gate): Promise<Result>
  readonly pool: pg.Pool
}

/** Where transactions must not overlap: any number may be behind it that share, or one alone. In the order in which they come. */
export type Gate = { number: number; isShared: boolean }

/** "Inside your transaction". A type of its own, so that a `Db` cannot be passed where a `Tx` is meant. */
export type Tx = {
  query: Query
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
  connectionsMax: number
  /** Told of an idle connection that broke; without a listener it would end the process. */
  onError: (error: Error) => void
}

/** Opens a pool of connections to PostgreSQL. Nothing is connected before the first statement. */
export function connect(options: ConnectOptions): Db {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.connectionsMax,
    types,
    // A statement is sent without waiting for the answer to the one before: those that need not wait go together in one trip.
    pipeline: true,
    application_name: 'guiche',
    connectionTimeoutMillis: 10_000,
    // A statement of ours that runs for a minute is a fault; one that waits for a lock for ten seconds is a deadlock in the making.
    statement_timeout: 60_000,
    lock_timeout: 10_000,
    idle_in_transaction_session_timeout: 60_000,
  })
  // While the pool ends, its connections may be cut by a server that ends too: that is no news.
  const onError = (error: Error) => {
    if (!pool.ending) options.onError(error)
  }
  pool.on('error', onError)
  pool.on('connect', (client) => client.on('error', onError))
  return toDb(pool)
}

export function toDb(pool: pg.Pool): Db {
  return {
    pool,
    query: toQuery(pool),
    transaction: async (work, gate) => {
      const client = await pool.connect()
      let broken: Error | undefined
      try {
        await client.query(gate === undefined ? 'begin' : beginBehind(gate))
        const query = toQuery(client)
        const result = await work({
          inTransaction: true,
          query: (statement, name) => {
            writeOnce(client)
            return query(statement, name)
          },
        })
        await client.query('commit')
        return result
      } catch (error) {
        // A connection that cannot even roll back is thrown away, not returned to the pool.
        await client.query('rollback').catch((cause: Error) => {
          broken = cause
        })
        throw error
      } finally {
        client.release(broken)
      }
    },
  }
}

/**
 * Statements that are sent in one turn leave in one write: each write wakes the process of PostgreSQL at the other end, which on two cores
 * costs 100 µs and more.
 */
function writeOnce(client: pg.PoolClient): void {
  const { stream } = (client as pg.PoolClient & { connection: { stream: Writable } }).connection
  stream.cork()
  process.nextTick(() => stream.uncork())
}

/** In one message, so that the gate costs no trip of its own. */
function beginBehind({ number, isShared }: Gate): string {
  assert(Number.isSafeInteger(number), 'a gate has a number')
  return `begin; select pg_advisory_xact_lock${isShared ? '_shared' : ''}(${number})`
}

function toQuery(on: pg.Pool | pg.PoolClient): Query {
  return async <Row extends object>({ text, values }: Sql, name?: string) =>
    (await on.query<Row>({ name, text, values })).rows
}

/** Resolves when the database answers. */
export async function ping(db: Db): Promise<void> {
  await db.pool.query('select 1')
}

/**
 * True when one row of many may be to blame: PostgreSQL refused the data of a statement (SQLSTATE classes 22 and 23), or a row could not even
 * be written into it.
 */
export function mayBeOneRowsFault(error: unknown): boolean {
  if (error instanceof BrokenInvariant) return true
  return error instanceof pg.DatabaseError && /^2[23]/.test(error.code ?? '')
}

/** Of PostgreSQL: it shuts down, starts, or takes no more connections (SQLSTATE), or the connection failed (class 08). */
const awayStates = /^(57P0[123]|53300|08...)$/
/** Of the connection to it. A file that is not there has the same code, and another system call. */
const awayCodes: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'ENOTCONN',
])
const awayCalls: ReadonlySet<string> = new Set(['connect', 'read', 'write'])
/** The driver's own errors have no code. */
const awayMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/

/** True when the database did not answer: what was to be committed may be committed or not. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof pg.DatabaseError) return awayStates.test(error.code ?? '')
  if (awayMessages.test(error.message)) return true
  const { code, syscall } = error as NodeJS.ErrnoException
  return code !== undefined && awayCodes.has(code) && syscall !== undefined && awayCalls.has(syscall)
}
