import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Config } from './config.ts'
import { connect, type Db, isDatabaseUnavailable, onConnection, onNewConnection, type Reads } from './db/sql.ts'
import { findPosition, findSystem, type Position } from './ledger/mark-store.ts'
import { createBatcher } from './lib/batch.ts'
import { createCountedLine } from './lib/counted-line.ts'
import { createLagSamples } from './lib/lag-samples.ts'

/** How long a read waits for the standby. Usually it lags by some milliseconds; after this, the primary answers. */
const waitMaxMs = 100
const pauseMaxMs = 16
const connectMaxMsDefault = 1_000
const checkEveryMs = 1_000
/** Ten minutes of checks. */
const samplesMax = 600

/** Why the primary answers a read: the standby is behind, cannot be used, or ended the statement. */
type Reason = 'lag' | 'away' | 'conflict'

type Deps = { config: Config; db: Db; log: Logger; registry: Registry; connectMaxMs?: number }

/**
 * Opens what lists, exports and figures are read from: a standby if DATABASE_READ_URL names one, and the primary where
 * the standby cannot answer.
 *
 * A read sees all that was committed on the primary when the read began, whoever committed it. So each read first gets
 * the position of the primary's log, and the standby must have replayed the log up to there. The position is the end of
 * the log that the primary has flushed to disk: PostgreSQL acknowledges a commit after this flush, except with
 * `synchronous_commit = off`. Guichê does not record which process wrote what, so writes have no extra cost, and any
 * number of processes have the same guarantee.
 *
 * @throws {NotItsStandby} if the server of DATABASE_READ_URL answers, and is neither the primary nor a standby of it
 */
export async function openReads({
  config,
  db,
  log,
  registry,
  connectMaxMs = connectMaxMsDefault,
}: Deps): Promise<{ reads: Reads; close(): Promise<void> }> {
  const behind = createLagSamples<Position>(samplesMax)
  const outcomes = observeStandby(registry, () => {
    const since = behind.since()
    return since === null ? 0 : (performance.now() - since) / 1_000
  })
  if (config.databaseReadUrl === null) return { reads: db, close: async () => {} }

  const standby = connect({
    connectionString: config.databaseReadUrl,
    setting: 'DATABASE_READ_URL',
    connectionsMax: config.databaseConnectionsMax,
    waitMs: connectMaxMs,
    onError: createCountedLine(({ name, message }: Error, count) =>
      log.warn({ name, reason: message, count }, 'connections to the standby broke'),
    ),
  })
  onNewConnection(standby, async (connection) => await checkServer(connection, db))
  const logFallback = createCountedLine(({ reason, cause }: { reason: Reason; cause: string }, count) =>
    log.warn({ reason, cause, count }, 'the primary answered reads instead of the standby'),
  )
  const findCommitted = shared(async () => await findPosition(db))
  const findReplayed = shared(async () => await findPosition(standby))
  let replayed: Position | null = null
  /** While it is not `ready`, reads go to the primary without waiting. A check once a second sets it to `ready` again. */
  let state: 'ready' | Reason = 'away'
  let cause = 'it was not reached at the start'

  try {
    replayed = await findReplayed()
    state = 'ready'
    if (!replayed.is_standby) log.warn('DATABASE_READ_URL leads to the primary: it answers all reads')
  } catch (error) {
    if (error instanceof NotItsStandby) {
      await standby.pool.end()
      throw error
    }
    log.warn(
      { reason: (error as Error).message },
      'the standby of DATABASE_READ_URL is away: the primary answers reads',
    )
  }
  const stopping = new AbortController()
  const checking = keepChecking()

  return {
    reads: {
      pool: standby.pool,
      ready,
      query: async (statement, name) => await (await ready()).query(statement, name),
    },
    async close() {
      stopping.abort()
      await checking
      await standby.pool.end()
    },
  }

  async function ready(): Promise<Pick<Db, 'query'>> {
    const committed = await findCommitted()
    if (state === 'ready') state = await waitFor(committed)
    return state === 'ready' ? { query: fromStandby(committed) } : { query: fromPrimary(state, cause) }
  }

  async function waitFor(committed: Position): Promise<'ready' | Reason> {
    const giveUpAt = performance.now() + waitMaxMs
    let hasAnswered = false
    for (
      let pauseMs = 1;
      replayed === null || !hasAll(replayed, committed);
      pauseMs = Math.min(2 * pauseMs, pauseMaxMs)
    ) {
      const leftMs = giveUpAt - performance.now()
      if (leftMs <= 0) {
        cause = hasAnswered
          ? `it has not replayed in ${waitMaxMs} ms what the primary had committed`
          : `it did not answer in ${waitMaxMs} ms, or none of its connections was free`
        return hasAnswered ? 'lag' : 'away'
      }
      try {
        const found = await Promise.race([findReplayed(), sleep(leftMs, null, { ref: false })])
        hasAnswered ||= found !== null
        replayed = found ?? replayed
      } catch (error) {
        cause = (error as Error).message
        return 'away'
      }
      if (replayed === null || !hasAll(replayed, committed)) await sleep(pauseMs)
    }
    return 'ready'
  }

  /** The position is read on the same connection: behind a load balancer, another one may lead to another standby. */
  function fromStandby(committed: Position): Db['query'] {
    return async <Row extends object>(...statement: Parameters<Db['query']>) => {
      let reason: Reason = 'lag'
      let failure = 'this connection leads to a server that is behind'
      try {
        const rows = await onConnection(standby, async (connection) => {
          const [position, found] = await Promise.allSettled([
            findPosition(connection),
            connection.query<Row>(...statement),
          ])
          if (position.status === 'rejected') throw position.reason
          if (found.status === 'rejected') throw found.reason
          return hasAll(position.value, committed) ? found.value : null
        })
        if (rows !== null) {
          outcomes.inc({ outcome: 'standby' })
          return rows
        }
      } catch (error) {
        const why = whyFailed(error)
        if (why === null) throw error
        reason = why
        failure = (error as Error).message
        if (reason === 'away') {
          state = reason
          cause = failure
        }
      }
      return await fromPrimary(reason, failure)<Row>(...statement)
    }
  }

  function fromPrimary(reason: Reason, failure: string): Db['query'] {
    return async (...statement) => {
      outcomes.inc({ outcome: reason })
      logFallback({ reason, cause: failure })
      return await db.query(...statement)
    }
  }

  async function keepChecking(): Promise<void> {
    while (!stopping.signal.aborted) {
      // If the primary is away, requests report it.
      await check().catch(() => {})
      await sleep(checkEveryMs, undefined, { ref: false, signal: stopping.signal }).catch(() => {})
    }
  }

  async function check(): Promise<void> {
    const position = await findCommitted()
    behind.add(position, performance.now())
    // The standby is queried even if nothing was written: it may be away.
    replayed = null
    state = await waitFor(position)
    if (state === 'ready') behind.clear()
    else behind.removeReplayed((earlier) => replayed !== null && hasAll(replayed, earlier))
  }
}

/**
 * Whether this server has all that the primary had committed at a position. After a failover, the log's position alone
 * could belong to commits that were lost: a standby of the lost primary lacks what database-mark.ts writes before
 * anything else on the new timeline, or when it notices the loss.
 */
function hasAll(server: Position, committed: Position): boolean {
  if (!server.is_standby) return server.started_at === committed.started_at
  if (server.timelines < committed.timelines || server.counter < committed.counter) return false
  return !committed.is_standby && server.lsn >= committed.lsn
}

/** The server of DATABASE_READ_URL is not one that can answer for the primary. */
export class NotItsStandby extends Error {}

/** Reads from another server would be wrong without an error. Each new connection is checked: an address may move. */
async function checkServer(standby: Db, primary: Db): Promise<void> {
  const [ownSystem, system, committed] = await Promise.all([
    findSystem(standby),
    findSystem(primary),
    findPosition(primary),
  ])
  if (ownSystem !== system)
    throw new NotItsStandby(
      'DATABASE_READ_URL leads to another PostgreSQL than DATABASE_URL (pg_control_system() has another system_identifier). It must be a streaming standby of that server.',
    )
  const own = await findPosition(standby).catch((error: unknown) => {
    // Its tables are missing.
    if (error instanceof pg.DatabaseError && error.code === '42P01') return null
    throw error
  })
  if (own?.database_id !== committed.database_id)
    throw new NotItsStandby('DATABASE_READ_URL leads to another database of the server than DATABASE_URL.')
  if (!own.is_standby && own.started_at !== committed.started_at)
    throw new NotItsStandby(
      'DATABASE_READ_URL leads to a server that takes writes and is not the one of DATABASE_URL: a copy that was promoted. It must be a streaming standby.',
    )
}

/**
 * Null if the statement itself is at fault: its data (22...), a write (25006), or the time that it takes (57014). A
 * standby ends a statement that conflicts with what it replays (40001, 40P01).
 */
function whyFailed(error: unknown): Reason | null {
  if (error instanceof NotItsStandby) return 'away'
  if (!(error instanceof pg.DatabaseError)) return isDatabaseUnavailable(error) ? 'away' : null
  if (/^(22...|25006|57014)$/.test(error.code ?? '')) return null
  return error.code?.startsWith('40') ? 'conflict' : 'away'
}

/** Callers share a result that was requested after each of them called. */
function shared<Result>(find: () => Promise<Result>): () => Promise<Result> {
  const batch = createBatcher<null, Result>({
    name: 'standby',
    run: async (items) => {
      const found = await find()
      return items.map(() => found)
    },
    maxBatchSize: 1_000,
    maxConcurrency: 1,
    retryIndividually: () => false,
  })
  return async () => await batch(null)
}

function observeStandby(registry: Registry, findLag: () => number): Counter {
  new Gauge({
    name: 'guiche_standby_lag_seconds',
    aggregator: 'max',
    help: 'For how long the standby of DATABASE_READ_URL has not replayed what the primary committed; 0 without one',
    registers: [registry],
    collect() {
      this.set(findLag())
    },
  })
  return new Counter({
    name: 'guiche_standby_reads_total',
    help: 'Reads that the standby of DATABASE_READ_URL answered (standby), or the primary because the standby was behind (lag), could not be used (away) or ended the statement (conflict)',
    labelNames: ['outcome'],
    registers: [registry],
  })
}
