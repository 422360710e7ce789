import { readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { checkSchema, findSchemaStatus, migrate, migrationsFolder } from './migrate.ts'
import { connect, raw, sql } from './sql.ts'

const log = pino({ level: 'silent' })
let folder: string
let database: TestDatabase

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guiche-migrations-'))
  database = await createEmptyDatabase()
  await write('0001_first.sql', 'create table notes (id int primary key); insert into notes values (1);')
  await write('0002_second.sql', 'alter table notes add body text;')
})

afterEach(async () => {
  await database.drop()
  await rm(folder, { recursive: true })
})

const write = (name: string, text: string) => writeFile(`${folder}/${name}`, text)
const run = () => migrate(database.db, { folder, log })

it('applies each migration once, in order', async () => {
  expect(await run()).toEqual({ applied: ['0001_first', '0002_second'] })
  expect(await run()).toEqual({ applied: [] })
  await write('0003_third.sql', 'insert into notes values (3);')
  expect(await run()).toEqual({ applied: ['0003_third'] })
  expect(await database.db.query(sql`select id from notes order by id`)).toEqual([{ id: 1 }, { id: 3 }])
  expect(await database.db.query(sql`select number, name from guiche_migrations order by number`)).toEqual([
    { number: 1, name: '0001_first' },
    { number: 2, name: '0002_second' },
    { number: 3, name: '0003_third' },
  ])
})

it('lets processes start at the same time: one applies, the others wait', async () => {
  await write('0003_slow.sql', 'select pg_sleep(0.3); insert into notes values (3);')
  const dbs = Array.from({ length: 4 }, () =>
    connect({ connectionString: database.connectionString, connectionsMax: 2, waitMs: 60_000, onError: () => {} }),
  )
  const results = await Promise.all(dbs.map((db) => migrate(db, { folder, log })))
  expect(results.map(({ applied }) => applied.length).sort((a, b) => a - b)).toEqual([0, 0, 0, 3])
  await Promise.all(dbs.map((db) => db.pool.end()))
})

it('keeps the migrations before a failed one, nothing of that one, and can be run again', async () => {
  await write('0003_wrong.sql', 'insert into notes values (3); select 1/0;')
  await expect(run()).rejects.toThrow(/0003_wrong failed and was rolled back: division by zero/)
  expect(await database.db.query(sql`select id from notes`)).toEqual([{ id: 1 }])
  await write('0003_wrong.sql', 'insert into notes values (3);')
  expect(await run()).toEqual({ applied: ['0003_wrong'] })
})

it('refuses an applied migration that was edited or renamed', async () => {
  await run()
  await write('0002_second.sql', 'alter table notes add body text not null;')
  await expect(run()).rejects.toThrow(/0002_second .* never edited/)
  await rm(`${folder}/0002_second.sql`)
  await write('0002_other.sql', 'alter table notes add body text;')
  await expect(run()).rejects.toThrow(/0002_other differs from the one applied to the database \(0002_second\)/)
})

it('refuses a database of a version before the first release', async () => {
  await run()
  await rm(`${folder}/0001_first.sql`)
  await write('0001_settings.sql', 'create table settings (id int);')
  await expect(run()).rejects.toThrow(
    /created by a Guichê before 0\.1\.0 \(its first migration is 0001_first\) .* Set DATABASE_URL or DATA_DIR to an empty/,
  )
})

it('does not count other line endings or comments as an edit', async () => {
  await write('0003_lines.sql', '-- One.\nselect 1;\n  -- Two.\nselect 2;\n')
  await run()
  await write('0003_lines.sql', '-- The first.\r\nselect 1;\r\nselect 2;\r\n-- The end.')
  expect(await run()).toEqual({ applied: [] })
  await write('0003_lines.sql', '-- One.\nselect 1;\n  -- Two.\nselect 3;\n')
  await expect(run()).rejects.toThrow(/0003_lines .* never edited/)
  // As development versions recorded it: over the whole text.
  await database.db.query(sql`update guiche_migrations set sha256 = repeat('a', 64) where number = 3`)
  expect(await run()).toEqual({ applied: [] })
})

it('refuses a database that is newer than the code', async () => {
  await run()
  await rm(`${folder}/0002_second.sql`)
  await expect(run()).rejects.toThrow(/newer than this Guichê: .* 0002_second/)
})

it('accepts a database that a later version has expanded, until one contracts it', async () => {
  await run()
  await write('0003_expand.sql', '-- Compatible with code from migration 0002 on.\nalter table notes add note text;')
  await run()
  await rm(`${folder}/0003_expand.sql`)
  expect(await run()).toEqual({ applied: [] })
  await checkSchema(database.db, { folder })
  expect(await findSchemaStatus(database.db, { folder })).toMatchObject({ state: 'newer', unknown: ['0003_expand'] })
  await write('0003_expand.sql', '-- Compatible with code from migration 0002 on.\nalter table notes add note text;')
  await write('0004_contract.sql', '-- Compatible with code from migration 0003 on.\nalter table notes drop body;')
  await run()
  await rm(`${folder}/0004_contract.sql`)
  expect(await run()).toEqual({ applied: [] })
  await rm(`${folder}/0003_expand.sql`)
  await expect(run()).rejects.toThrow(/newer than this Guichê: it has migration 0003_expand, 0004_contract/)
  await expect(checkSchema(database.db, { folder })).rejects.toThrow(/Run the version that applied it, or a later one/)
})

it('explains to a command what to do about an empty or an older database, and changes nothing', async () => {
  await expect(checkSchema(database.db, { folder })).rejects.toThrow(/has no tables yet. Start the service/)
  expect(await findSchemaStatus(database.db, { folder })).toEqual({
    state: 'older',
    applied: [],
    pending: ['0001_first', '0002_second'],
    unknown: [],
  })
  await run()
  await write('0003_third.sql', 'insert into notes values (3);')
  await expect(checkSchema(database.db, { folder })).rejects.toThrow(/it lacks 0003_third. .*npx guiche migrate/)
  expect(await database.db.query(sql`select id from notes`)).toEqual([{ id: 1 }])
})

it('builds an index outside a transaction, again if it was interrupted', async () => {
  await run()
  await database.db.query(sql`insert into notes (id, body) values (2, 'same'), (3, 'same')`)
  await write(
    '0003_index.sql',
    '-- Outside a transaction.\ncreate unique index concurrently notes_body on notes (body);',
  )
  const isValid = async () =>
    (
      await database.db.query(
        sql`select indisvalid as valid from pg_index where indexrelid = to_regclass('notes_body')`,
      )
    )[0]
  await expect(run()).rejects.toThrow(/0003_index failed and is repeated at the next start: could not create unique/)
  expect(await isValid()).toEqual({ valid: false })
  await database.db.query(sql`delete from notes where id = 3`)
  expect(await run()).toEqual({ applied: ['0003_index'] })
  expect(await isValid()).toEqual({ valid: true })
  // Completed, but the process died before it was recorded.
  await database.db.query(sql`delete from guiche_migrations where number = 3`)
  expect(await run()).toEqual({ applied: ['0003_index'] })
  await write('0004_other.sql', '-- Outside a transaction.\nvacuum notes;')
  await expect(run()).rejects.toThrow(/0004_other must be one statement: create index concurrently/)
})

it('says that it waits for another process', async () => {
  const lines: unknown[] = []
  const onLog = { info: (line: unknown) => void lines.push(line), debug: () => {} }
  const migrating = await database.db.pool.connect()
  await migrating.query(sql`select pg_advisory_lock(113753976957029)`)
  const running = migrate(database.db, { folder, log: onLog as unknown as typeof log })
  await expect
    .poll(() => lines, { timeout: 60_000 })
    .toEqual(['waiting for another process that migrates the database'])
  migrating.release(true)
  expect(await running).toEqual({ applied: ['0001_first', '0002_second'] })
})

it('keeps others waiting for a second at most each time it tries to lock a table', async () => {
  await run()
  await write('0003_third.sql', 'alter table notes add note text;')
  const lines: string[] = []
  const onLog = { info: (_: unknown, line: string) => void lines.push(line), debug: () => {} }
  let running: Promise<unknown> = Promise.resolve()
  await database.db.transaction(async (tx) => {
    await tx.query(sql`select from notes`)
    running = migrate(database.db, { folder, log: onLog as unknown as typeof log })
    await expect
      .poll(() => lines, { timeout: 60_000 })
      .toContain('a migration waits for statements that use its tables')
    expect(await database.db.query(sql`select id from notes`)).toEqual([{ id: 1 }])
  })
  expect(await running).toEqual({ applied: ['0003_third'] })
})

/** Changes that break services that still run the previous code. */
const contracts = /\b(?:drop (?!index|not null|default)\w+|rename|alter column \w+ (?:type|set not null)|truncate)\b/i
/** Changes that keep writers waiting while PostgreSQL reads the whole table. */
const blocks = /^create (?:unique )?index (?!concurrently)|\badd (?:constraint|check|foreign key)\b(?![^;]*not valid)/im

/** What a migration after the first release must do and does not; null if nothing is missing. */
function findFault(text: string): string | null {
  const isOldCodeFine = /^-- Compatible with code from migration \d{4} on\.$/m.test(text)
  const statements = text.replace(/--.*$/gm, '')
  const newTables = (statements.match(/create table (\w+)/gi) ?? []).map((made) => made.split(' ')[2])
  const isOnNewTable = (statement: string) => newTables.some((table) => new RegExp(`\\bon ${table}\\b`).test(statement))
  if (!isOldCodeFine) return 'must say which code is compatible'
  if (contracts.test(statements) && !/^-- Contracts: /m.test(text))
    return 'contracts the schema, and must say what made that possible'
  if (statements.split(';').some((statement) => blocks.test(statement) && !isOnNewTable(statement)))
    return 'must build indexes concurrently, and add constraints not valid'
  return null
}

it('each migration after the first release says which code is compatible with it, and justifies what breaks older code or blocks writers', () => {
  const lastOfFirstRelease = 15
  const later = readdirSync('migrations').filter((file) => Number(file.slice(0, 4)) > lastOfFirstRelease)
  expect(later.flatMap((file) => findFault(readFileSync(`migrations/${file}`, 'utf8')) ?? [])).toEqual([])
  // The check itself finds each fault, and accepts what is allowed.
  const head = '-- Compatible with code from migration 0013 on.\n'
  expect(findFault('alter table notes add body text')).toMatch(/must say which code/)
  expect(findFault(`${head}alter table notes add body text`)).toBeNull()
  expect(findFault(`${head}alter table notes drop column body`)).toMatch(/contracts the schema/)
  expect(
    findFault(`${head}-- Contracts: nothing reads body since 0014.\nalter table notes drop column body`),
  ).toBeNull()
  expect(findFault(`${head}create index notes_body on notes (body)`)).toMatch(/must build indexes concurrently/)
  const newTable = `${head}create table others (id int);\ncreate index others_id on others (id)`
  expect(findFault(newTable)).toBeNull()
  expect(findFault(`${newTable};\ncreate index notes_body on notes (body)`)).toMatch(/must build indexes concurrently/)
})

it('applies migrations whose numbers have a gap', async () => {
  await write('0004_gap.sql', 'insert into notes values (4);')
  expect(await run()).toEqual({ applied: ['0001_first', '0002_second', '0004_gap'] })
  expect(await run()).toEqual({ applied: [] })
})

it('refuses duplicate numbers and malformed names', async () => {
  await write('0002_twice.sql', '')
  await expect(run()).rejects.toThrow(/0002_twice has the same number as another/)
  await rm(`${folder}/0002_twice.sql`)
  await write('3-third.sql', '')
  await expect(run()).rejects.toThrow(/3-third.sql is not a valid migration name/)
})

it('finds the migrations of this package from its sources and from its compiled files', () => {
  expect(migrationsFolder()).toBe(resolve('migrations'))
  expect(migrationsFolder(`${inject('build')}/src/db`)).toBe(resolve('migrations'))
  expect(() => migrationsFolder('/')).toThrow(/no package.json of guiche/)
})

it('the template of the test databases is fully migrated', async () => {
  const clone = await createTestDatabase()
  expect(await migrate(clone.db, { folder: migrationsFolder(), log })).toEqual({ applied: [] })
  // No library has a schema of its own: all tables are in public.
  const schemas = await clone.db.query(sql`
    select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'`)
  expect(schemas).toEqual([{ name: 'public' }])
  await clone.drop()
})

it('the growing tables are analyzed with a small sample', async () => {
  const { db, drop } = await createTestDatabase()
  // PostgreSQL samples as many rows as the largest statistics target of a column demands. A new column has the default,
  // 100. Here 25 is allowed.
  const large = await db.query(sql`
    select attrelid::regclass::text as place, attname from pg_attribute
    where attrelid in ('transactions'::regclass, 'events'::regclass, 'ledger_transfers'::regclass,
        'webhook_deliveries'::regclass, 'webhook_attempts'::regclass)
      and attnum > 0 and not attisdropped and coalesce(attstattarget, -1) not between 0 and 25`)
  await drop()
  expect(large).toEqual([])
})

it.each([
  ['webhook_deliveries', 'merchant_id = $1 and id = $2'],
  ['events', 'merchant_id = $1 and record_id = $2 and sequence = $3'],
  ['ledger_accounts', 'merchant_id = $1 and account = $2'],
])('a row of the new table %s is found by its whole key', async (table, key) => {
  const { db, drop } = await createTestDatabase()
  // As foreign keys and postings read it for each payment. PostgreSQL knows nothing about the rows yet: an index on the
  // first column alone may look as good, and would return all rows of the merchant or of the account.
  const plan = await db.query(raw(`explain (generic_plan) select 1 from only ${table} where ${key}`))
  await drop()
  expect(JSON.stringify(plan)).toMatch(/Index (?:Only )?Scan/)
  expect(JSON.stringify(plan)).not.toMatch(/Filter/)
})
