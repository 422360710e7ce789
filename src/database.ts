import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { findSetting } from './auth/store.ts'
import type { Config } from './config.ts'
import { checkConnections, checkDurability } from './db/durability.ts'
import { attachEmbeddedPostgres, FolderInUse, startEmbeddedPostgres } from './db/embedded.ts'
import { migrate, migrationsFolder } from './db/migrate.ts'
import { connect, type Db } from './db/sql.ts'
import { migrateJobs } from './jobs/jobs.ts'

export type OpenDatabase = { db: Db; close(): Promise<void> }

type Options = {
  config: Config
  log: Logger
  /**
   * The service insists on an embedded server of its own. One of its processes uses that server, and a tool uses one that runs, or starts it
   * for a while.
   */
  role: 'service' | 'sibling' | 'tool'
  /** Called when the embedded server ended and could not be started again. For a service only: a tool fails then, and is called again. */
  onLost?: ((reason: Error) => void) | undefined
}

/** Connects to PostgreSQL: that of DATABASE_URL, or the one that ships with Guichê, started here. The schema is brought up to date. */
export async function openDatabase(options: Options): Promise<OpenDatabase> {
  const { config, role, log } = options
  const server = await findServer(options)
  const db = connect({
    connectionString: server.connectionString,
    connectionsMax: config.databaseConnectionsMax,
    // Not the whole error: the driver hangs its connection on it.
    onError: ({ name, message }) => log.warn({ name, reason: message }, 'an idle database connection broke'),
  })
  const close = async () => {
    await db.pool.end()
    // Last: all that uses it has ended.
    await server.stop()
  }
  try {
    await checkDurability(db)
    if (role === 'service') await checkConnections(db, config)
    // Whoever started a sibling has done that.
    if (role !== 'sibling') {
      await migrate(db, { folder: migrationsFolder(), log })
      await migrateJobs(db, log)
    }
    if (role === 'service') await refuseHalfSeeded(db)
    return { db, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** While a database is seeded it has no indexes, and keeps nothing unique: no money may come near it. */
async function refuseHalfSeeded(db: Db): Promise<void> {
  const seed: { state?: string } = JSON.parse((await findSetting(db, 'seed')) ?? '{}')
  if (seed.state === 'running')
    throw new Error('This database is being seeded, or a seed was cut short: wait, or run `npx guiche seed` again.')
}

type RunningServer = { connectionString: string; stop(): Promise<void> }

const nothingToStop = { stop: async () => {} }

async function findServer({ config, log, role, onLost }: Options): Promise<RunningServer> {
  const { dataDir, databaseUrl } = config
  if (databaseUrl !== null) return { connectionString: databaseUrl, ...nothingToStop }
  if (role === 'service') return await startEmbeddedPostgres({ dataDir, log, ...(onLost && { onLost }) })
  if (role === 'tool') return await attachOrStart({ dataDir, log })
  const running = await attachEmbeddedPostgres({ dataDir })
  if (running === null) throw new Error('The embedded PostgreSQL has ended: restart the service.')
  return { ...running, ...nothingToStop }
}

/** A service that is starting holds the folder and has no server yet: that takes seconds. */
const startMaxMs = 15_000
const startPollMs = 200

async function attachOrStart({ dataDir, log }: { dataDir: string; log: Logger }): Promise<RunningServer> {
  const giveUpAt = Date.now() + startMaxMs
  for (;;) {
    const running = await attachEmbeddedPostgres({ dataDir })
    if (running) return { ...running, ...nothingToStop }
    try {
      return await startEmbeddedPostgres({ dataDir, log, holder: 'command' })
    } catch (error) {
      if (!(error instanceof FolderInUse) || Date.now() > giveUpAt) throw error
      await sleep(startPollMs)
    }
  }
}
