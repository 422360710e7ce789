import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type pg from 'pg'
import type { BaseLogger } from 'pino'
import { type Db, sql } from './sql.ts'

type Migration = { number: number; name: string; text: string; sha256: string }
type Applied = { number: number; name: string; sha256: string }

/**
 * Brings the database to the state of this code: each `NNNN_name.sql` that it has not had yet, once, in its own transaction.
 * Processes that start together wait for each other. What was applied may not have changed since: its content is compared.
 */
export async function migrate(
  db: Db,
  options: { folder: string; log: Pick<BaseLogger, 'info' | 'debug'> },
): Promise<{ applied: string[] }> {
  const migrations = readMigrations(options.folder)
  const client = await db.pool.connect()
  // A connection that breaks fails the statement under way; without a listener it would end the process as well.
  client.on('error', () => {})
  try {
    // A migration may take its time, and whoever waits for it must be patient too.
    await client.query('set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0')
    await client.query(sql`select pg_advisory_lock(${lockKey})`)
    const applied = await listApplied(client)
    checkApplied(migrations, applied)
    const pending = migrations.slice(applied.length)
    const startedAt = performance.now()
    for (const migration of pending) {
      const beganAt = performance.now()
      await apply(client, migration)
      const tookMs = Math.round(performance.now() - beganAt)
      // A slow one is worth a line of its own: the service waited for it.
      const write = tookMs >= slowMs ? options.log.info : options.log.debug
      write.call(options.log, { migration: migration.name, tookMs }, 'applied a migration')
    }
    if (pending.length > 0) {
      const tookMs = Math.round(performance.now() - startedAt)
      const [first, last] = [pending[0]?.name, pending.at(-1)?.name]
      options.log.info({ applied: pending.length, first, last, tookMs }, 'the database is up to date')
    }
    await client.query(sql`select pg_advisory_unlock(${lockKey})`)
    return { applied: pending.map((migration) => migration.name) }
  } finally {
    // Thrown away, not returned: its settings were changed, and after an error it may still hold the lock.
    client.release(true)
  }
}

const slowMs = 1_000

// Any number will do, as long as it stays the same: 'guiche' in bytes.
const lockKey = '113753976957029'

export function migrationsFolder(from?: string): string {
  return `${packageFolder(from)}/migrations`
}

/** The folder of this package, found from src/ and from dist/src/ alike. */
export function packageFolder(from: string = import.meta.dirname): string {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    if (isOurPackage(`${folder}/package.json`)) return folder
  }
  throw new Error(`no package.json of guiche stands above ${from}, so its migrations cannot be found`)
}

function isOurPackage(path: string): boolean {
  return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).name === 'guiche'
}

function readMigrations(folder: string): Migration[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  const migrations = files.sort().map((file) => readMigration(folder, file))
  // Gaps are allowed: changes that are made at the same time take their numbers in advance.
  migrations.forEach(({ number, name }, index) => {
    if (number !== migrations[index - 1]?.number) return
    throw new Error(`migration ${name} has the number of another: each migration has its own number`)
  })
  return migrations
}

function readMigration(folder: string, file: string): Migration {
  const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(file)?.[1]
  if (number === undefined) throw new Error(`${file} is no name for a migration: NNNN_what_it_does.sql, in lower case`)
  // Git may have turned the line ends on its way to this machine; that is no edit.
  const text = readFileSync(`${folder}/${file}`, 'utf8').replaceAll('\r\n', '\n')
  const sha256 = createHash('sha256').update(text).digest('hex')
  return { number: Number(number), name: file.slice(0, -'.sql'.length), text, sha256 }
}

async function listApplied(client: pg.PoolClient): Promise<Applied[]> {
  await client.query(`
    create table if not exists guiche_migrations (
      number integer primary key,
      name text not null,
      sha256 text not null,
      applied_at timestamptz not null default now()
    )`)
  const { rows } = await client.query<Applied>(sql`
    select number, name, sha256
    from guiche_migrations
    order by number`)
  return rows
}

function checkApplied(migrations: Migration[], applied: Applied[]): void {
  applied.forEach((row, index) => {
    const migration = migrations[index]
    if (migration === undefined) {
      throw new Error(
        `the database is newer than this Guichê: it has had migration ${row.name}, which is not here. Run the version that made it, or a later one.`,
      )
    }
    if (row.number === migration.number && row.name === migration.name && row.sha256 === migration.sha256) return
    throw new Error(
      `migration ${migration.name} is not what the database has had (${row.name}): an applied migration is never edited. Restore its file and write a new one.`,
    )
  })
}

async function apply(client: pg.PoolClient, migration: Migration): Promise<void> {
  const { number, name, sha256 } = migration
  try {
    await client.query('begin')
    await client.query(migration.text)
    await client.query(sql`
      insert into guiche_migrations (number, name, sha256)
      values (${number}, ${name}, ${sha256})`)
    await client.query('commit')
  } catch (cause) {
    // The connection is thrown away by the caller, and with it the transaction.
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`migration ${name} failed and left nothing behind: ${reason}`, { cause })
  }
}
