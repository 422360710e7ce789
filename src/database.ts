import type { Logger } from 'pino'
import { findSetting } from './auth/store.ts'
import type { Config } from './config.ts'
import { checkDurability } from './db/durability.ts'
import { attachEmbeddedPostgres, startEmbeddedPostgres } from './db/embedded.ts'
import { migrate, migrationsFolder } from './db/migrate.ts'
import { connect, type Db } from './db/sql.ts'
import { migrateJobs } from './jobs/jobs.ts'

export type OpenDatabase = { db: Db; close(): Promise<void> }

type Options = {
  config: Config
  log: Logger
  /** Tools, and the processes of a service that has several, use the embedded server that runs already; who is the service insists on its own. */
  isBeside: boolean
}

/** Connects to PostgreSQL: that of DATABASE_URL, or the one that ships with Guichê, started here. The schema is brought up to date. */
export async function openDatabase(options: Options): Promise<OpenDatabase> {
  const { config, log, isBeside } = options
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
    await migrate(db, { folder: migrationsFolder(), log })
    await migrateJobs(db, log)
    if (!isBeside) await refuseHalfSeeded(db)
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
  isBeside,
}: Options): Promise<{ connectionString: string; stop(): Promise<void> }> {
  const nothingToStop = { stop: async () => {} }
  if (config.databaseUrl !== null) return { connectionString: config.databaseUrl, ...nothingToStop }
  const running = isBeside ? await attachEmbeddedPostgres({ dataDir: config.dataDir }) : null
  return running ? { ...running, ...nothingToStop } : await startEmbeddedPostgres({ dataDir: config.dataDir, log })
}
