import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, expect, inject, it } from 'vitest'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { migrate, migrationsFolder } from './migrate.ts'
import { connect, sql } from './sql.ts'

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
    connect({ connectionString: database.connectionString, connectionsMax: 2, onError: () => {} }),
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

it('does not count other line endings as an edit', async () => {
  await write('0003_lines.sql', 'select 1;\nselect 2;\n')
  await run()
  await write('0003_lines.sql', 'select 1;\r\nselect 2;\r\n')
  expect(await run()).toEqual({ applied: [] })
})

it('refuses a database that is newer than the code', async () => {
  await run()
  await rm(`${folder}/0002_second.sql`)
  await expect(run()).rejects.toThrow(/newer than this Guichê: .* 0002_second/)
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

it('has created the template of the test databases', async () => {
  const clone = await createTestDatabase()
  expect(await migrate(clone.db, { folder: migrationsFolder(), log })).toEqual({ applied: [] })
  // Every table is one of the migrations: no library has a schema of its own.
  const schemas = await clone.db.query(sql`
    select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'`)
  expect(schemas).toEqual([{ name: 'public' }])
  await clone.drop()
})

it('has the growing tables analyzed with a small sample', async () => {
  const { db, drop } = await createTestDatabase()
  // PostgreSQL samples as many rows as the largest statistics target of a column demands. A new column has the default,
  // four times this one.
  const large = await db.query(sql`
    select attrelid::regclass::text as place, attname from pg_attribute
    where attrelid in ('transactions'::regclass, 'events'::regclass, 'ledger_transfers'::regclass,
        'webhook_deliveries'::regclass, 'webhook_attempts'::regclass)
      and attnum > 0 and not attisdropped and coalesce(attstattarget, -1) not between 0 and 25`)
  await drop()
  expect(large).toEqual([])
})
