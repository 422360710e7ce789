import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

/** The database cannot be used, or gave no answer. A statement in progress may or may not have been carried out. */
export class DatabaseUnavailable extends Error {}

/** A statement that gets no answer for this long makes the pool ask the server on another connection. */
const unansweredMaxMs = 1_000
/**
 * The time limit of that query, connecting included, as a fraction of `connectionTimeoutMillis`. By default an
 * unanswered statement then fails after about four seconds.
 */
const probeShare = 5 / 6
const pollEveryMs = 250

/** A commit that waits for a synchronous standby, and whose statement began this long ago, is not waited for. */
const standbyMaxMs = 2_500

/** `readyForQuery`: false while a statement waits for its result. */
export type Client = pg.PoolClient & { readyForQuery: boolean; processID: number; connection: { stream: Socket } }

type Progress = { bytesRead: number; since: number; isSuspected: boolean }

/**
 * A pool that notices a server which stops answering: one that is frozen, or behind a network that drops everything.
 * TCP notices this after minutes. A limit for each statement would be too short for long ones or too long for a
 * request. So a statement may take long while the server says on a second connection that it works on it.
 *
 * If the server does not answer there either, all statements that got no answer for a second fail, and new ones fail at
 * once until it answers. If it answers but does not work on the statement (the connection is lost on the way, or the
 * address now belongs to another server), that statement fails. If it answers that commits wait for a synchronous
 * standby, these commits fail without a known outcome, and so do statements that wait for a lock meanwhile: new
 * statements fail at once until no commit has waited that long.
 */
export class WatchedPool extends pg.Pool {
  /** Runs on each new connection before it is used. */
  check: (client: pg.ClientBase) => Promise<void> = async () => {}
  readonly #inUse = new Map<pg.PoolClient, Progress>()
  #isUnavailable = false
  #isProbing = false

  /** `setUp`: a statement that each new connection begins with. */
  constructor(config: pg.PoolConfig, setUp: string) {
    // The pool awaits the promise that `onConnect` returns, although its type does not say so.
    const onConnect: (client: pg.ClientBase) => unknown = async (client) =>
      await this.#begin(client as pg.PoolClient, setUp)
    super({ ...config, onConnect })
    this.on('acquire', (client) => this.#inUse.set(client, { bytesRead: -1, since: 0, isSuspected: false }))
    this.on('release', (_error, client) => this.#inUse.delete(client))
    this.on('remove', (client) => this.#inUse.delete(client))
    const timer = setInterval(() => {
      if (this.ended) clearInterval(timer)
      else this.#checkStatements()
    }, pollEveryMs).unref()
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: ConnectCallback): void
  override connect(callback?: ConnectCallback): unknown {
    if (!this.#isUnavailable) return callback ? super.connect(callback) : super.connect()
    const error = new DatabaseUnavailable(
      'the database does not answer, or no synchronous standby confirms its commits',
    )
    if (!callback) return Promise.reject(error)
    process.nextTick(() => callback(error, undefined, () => {}))
  }

  async #begin(client: pg.PoolClient, setUp: string): Promise<void> {
    this.#inUse.set(client, { bytesRead: -1, since: 0, isSuspected: false })
    try {
      await client.query(setUp)
      await this.check(client)
    } catch (error) {
      this.#inUse.delete(client)
      throw error
    }
  }

  /** Finds statements that get no answer. */
  #checkStatements(): void {
    const now = performance.now()
    const unanswered: Client[] = []
    for (const [one, seen] of this.#inUse) {
      const client = one as Client
      const { bytesRead } = client.connection.stream
      if (client.readyForQuery || bytesRead !== seen.bytesRead)
        this.#inUse.set(client, { bytesRead, since: now, isSuspected: false })
      else if (now - seen.since >= unansweredMaxMs) unanswered.push(client)
    }
    if (this.#isProbing || (unanswered.length === 0 && !this.#isUnavailable)) return
    this.#isProbing = true
    void this.#probeServer(unanswered).finally(() => {
      this.#isProbing = false
    })
  }

  async #probeServer(unanswered: Client[]): Promise<void> {
    const observed = unanswered.map((client) => ({ client, bytesRead: client.connection.stream.bytesRead }))
    const answer = await probe(this.options)
    const isUnanswered = ({ client, bytesRead }: (typeof observed)[number]) =>
      this.#inUse.has(client) && !client.readyForQuery && client.connection.stream.bytesRead === bytesRead
    this.#isUnavailable = answer === 'unavailable' || (answer !== 'alive' && answer.unconfirmed.size > 0)
    if (answer === 'alive') return
    for (const { client } of observed.filter(isUnanswered)) {
      const seen = this.#inUse.get(client)
      if (answer === 'unavailable') fail(client, 'the database does not answer')
      else if (answer.unconfirmed.has(client.processID)) fail(client, 'no synchronous standby confirms the commit')
      else if (answer.busy.has(client.processID) || !seen) continue
      // Only the second time: its answer may have been on the way.
      else if (seen.isSuspected) fail(client, 'the connection to the database was lost')
      else seen.isSuspected = true
    }
  }
}

type ConnectCallback = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: unknown) => void,
) => void

function fail(client: Client, reason: string): void {
  client.connection.stream.destroy(new DatabaseUnavailable(reason))
}

/**
 * Processes of the server that work on a statement, and those of them whose commit waits for a standby, or that wait
 * for a lock meanwhile: its holder may be such a commit.
 */
type Working = { busy: ReadonlySet<number>; unconfirmed: ReadonlySet<number> }

/**
 * Asks the server on a new connection which of its processes work on a statement. `alive`: it answers, but not with
 * the list, for example because it has no free connection or a pooler hides its processes.
 */
async function probe(config: pg.PoolConfig): Promise<'unavailable' | 'alive' | Working> {
  const { Client = pg.Client } = config as { Client?: typeof pg.Client }
  const client = new Client({ ...config, pipeline: false } as pg.ClientConfig)
  client.on('error', () => {})
  const timeout = new AbortController()
  try {
    return await Promise.race([
      listBusy(client as unknown as Client),
      // If this process was paused, data that has arrived meanwhile is read first.
      sleep((config.connectionTimeoutMillis ?? 3_000) * probeShare, undefined, {
        signal: timeout.signal,
        ref: false,
      }).then(async () => {
        await new Promise((resolve) => setImmediate(resolve))
        return 'unavailable' as const
      }),
    ])
  } catch (error) {
    return error instanceof pg.DatabaseError ? 'alive' : 'unavailable'
  } finally {
    timeout.abort()
    client.end().catch(() => {})
  }
}

async function listBusy(client: Client): Promise<'alive' | Working> {
  await (client as unknown as pg.Client).connect()
  const { rows } = await client.query<{ pid: number; own: number; is_unconfirmed: boolean; is_blocked: boolean }>(`
    select pid, pg_backend_pid() as own, coalesce(wait_event_type = 'Lock', false) as is_blocked,
      coalesce(wait_event = 'SyncRep' and clock_timestamp() - query_start > interval '${standbyMaxMs} ms', false) as is_unconfirmed
    from pg_stat_activity
    where state is null or state not in ('idle', 'idle in transaction', 'idle in transaction (aborted)')`)
  const isDirect = rows[0]?.own === client.processID
  if (!isDirect) return 'alive'
  const isWaiting = rows.some((row) => row.is_unconfirmed)
  const unconfirmed = rows.filter((row) => row.is_unconfirmed || (isWaiting && row.is_blocked))
  return { busy: new Set(rows.map(({ pid }) => pid)), unconfirmed: new Set(unconfirmed.map(({ pid }) => pid)) }
}
