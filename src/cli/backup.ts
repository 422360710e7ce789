import { statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { type Config, readConfig } from '../config.ts'
import { attachOrStart, openDatabase } from '../database.ts'
import { discardRestored, findRecoveredUntil, restoreBackup, writeBackup } from '../db/embedded-backup.ts'
import { hasCode } from '../db/embedded-process.ts'
import { dayOf } from '../lib/brasilia.ts'
import { systemClock } from '../lib/clock.ts'
import { createLog } from '../log.ts'
import { findBreaches } from '../verification.ts'
import { version } from '../version.ts'
import { toEnd } from './arguments.ts'
import { byOf } from './context.ts'
import { print } from './print.ts'

/** `guiche backup` and `guiche restore`: the embedded PostgreSQL, which has no tools of its own. */
export function backupCommands(program: Command): void {
  program
    .command('backup')
    .argument('<file>', 'the file to write, such as guiche.tar.gz')
    .option('--json', 'print JSON')
    .action(async (name: string, { json }: { json?: boolean }) => {
      const file = resolve(name)
      const { dataDir, ...config } = embeddedConfig()
      assertDatabase(dataDir)
      const server = await attachOrStart({ dataDir, log: createLog({ ...config, logLevel: 'silent' }) })
      try {
        const { connectionString } = server
        const { bytes } = await writeBackup({ connectionString, file, guiche: version, now: systemClock.now() })
        print({ file, bytes }, { json, note: backupNote })
      } finally {
        await server.stop()
      }
    })

  program
    .command('restore')
    .argument('<file>', 'a file that `guiche backup` wrote')
    .option('--wal <folder>', 'archived write-ahead log: continue after the backup with what was committed then')
    .option('--until <time>', 'with --wal, only up to this time, such as 2027-01-31T12:00:00-03:00', toEnd)
    .option('--json', 'print JSON')
    .action(async (file: string, { json, wal, until }: { json?: boolean; wal?: string; until?: Date }) => {
      if (until && wal === undefined) throw new Error('--until needs --wal: a backup alone has one state only.')
      const config = embeddedConfig()
      const log = createLog({ ...config, logLevel: 'silent' })
      const { dataDir } = config
      const backup = { file: resolve(file), wal, until, by: byOf(program) }
      const { startedAt } = await restoreBackup({ ...backup, dataDir, log })
      // Opening a restored database freezes its payouts.
      const database = await openDatabase({ config, log, role: 'service' }).catch(async (error: Error) => {
        const { isKept, logEnd } = await discardRestored({ dataDir, log })
        const left = isKept ? `left a database in ${dataDir} whose payouts are frozen` : 'left no database'
        throw new Error(`The restore failed and ${left}: ${error.message}\npostgres.log ends with:\n${logEnd}`)
      })
      try {
        const breaches = await findBreaches(database.db)
        const recoveredUntil = wal !== undefined && { recoveredUntil: await findRecoveredUntil(database.db) }
        const restored = { dataDir, backupOf: startedAt, ...recoveredUntil, breaches: breaches.length }
        print(restored, { json, note: toRestoreNote(startedAt) })
        if (breaches.length > 0) process.exitCode = 1
      } finally {
        await database.close()
      }
    })
}

/** Otherwise a new database would be made, and a backup of it: a timer may run in another folder than the service. */
function assertDatabase(dataDir: string): void {
  try {
    statSync(join(dataDir, 'postgres'))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) throw new Error(`${dataDir} has no database: set DATA_DIR to that of the service.`)
  }
}

const backupNote =
  'Keep it on another machine, and SECRET_KEY in a third place. `npx guiche restore` makes a database from it.'

function toRestoreNote(startedAt: string): string {
  return `Payouts are frozen, because this database does not know what was paid out after the backup. Start the service: it reads
the acquirers' lists from where it had read them when the backup was made, but at most the last seven days. Decide what
\`npx guiche reconcile --from ${dayOf(new Date(startedAt))}\` and \`npx guiche suspense list\` show, then end the freeze with
\`npx guiche ledger release\`.
PostgreSQL archives nothing from this database: docs/backups.md says how to turn that on again, with a new folder.`
}

function embeddedConfig(): Config {
  const config = readConfig(process.env)
  if (config.databaseUrl === null) return config
  throw new Error('DATABASE_URL is set: back up and restore your own PostgreSQL with its tools. See docs/backups.md.')
}
