import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { BaseLogger } from 'pino'
import { type Db, detectLostClient, sql } from './sql.ts'

type Migration = {
  number: number
  name: string
  text: string
  sha256: string
  /**
   * The oldest version of the program, named by its last migration, that can run on the schema once this migration is
   * applied: this migration itself, unless its file names an earlier one.
   */
  codeSince: number
  /** Such as `create index concurrently`, which PostgreSQL refuses in a transaction. */
  isOutsideTransaction: boolean
}
type Applied = { number: number; name: string; sha256: string; codeSince: number }

/** How the database's schema and this program's migrations compare. */
export type SchemaStatus = {
  /**
   * `older`: migrations are pending. `newer`: a later version has migrated it, and this one runs on it as well.
   * `too_new`: this version does not run on it.
   */
  state: 'current' | 'older' | 'newer' | 'too_new'
  applied: string[]
  pending: string[]
  /** Applied by a later version. */
  unknown: string[]
}

/**
 * Migrates the database to the version of this code: applies each new `NNNN_name.sql` once, in its own transaction
 * unless PostgreSQL refuses that. Processes that start together wait for each other. An applied migration must not have
 * changed: its content is compared.
 */
export async function migrate(
  db: Db,
  options: { folder: string; log: Pick<BaseLogger, 'info' | 'debug'> },
): Promise<{ applied: string[] }> {
  // At most starts there is nothing to do, and so no connection to set up for it.
  if ((await findSchemaStatus(db, options)).state === 'current') return { applied: [] }
  const migrations = readMigrations(options.folder)
  const client = await db.pool.connect()
  // A broken connection fails its statement; without a listener it would also end the process.
  client.on('error', () => {})
  try {
    // A migration may take long. It waits for its locks for a second only, because others queue behind it meanwhile.
    await client.query(
      "set statement_timeout = 0; set lock_timeout = '1s'; set idle_in_transaction_session_timeout = 0",
    )
    await client.query(detectLostClient)
    await takeLock(client, options.log)
    await createTable(client)
    const applied = await listApplied(client)
    const { state, unknown } = compare(migrations, applied)
    if (state === 'too_new') throw new Error(explainTooNew(unknown))
    const pending = migrations.slice(applied.length)
    const startedAt = performance.now()
    for (const migration of pending) {
      const beganAt = performance.now()
      await applyWithPatience(client, migration, options.log)
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
/** How often a migration is tried that did not get its locks, with a pause of a second. */
const lockTriesMax = 300
const lockPauseMs = 1_000
const lockNotAvailable = '55P03'

/** Compares the schema with this program's migrations, and changes nothing. */
export async function findSchemaStatus(db: Db, { folder }: { folder: string }): Promise<SchemaStatus> {
  const [table] = await db.query<{ exists: boolean }>(sql`
    select to_regclass('guiche_migrations') is not null as exists`)
  return compare(readMigrations(folder), table?.exists ? await listApplied(db.pool) : [])
}

/**
 * For commands: they never migrate.
 *
 * @throws {Error} that says what to do, if this program does not fit the schema
 */
export async function checkSchema(db: Db, options: { folder: string }): Promise<void> {
  const { state, applied, pending, unknown } = await findSchemaStatus(db, options)
  if (state === 'too_new') throw new Error(explainTooNew(unknown))
  if (state !== 'older') return
  const what = applied.length === 0 ? 'has no tables yet' : `is older than this Guichê: it lacks ${pending.join(', ')}`
  throw new Error(`the database ${what}. Start the service, which migrates it, or run \`npx guiche migrate\`.`)
}

function explainTooNew(unknown: string[]): string {
  return `the database is newer than this Guichê: it has migration ${unknown.join(', ')}, which this version lacks and does not run with. Run the version that applied it, or a later one.`
}

/**
 * Waits by asking again and again: a statement that waits would itself keep `create index concurrently` of the holder
 * waiting.
 */
async function takeLock(client: pg.PoolClient, log: Pick<BaseLogger, 'info'>): Promise<void> {
  for (let polls = 0; ; polls += 1) {
    const { rows } = await client.query<{ locked: boolean }>(sql`select pg_try_advisory_lock(${lockKey}) as locked`)
    if (rows[0]?.locked) return
    if (polls * lockPollMs === slowMs) log.info('waiting for another process that migrates the database')
    await sleep(lockPollMs)
  }
}

const lockPollMs = 100

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
  // A comment may be corrected later: it changes nothing in the database.
  const statements = text.replace(/^ *--.*\n?/gm, '')
  const sha256 = `${ofStatements}${createHash('sha256').update(statements).digest('hex')}`
  const since = /^-- Compatible with code from migration (\d{4}) on\.$/m.exec(text)?.[1]
  return {
    number: Number(number),
    name: file.slice(0, -'.sql'.length),
    text,
    sha256,
    codeSince: Number(since ?? number),
    isOutsideTransaction: /^-- Outside a transaction\.$/m.test(text),
  }
}

/** A hash without this prefix was recorded by a development version and includes the comments: it is not compared. */
const ofStatements = 'statements:'

async function createTable(client: pg.PoolClient): Promise<void> {
  await client.query(`
    create table if not exists guiche_migrations (
      number integer primary key,
      name text not null,
      sha256 text not null,
      -- The migration that a program has to know to run on this schema.
      code_since integer not null,
      applied_at timestamptz not null default now()
    )`)
}

async function listApplied(connection: pg.Pool | pg.PoolClient): Promise<Applied[]> {
  const { rows } = await connection.query<Applied>(sql`
    select number, name, sha256, code_since as "codeSince"
    from guiche_migrations
    order by number`)
  return rows
}

/** @throws {Error} if the database was not made by these migrations */
function compare(migrations: Migration[], applied: Applied[]): SchemaStatus {
  const [first] = applied
  if (first && first.name !== migrations[0]?.name) {
    throw new Error(
      `the database was created by a Guichê before 0.1.0 (its first migration is ${first.name}) and cannot be migrated. Set DATABASE_URL or DATA_DIR to an empty database; to read the old data, run the version that created it.`,
    )
  }
  applied.slice(0, migrations.length).forEach((row, index) => {
    const migration = migrations[index]
    const hasHash = row.sha256 === migration?.sha256 || !row.sha256.startsWith(ofStatements)
    if (row.number === migration?.number && row.name === migration.name && hasHash) return
    throw new Error(
      `migration ${migration?.name} differs from the one applied to the database (${row.name}): the statements of an applied migration are never edited. Restore its file and write a new one.`,
    )
  })
  const unknown = applied.slice(migrations.length)
  const known = migrations.at(-1)?.number ?? 0
  const names = (some: { name: string }[]) => some.map(({ name }) => name)
  const pending = migrations.slice(applied.length)
  const isTooNew = unknown.some(({ codeSince }) => codeSince > known)
  return {
    state: isTooNew ? 'too_new' : unknown.length > 0 ? 'newer' : pending.length > 0 ? 'older' : 'current',
    applied: names(applied),
    pending: names(pending),
    unknown: names(unknown),
  }
}

/** Tries again while the migration does not get its locks: a statement that runs long would keep all others waiting. */
async function applyWithPatience(
  client: pg.PoolClient,
  migration: Migration,
  log: Pick<BaseLogger, 'info'>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await apply(client, migration)
      return
    } catch (error) {
      const { code } = error instanceof Error && error.cause ? (error.cause as { code?: string }) : {}
      if (code !== lockNotAvailable || tries === lockTriesMax) throw error
      if (tries === 1) log.info({ migration: migration.name }, 'a migration waits for statements that use its tables')
      await client.query('rollback')
      await sleep(lockPauseMs)
    }
  }
}

async function apply(client: pg.PoolClient, migration: Migration): Promise<void> {
  const { number, name, sha256, codeSince, isOutsideTransaction } = migration
  const record = sql`
    insert into guiche_migrations (number, name, sha256, code_since) values (${number}, ${name}, ${sha256}, ${codeSince})`
  try {
    if (isOutsideTransaction) {
      await applyOutside(client, migration)
      await client.query(record)
      return
    }
    await client.query('begin')
    await client.query(migration.text)
    await client.query(record)
    await client.query('commit')
  } catch (cause) {
    // The caller rolls back, or destroys the connection and with it the transaction.
    const reason = cause instanceof Error ? cause.message : String(cause)
    const what = isOutsideTransaction ? 'and is repeated at the next start' : 'and was rolled back'
    throw new Error(`migration ${name} failed ${what}: ${reason}`, { cause })
  }
}

/**
 * One statement that may have been interrupted before. An index that was not completed stays behind, invalid, and is
 * built again; one that was completed is kept.
 */
async function applyOutside(client: pg.PoolClient, { name, text }: Migration): Promise<void> {
  const index = /^create (?:unique )?index concurrently (\w+)/m.exec(text)?.[1]
  if (index === undefined) throw new Error(`${name} must be one statement: create index concurrently …`)
  // It waits for the end of older transactions. Reads and writes of the table do not wait for it.
  await client.query('set lock_timeout = 0')
  const { rows } = await client.query<{ isValid: boolean }>(sql`
    select indisvalid as "isValid" from pg_index where indexrelid = to_regclass(${index})`)
  if (rows[0]?.isValid === false) await client.query(`drop index concurrently ${index}`)
  if (!rows[0]?.isValid) await client.query(text)
  await client.query("set lock_timeout = '1s'")
}
