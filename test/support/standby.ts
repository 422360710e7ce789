import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { asAdministrator, type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { assert } from '../../src/lib/assert.ts'
import { openDatabaseProxy } from './database-proxy.ts'
import { freeze, postgresProcesses, postmasterOf } from './postmaster.ts'
import { makeMigratedDataDir } from './process.ts'

const log = pino({ level: 'silent' })

export type Standby = {
  connectionString: string
  /** Runs a statement as the administrator. */
  query<Row extends object>(text: string): Promise<Row[]>
  /** Ends all its processes at once, as a power cut does. */
  kill(): Promise<void>
  /** Suspends all its processes, as if its machine had frozen. Returns a function that resumes them. */
  freeze(): () => void
  start(): Promise<void>
}

export type Pair = {
  primary: string
  standby: Standby
  /** From now on nothing that the primary commits reaches the standby. */
  disconnectStandby(): void
  stop(): Promise<void>
}

/** Two PostgreSQL servers with copies of one migrated database: a primary, and a standby that streams its WAL. */
export async function startPair(): Promise<Pair> {
  const [one, two] = [await makeMigratedDataDir(), await makeMigratedDataDir()]
  const primary = await startEmbeddedPostgres({ dataDir: one.dataDir, log })
  const proxy = await openDatabaseProxy(primary.connectionString)
  const { port } = new URL(proxy.connectionString)
  const folder = join(two.dataDir, 'postgres')
  await appendFile(
    join(folder, 'postgresql.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres sslmode=disable'\nwal_retrieve_retry_interval = 100ms\n`,
  )
  await writeFile(join(folder, 'standby.signal'), '')
  let running: EmbeddedPostgres = await startEmbeddedPostgres({ dataDir: two.dataDir, log })
  const { connectionString } = running
  return {
    primary: primary.connectionString,
    standby: {
      connectionString,
      async query(text) {
        const client = new pg.Client({ connectionString: asAdministrator(connectionString) })
        await client.connect()
        try {
          return (await client.query(text)).rows
        } finally {
          await client.end()
        }
      },
      async kill() {
        // After SIGQUIT the postmaster ends its children at once; after SIGKILL they would finish their statements.
        const postmaster = postmasterOf(folder)
        assert(postmaster !== null, 'the standby runs')
        process.kill(postmaster, 'SIGQUIT')
        await running.stop()
      },
      freeze: () => freeze(postgresProcesses(folder)),
      async start() {
        running = await startEmbeddedPostgres({ dataDir: two.dataDir, log })
      },
    },
    disconnectStandby: () => proxy.setDown(true),
    async stop() {
      await running.stop()
      await proxy.stop()
      await primary.stop()
      await Promise.all([one.remove(), two.remove()])
    },
  }
}
