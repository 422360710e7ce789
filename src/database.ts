import type { Logger } from 'pino'
import { findSetting } from './auth/store.ts'
import type { Config } from './config.ts'
import { checkConnections, checkDurability } from './db/durability.ts'
import { attachEmbeddedPostgres, startEmbeddedPostgres } from './db/embedded.ts'
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

async function findServer({
  config,
  log,
  role,
}: Options): Promise<{ connectionString: string; stop(): Promise<void> }> {
  const nothingToStop = { stop: async () => {} }
  if (config.databaseUrl !== null) return { connectionString: config.databaseUrl, ...nothingToStop }
  const running = role === 'service' ? null : await attachEmbeddedPostgres({ dataDir: config.dataDir })
  if (role === 'sibling' && running === null) throw new Error('The embedded PostgreSQL has ended: restart the service.')
  return running ? { ...running, ...nothingToStop } : await startEmbeddedPostgres({ dataDir: config.dataDir, log })
}
