import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { pino } from 'pino'
import { inject } from 'vitest'
import { startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { hasCode } from '../../src/db/embedded-process.ts'
import { migrate, migrationsFolder } from '../../src/db/migrate.ts'
import { connect } from '../../src/db/sql.ts'

const log = pino({ level: 'silent' })

/**
 * Copies a stopped PostgreSQL with a migrated database into a data folder, as an idle service leaves it: one that
 * creates its own takes four more seconds of CPU to start.
 */
export async function copyMigrated(dataDir: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', `${await findMigrated()}/.`, dataDir])
}

/** The first test of a run that needs one makes it for all. */
async function findMigrated(): Promise<string> {
  // In the folder of the run's PostgreSQL, which is removed at the end.
  const folder = join(dirname(new URL(inject('postgres')).searchParams.get('host') ?? ''), 'migrated')
  await makeOnce(folder, createMigrated)
  return folder
}

/** Makes a folder that other processes may be making now, and waits for them. `make` fills it under another name. */
export async function makeOnce(folder: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  const unfinished = `${folder}.new`
  while (!existsSync(folder)) {
    if (!(await createFolder(unfinished))) {
      await sleep(50)
      continue
    }
    try {
      // Another process may have finished the folder just before this one created `unfinished`.
      if (existsSync(folder)) await rm(unfinished, { recursive: true })
      else {
        await make(unfinished)
        await rename(unfinished, folder)
      }
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true })
      throw error
    }
  }
}

/** False if the folder exists already. */
async function createFolder(folder: string): Promise<boolean> {
  try {
    await mkdir(folder)
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

async function createMigrated(dataDir: string): Promise<void> {
  const postgres = await startEmbeddedPostgres({ dataDir, log })
  const { connectionString } = postgres
  const db = connect({ connectionString, connectionsMax: 1, waitMs: 60_000, onError: () => {} })
  await migrate(db, { folder: migrationsFolder(), log })
  await db.pool.end()
  await postgres.stop()
  // A large machine would have 2 GB, and a start then takes twice the CPU.
  await appendFile(join(dataDir, 'postgres/postgresql.conf'), "shared_buffers = '32MB'\n")
}
