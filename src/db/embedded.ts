import { existsSync, lchownSync, realpathSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { makePlace, type Place } from './embedded-place.ts'
import { endPostmaster, findPostmaster, hasCode, pollEveryMs } from './embedded-process.ts'
import { type Log, type Server, startServer } from './embedded-server.ts'
import { type FolderLock, type LockHolder, lockFolder } from './folder-lock.ts'

export type EmbeddedPostgres = {
  connectionString: string
  /** Stops PostgreSQL and resolves when it has ended. The last thing that a process does. */
  stop(): Promise<void>
}

type Options = {
  dataDir: string
  log: Log
  /** A command holds the folder only briefly, so a service waits for it. */
  holder?: LockHolder
  /**
   * Called when the server ended unexpectedly and could not be restarted: the process cannot do its work any more.
   * Without it the server is not restarted.
   */
  onLost?: (reason: Error) => void
  restartPausesMs?: number[]
}

/**
 * Starts the PostgreSQL that ships with Guichê on `<dataDir>/postgres`, and creates the database at the first start. It
 * listens only on a Unix socket in a private folder. One process at a time owns it. Another one gets an error that
 * names the owner; if the owner is a command, a service first waits for it to end. A server left behind by a killed
 * process is used once it is ready, or waited for if it is shutting down.
 */
export async function startEmbeddedPostgres({
  dataDir,
  log,
  holder = 'service',
  onLost,
  restartPausesMs = defaultRestartPausesMs,
}: Options): Promise<EmbeddedPostgres> {
  const place = makePlace(dataDir)
  const lock = await lockPlace(place, { holder, log })
  if (!lock.held) log.warn('DATA_DIR cannot be locked on this system: make sure that only one Guichê uses it')
  try {
    const server = (await takeOver(place, log)) ?? (await startServer(place, log))
    try {
      await ensureDatabase(server.socketFolder)
    } catch (error) {
      await server.stop()
      throw error
    }
    const kept = onLost ? keepRunning(server, { place, log, onLost, restartPausesMs }) : server
    let stopped: Promise<void> | undefined
    return {
      connectionString: connectionString(server.socketFolder),
      stop: () => {
        // A second call (a signal during a stop) waits for the same end.
        stopped ??= kept.stop().finally(() => lock.release())
        return stopped
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** How long a service waits for a command. A few commands take longer: then the service fails, and a person decides. */
const commandMaxMs = 30_000
const lockPollMs = 200

/**
 * Takes the lock of the folder. Waits while a command holds it: cron runs commands, and they must not keep a service
 * from starting.
 */
export async function lockPlace(place: Place, { holder, log }: { holder: LockHolder; log: Log }): Promise<FolderLock> {
  const giveUpAt = Date.now() + commandMaxMs
  const file = `${place.dataDir}/postgres.lock`
  for (let waited = false; ; waited = true) {
    const lock = await lockFolder(file, holder)
    if (!('lockedBy' in lock)) {
      // Root may have made it in the DATA_DIR of an ordinary user, who must be able to lock it afterwards.
      const { uid, gid } = statSync(place.dataDir)
      if (place.user !== null) lchownSync(file, uid, gid)
      return lock
    }
    // A command does not wait here: its caller tries to use the server of whoever holds the folder.
    if (holder === 'command' || !lock.isCommand || Date.now() > giveUpAt)
      throw new FolderInUse(
        lock.isCommand
          ? `a command of Guichê (${lock.lockedBy}) is using DATA_DIR ${place.dataDir}: wait until it has ended, then start again.`
          : `another Guichê (${lock.lockedBy}) is using DATA_DIR ${place.dataDir}: stop it, or choose another DATA_DIR.`,
      )
    if (!waited)
      log.warn(
        { lockedBy: lock.lockedBy },
        `a command is using DATA_DIR: waiting for it to end, ${commandMaxMs / 1000} seconds at most`,
      )
    await sleep(lockPollMs)
  }
}

export class FolderInUse extends Error {}

/**
 * The pauses before each restart of a server that ended unexpectedly. After an out-of-memory kill it is back at once.
 * If the disk is full no restart helps, and after the last one a supervisor or a person has to act.
 */
const defaultRestartPausesMs = [0, 1_000, 2_000, 5_000, 10_000, 20_000]
/** After running for this long a server counts as healthy: its end is a new event, and the pauses start over. */
const healthyMs = 10 * 60_000

/** Restarts the server whenever it ends, until it is stopped or the last restart has failed. */
function keepRunning(
  first: Server,
  {
    place,
    log,
    onLost,
    restartPausesMs,
  }: { place: Place; log: Log; onLost: (reason: Error) => void; restartPausesMs: number[] },
): Pick<Server, 'stop'> {
  const stopping = new AbortController()
  let current: Server | null = first
  const running = watch()
  return {
    stop: async () => {
      stopping.abort()
      // The watcher of a running server may see its end late or never, because nothing keeps this process alive for it.
      // A start in progress finishes first.
      await (current ? current.stop() : running)
    },
  }

  async function watch(): Promise<void> {
    for (let failures = 0; current !== null; ) {
      const startedAt = performance.now()
      await current.ended
      if (stopping.signal.aborted) return
      if (performance.now() - startedAt > healthyMs) failures = 0
      current = null
      for (; current === null && !stopping.signal.aborted; failures += 1) current = await startAgain(failures)
      // Stopped during the start, when the caller did not know of this server.
      if (stopping.signal.aborted) return await current?.stop()
    }
  }

  async function startAgain(failures: number): Promise<Server | null> {
    const pauseMs = restartPausesMs[failures]
    if (pauseMs === undefined) {
      stopping.abort()
      onLost(new Error(`PostgreSQL ended unexpectedly and did not run again after ${failures} starts`))
      return null
    }
    await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => {})
    if (stopping.signal.aborted) return null
    try {
      const server = await startServer(place, log)
      log.warn({ start: failures + 1 }, 'PostgreSQL was restarted')
      return server
    } catch (error) {
      log.error({ err: error, start: failures + 1 }, 'PostgreSQL could not be restarted')
      return null
    }
  }
}

/** How tools and cluster workers connect to the server that runs on this data folder; null if none runs. */
export async function attachEmbeddedPostgres(options: {
  dataDir: string
}): Promise<{ connectionString: string } | null> {
  if (!existsSync(options.dataDir)) return null
  const folder = `${realpathSync(options.dataDir)}/postgres`
  const giveUpAt = Date.now() + attachMaxMs
  while (Date.now() < giveUpAt) {
    const postmaster = findForeignPostmaster(folder)
    if (postmaster === null) return null
    if (postmaster.state === 'ready' && (await whyNoDatabase(postmaster.socketFolder)) === null) {
      return { connectionString: connectionString(postmaster.socketFolder) }
    }
    await sleep(pollEveryMs)
  }
  throw new Error(`PostgreSQL on ${folder} runs and does not answer: try again, and see its log beside that folder.`)
}

// Longer than any ordinary start. Recovery after a crash may take longer; then the caller is asked to try again.
const attachMaxMs = 15_000

function findForeignPostmaster(folder: string) {
  try {
    return findPostmaster(folder)
  } catch (error) {
    if (!hasCode(error, 'EACCES')) throw error
    throw new Error(`${folder} belongs to another user: run this as the user Guichê runs as.`, { cause: error })
  }
}

async function takeOver(place: Place, log: Log): Promise<Server | null> {
  for (let waited = false; ; waited = true) {
    const postmaster = findPostmaster(place.folder)
    if (postmaster === null) return null
    const { pid, socketFolder } = postmaster
    if (postmaster.state === 'ready' && (await whyNoDatabase(socketFolder)) !== 'not ready') {
      log.info({ pid }, 'using the PostgreSQL that an earlier process left running')
      return { socketFolder, ended: untilEnded(place, pid), stop: () => endPostmaster(pid, place.folder) }
    }
    if (!waited) log.info({ pid }, 'waiting for the PostgreSQL of an earlier process')
    await sleep(pollEveryMs)
  }
}

// It is not a child of this process, so only polling shows that it has ended.
const endPollMs = 1_000

async function untilEnded(place: Place, pid: number): Promise<void> {
  while (findPostmaster(place.folder)?.pid === pid) await sleep(endPollMs, undefined, { ref: false })
}

/** Creates the role and the database at the first start, and again after a kill between the two. */
async function ensureDatabase(socketFolder: string): Promise<void> {
  if ((await whyNoDatabase(socketFolder)) === null) return
  const client = new pg.Client({ connectionString: connectionString(socketFolder, 'postgres', 'postgres') })
  // A broken connection fails its statement; without a listener it would also end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    const role = await client.query("select from pg_roles where rolname = 'guiche'")
    if (role.rows.length === 0) await client.query('create role guiche login')
    const database = await client.query("select from pg_database where datname = 'guiche'")
    if (database.rows.length === 0) await client.query('create database guiche owner guiche')
  } finally {
    await client.end()
  }
}

/** Tries to connect; null if that works. */
async function whyNoDatabase(socketFolder: string): Promise<null | 'missing' | 'not ready'> {
  const client = new pg.Client({ connectionString: connectionString(socketFolder), connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return null
  } catch (error) {
    // invalid_authorization_specification: the role does not exist; invalid_catalog_name: the database does not exist.
    return hasCode(error, '28000') || hasCode(error, '3D000') ? 'missing' : 'not ready'
  }
}

/** The connection of the administrator: the service's own role may not create databases. */
export function asAdministrator(connectionString: string): string {
  const url = new URL(connectionString)
  url.username = 'postgres'
  return url.href
}

/** Every part is explicit, so that no PG* variable of the environment fills a gap. */
function connectionString(socketFolder: string, user = 'guiche', database = 'guiche'): string {
  return `postgresql://${user}@localhost:5432/${database}?host=${encodeURIComponent(socketFolder)}&sslmode=disable`
}
