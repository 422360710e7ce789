import { existsSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { checkConnections, checkDurability, checkPooler } from './db/durability.ts'
import { attachEmbeddedPostgres, FolderInUse, startEmbeddedPostgres } from './db/embedded.ts'
import { type Restored, restoredFile } from './db/embedded-place.ts'
import { checkSchema, migrate, migrationsFolder } from './db/migrate.ts'
import { checkWritable, connect, type Db, isInRecovery } from './db/sql.ts'
import { freezeRestored } from './ledger/payout-freeze.ts'
import { systemClock } from './lib/clock.ts'
import { createCountedLine } from './lib/counted-line.ts'
import { reviewAfterLostCommits } from './withdrawals/store.ts'

export type OpenDatabase = { db: Db; close(): Promise<void> }

type Options = {
  config: Config
  log: Logger
  /**
   * Without DATABASE_URL, a service (and `guiche restore`) starts the embedded server. Its cluster workers use that
   * server. A tool uses a running server, or starts one for a while.
   */
  role: 'service' | 'worker' | 'tool'
  /** By default a service migrates the schema, and a tool only checks it. A worker does neither. */
  schema?: 'migrate' | 'check' | 'ignore'
  /**
   * Called when the embedded server ended and could not be restarted. For a service only: a tool fails, and the user
   * runs the command again.
   */
  onLost?: ((reason: Error) => void) | undefined
}

/** Connects to the PostgreSQL of DATABASE_URL, or to the one that ships with Guichê, which it starts if needed. */
export async function openDatabase(options: Options): Promise<OpenDatabase> {
  const { config, role, log, schema = schemaOf[role] } = options
  const server = await findServer(options)
  const db = connect({
    connectionString: server.connectionString,
    connectionsMax: config.databaseConnectionsMax,
    waitMs: config.databaseWaitMs,
    // Only these two fields: the driver attaches its whole client object to the error.
    onError: createCountedLine(({ name, message }: Error, count) =>
      log.warn({ name, reason: message, count }, 'database connections broke'),
    ),
  })
  const close = async () => {
    await db.pool.end()
    // Last, after everything that uses it has ended.
    await server.stop()
  }
  try {
    await checkDurability(db)
    await checkPooler(db)
    if (config.databaseUrl === null) await untilRecovered(db, config.dataDir)
    await checkWritable(db)
    if (role === 'service') await checkConnections(db, config)
    const folder = migrationsFolder()
    if (schema === 'migrate') await migrate(db, { folder, log })
    if (role === 'service' && config.databaseUrl === null) await freezeIfRestored(db, config.dataDir)
    if (schema === 'check') await checkSchema(db, { folder })
    return { db, close }
  } catch (error) {
    await close()
    throw error
  }
}

const schemaOf = { service: 'migrate', worker: 'ignore', tool: 'check' } as const

const recoveryPollMs = 200

/** A restored server answers reads while it still replays the archived log. A standby never finishes that. */
async function untilRecovered(db: Db, dataDir: string): Promise<void> {
  while ((await isInRecovery(db)) && !existsSync(`${dataDir}/postgres/standby.signal`)) await sleep(recoveryPollMs)
}

/** A restored database does not know what was paid out after the backup. */
async function freezeIfRestored(db: Db, dataDir: string): Promise<void> {
  const path = join(dataDir, 'postgres', restoredFile)
  if (!existsSync(path)) return
  const restored: Restored = JSON.parse(await readFile(path, 'utf8'))
  await db.transaction(async (tx) => {
    const now = systemClock.now()
    await freezeRestored(tx, { ...restored, now })
    await reviewAfterLostCommits(tx, now)
  })
  await rm(path)
}

type RunningServer = { connectionString: string; stop(): Promise<void> }

const nothingToStop = { stop: async () => {} }

async function findServer({ config, log, role, onLost }: Options): Promise<RunningServer> {
  const { dataDir, databaseUrl } = config
  if (databaseUrl !== null) return { connectionString: databaseUrl, ...nothingToStop }
  if (role === 'service') return await startEmbeddedPostgres({ dataDir, log, ...(onLost && { onLost }) })
  if (role === 'tool') return await attachOrStart({ dataDir, log })
  const running = await attachEmbeddedPostgres({ dataDir })
  if (running === null) throw new Error('The embedded PostgreSQL has stopped: restart the service.')
  return { ...running, ...nothingToStop }
}

/** How long to wait for whoever holds the folder but has no server yet: a service or a command that is starting. */
const startMaxMs = 15_000
const startPollMs = 200

/** Uses the embedded server of a running service, or starts one for a while. */
export async function attachOrStart({ dataDir, log }: { dataDir: string; log: Logger }): Promise<RunningServer> {
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
