import { existsSync, realpathSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { makePlace, type Place } from './embedded-place.ts'
import { endPostmaster, findPostmaster, hasCode, pollEveryMs } from './embedded-process.ts'
import { type Log, type Server, startServer } from './embedded-server.ts'
import { lockFolder } from './folder-lock.ts'

export type EmbeddedPostgres = {
  connectionString: string
  /** Ends PostgreSQL and resolves when it has ended. The last thing a process does. */
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL that ships with Guichê on `<dataDir>/postgres`, making the database at the first start. It listens on
 * a Unix socket in a private folder, nothing else. One process at a time owns it; another gets an error that names the first.
 *
 * A server that a killed process left behind is used as it is, once it is ready, or waited for when it is shutting down.
 */
export async function startEmbeddedPostgres(options: { dataDir: string; log: Log }): Promise<EmbeddedPostgres> {
  const { log } = options
  const place = makePlace(options.dataDir)
  const lock = await lockFolder(`${place.dataDir}/postgres.lock`)
  if ('heldBy' in lock) {
    throw new Error(
      `another Guichê (${lock.heldBy}) is using DATA_DIR ${place.dataDir}: stop it, or choose another DATA_DIR.`,
    )
  }
  if (!lock.held) log.warn('DATA_DIR cannot be locked here: see that only one Guichê uses it')
  try {
    const server = (await takeOver(place, log)) ?? (await startServer(place, log))
    try {
      await ensureDatabase(server.socketFolder)
    } catch (error) {
      await server.stop()
      throw error
    }
    let stopped: Promise<void> | undefined
    return {
      connectionString: connectionString(server.socketFolder),
      stop: () => {
        // Asked twice (a signal during a stop), it waits for the same end.
        stopped ??= server.stop().finally(() => lock.release())
        return stopped
      },
    }
  } catch (error) {
    lock.release()
    throw error
  }
}

/** How to connect to the server that runs on this data folder, for tools beside it; null when there is none. */
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

// Longer than any ordinary start; recovery after a crash may take more, and then the caller is told to try again.
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
      return { socketFolder, stop: () => endPostmaster(pid, place.folder) }
    }
    if (!waited) log.info({ pid }, 'waiting for the PostgreSQL of an earlier process')
    await sleep(pollEveryMs)
  }
}

/** Makes role and database at the first start, and again after a kill between the two. */
async function ensureDatabase(socketFolder: string): Promise<void> {
  if ((await whyNoDatabase(socketFolder)) === null) return
  const client = new pg.Client({ connectionString: connectionString(socketFolder, 'postgres', 'postgres') })
  // A connection that breaks fails its statement; without a listener it would end the process as well.
  client.on('error', () => {})
  await client.connect()
  try {
    const role = await client.query("select from pg_roles where rolname = 'guiche'")
    if (role.rows.length === 0) await client.query('create role guiche login createdb createrole')
    const database = await client.query("select from pg_database where datname = 'guiche'")
    if (database.rows.length === 0) await client.query('create database guiche owner guiche')
  } finally {
    await client.end()
  }
}

/** Tries to connect: null when that works. */
async function whyNoDatabase(socketFolder: string): Promise<null | 'missing' | 'not ready'> {
  const client = new pg.Client({ connectionString: connectionString(socketFolder), connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return null
  } catch (error) {
    // invalid_authorization_specification: no such role; invalid_catalog_name: no such database.
    return hasCode(error, '28000') || hasCode(error, '3D000') ? 'missing' : 'not ready'
  }
}

/** Every part is said, so that no PG* variable of the environment fills a gap. */
function connectionString(socketFolder: string, user = 'guiche', database = 'guiche'): string {
  return `postgresql://${user}@localhost:5432/${database}?host=${encodeURIComponent(socketFolder)}&sslmode=disable`
}
