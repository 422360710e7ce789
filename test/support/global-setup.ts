import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { pino } from 'pino'
import type { TestProject } from 'vitest/node'
import { asAdministrator, type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { migrate, migrationsFolder } from '../../src/db/migrate.ts'
import { connect, raw } from '../../src/db/sql.ts'
import { findChromium } from './chromium.ts'
import { makeDatabaseFolder } from './database-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The PostgreSQL of this run. Its database `guiche_template` is migrated: clone it, do not change it. */
    postgres: string
    /** The built program, laid out as in dist/: for tests that start a process. */
    build: string
    /** The path of a browser, if there is one. */
    chromium: string | null
  }
}

const log = pino({ level: 'silent' })
const template = 'guiche_template'
/** Modules that tests import in processes of their own. They are built with the programs, into the same folder. */
const modules = ['src/db/embedded', 'src/db/sql', 'src/jobs/instances', 'src/jobs/jobs', 'src/log']

/**
 * Runs once per test run: builds the program, the SDK and the dashboard, and starts a PostgreSQL with a
 * migrated database to clone.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await makeDatabaseFolder('guiche-test-')
  const starting = startPostgres(dataDir)
  const stop = async () => {
    await (await starting).stop()
    await Promise.all([dataDir, buildFolder].map((folder) => rm(folder, { recursive: true, force: true })))
  }
  try {
    const [postgres] = await Promise.all([starting, bundle(), buildWorkspaces()])
    await makeTemplate(postgres.connectionString)
    project.provide('build', buildFolder)
    project.provide('chromium', await findChromium())
    project.provide('postgres', postgres.connectionString)
    return stop
  } catch (error) {
    // PostgreSQL would go on without this process.
    await stop()
    throw error
  }
}

/**
 * A separate folder for this run, so that two concurrent runs do not write the same files. It is inside dist/, where
 * packages are found and git does not look.
 */
const buildFolder = resolve(`dist/test-${process.pid}`)

async function bundle(): Promise<void> {
  await promisify(execFile)(process.execPath, ['scripts/bundle.mjs', buildFolder, ...modules])
}

/** Builds only what is older than its sources. */
async function buildWorkspaces(): Promise<void> {
  await promisify(execFile)(process.execPath, ['scripts/build.mjs', '--workspaces'])
}

async function startPostgres(dataDir: string): Promise<EmbeddedPostgres> {
  const first = await startEmbeddedPostgres({ dataDir, log })
  const server = connect({
    connectionString: asAdministrator(first.connectionString),
    connectionsMax: 1,
    waitMs: 60_000,
    onError: () => {},
  })
  // Dropping a database searches all shared buffers. A large machine would have 2 GB.
  await server.query(raw(`alter system set shared_buffers = '128MB'`))
  // Otherwise autovacuum connects to each of a hundred databases once a minute.
  await server.query(raw(`alter system set autovacuum_naptime = '1h'`))
  await server.pool.end()
  await first.stop()
  return await startEmbeddedPostgres({ dataDir, log })
}

async function makeTemplate(connectionString: string): Promise<void> {
  const server = connect({
    connectionString: asAdministrator(connectionString),
    connectionsMax: 1,
    waitMs: 60_000,
    onError: () => {},
  })
  await server.query(raw(`create database ${template} owner guiche`))
  await server.pool.end()
  const url = new URL(connectionString)
  url.pathname = template
  const db = connect({ connectionString: url.href, connectionsMax: 1, waitMs: 60_000, onError: () => {} })
  await migrate(db, { folder: migrationsFolder(), log })
  await db.pool.end()
}
