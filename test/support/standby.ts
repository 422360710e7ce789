import { appendFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { asAdministrator, type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/db/embedded.ts'
import { restoreBackup, writeBackup } from '../../src/db/embedded-backup.ts'
import { openDatabaseLine } from './database-line.ts'
import { freeze, postgresProcesses, postmasterOf } from './postmaster.ts'
import { makeDataDir } from './process.ts'

const log = pino({ level: 'silent' })

export type Standby = {
  connectionString: string
  /** As its administrator. */
  query<Row extends object>(text: string): Promise<Row[]>
  /** Ends all its processes at once, as a power cut does. */
  kill(): Promise<void>
  /** Stops all its processes, as a frozen machine would. Returns what lets them go on. */
  freeze(): () => void
  start(): Promise<void>
}

export type Pair = {
  primary: string
  standby: Standby
  /** From now on nothing that the primary commits reaches the standby. */
  cut(): void
  stop(): Promise<void>
}

/**
 * Two PostgreSQL of their own: a primary, and a standby that streams its log. `prepare` runs on the primary before the
 * standby is made.
 */
export async function startPair(prepare: (connectionString: string) => Promise<void>): Promise<Pair> {
  const [one, two] = [await makeDataDir(), await makeDataDir()]
  const primary = await startEmbeddedPostgres({ dataDir: one.dataDir, log })
  await prepare(primary.connectionString)
  // The two run as different users where we are root, and neither may use the other's socket.
  const line = await openDatabaseLine(primary.connectionString)
  const { port } = new URL(line.connectionString)
  const file = join(one.dataDir, 'backup')
  await writeBackup({ connectionString: primary.connectionString, file, guiche: '0', now: new Date() })
  await restoreBackup({ dataDir: two.dataDir, file, log })
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
        // SIGQUIT ends the others at once as well; after SIGKILL they would go on with their statement.
        process.kill(postmasterOf(folder) ?? 0, 'SIGQUIT')
        await running.stop()
      },
      freeze: () => freeze(postgresProcesses(folder)),
      async start() {
        running = await startEmbeddedPostgres({ dataDir: two.dataDir, log })
      },
    },
    cut: () => line.setDown(true),
    async stop() {
      await running.stop()
      await line.stop()
      await primary.stop()
      await Promise.all([one.remove(), two.remove()])
    },
  }
}
