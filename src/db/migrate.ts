import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type pg from 'pg'
import type { BaseLogger } from 'pino'
import { type Db, sql } from './sql.ts'

type Migration = { number: number; name: string; text: string; sha256: string }
type Applied = { number: number; name: string; sha256: string }

/**
 * Migrates the database to the version of this code: applies each new `NNNN_name.sql` once, in its own transaction.
 * Processes that start together wait for each other. An applied migration must not have changed: its content is
 * compared.
 */
export async function migrate(
  db: Db,
  options: { folder: string; log: Pick<BaseLogger, 'info' | 'debug'> },
): Promise<{ applied: string[] }> {
  const migrations = readMigrations(options.folder)
  const client = await db.pool.connect()
  // A broken connection fails its statement; without a listener it would also end the process.
  client.on('error', () => {})
  try {
    // A migration may take long, and processes that wait for it must be patient too.
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
      // A slow migration gets a log line, because the service waited for it.
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
    // Destroyed, not returned to the pool: its settings were changed, and after an error it may still hold the lock.
    client.release(true)
  }
}

const slowMs = 1_000

// Any fixed number: 'guiche' in bytes.
const lockKey = '113753976957029'

export function migrationsFolder(from?: string): string {
  return `${packageFolder(from)}/migrations`
}

/** The folder of this package, found both from src/ and from dist/src/. */
export function packageFolder(from: string = import.meta.dirname): string {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    if (isOurPackage(`${folder}/package.json`)) return folder
  }
  throw new Error(`no package.json of guiche was found above ${from}, so its migrations cannot be found`)
}

function isOurPackage(path: string): boolean {
  return existsSync(path) && JSON.parse(readFileSync(path, 'utf8')).name === 'guiche'
}

function readMigrations(folder: string): Migration[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'))
  const migrations = files.sort().map((file) => readMigration(folder, file))
  // Gaps are allowed: concurrent changes reserve their numbers in advance.
  migrations.forEach(({ number, name }, index) => {
    if (number !== migrations[index - 1]?.number) return
    throw new Error(`migration ${name} has the same number as another: each migration needs its own number`)
  })
  return migrations
}

function readMigration(folder: string, file: string): Migration {
  const number = /^(\d{4})_[a-z0-9_]+\.sql$/.exec(file)?.[1]
  if (number === undefined)
    throw new Error(`${file} is not a valid migration name: use NNNN_what_it_does.sql, in lower case`)
  // Git may have changed the line endings on this machine; that is not an edit.
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
  const [first] = applied
  if (first && first.name !== migrations[0]?.name) {
    throw new Error(
      `the database was created by a Guichê before 0.1.0 (its first migration is ${first.name}) and cannot be migrated. Set DATABASE_URL or DATA_DIR to an empty database; to read the old data, run the version that created it.`,
    )
  }
  applied.forEach((row, index) => {
    const migration = migrations[index]
    if (migration === undefined) {
      throw new Error(
        `the database is newer than this Guichê: it has migration ${row.name}, which this version lacks. Run the version that applied it, or a later one.`,
      )
    }
    if (row.number === migration.number && row.name === migration.name && row.sha256 === migration.sha256) return
    throw new Error(
      `migration ${migration.name} differs from the one applied to the database (${row.name}): an applied migration is never edited. Restore its file and write a new one.`,
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
    // The caller destroys the connection, and with it the transaction.
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`migration ${name} failed and was rolled back: ${reason}`, { cause })
  }
}
