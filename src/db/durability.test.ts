import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { checkConnections, checkDurability } from './durability.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded.ts'
import { connect, type Db, raw } from './sql.ts'

// A separate server: these tests turn its settings off, and other tests rely on theirs.
let dataDir: string
let postgres: EmbeddedPostgres

/** Longer than anything takes on a busy machine. */
const patience = { timeout: 90_000, interval: 50 }

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'guiche-durability-'))
  postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: 'silent' }) })
})

afterAll(async () => {
  await postgres.stop()
  await rm(dataDir, { recursive: true })
})

it('accepts the default settings of PostgreSQL', async () => {
  await expect(check()).resolves.toBeUndefined()
})

it('refuses more connections than the server allows', async () => {
  const db = connect({
    connectionString: postgres.connectionString,
    connectionsMax: 1,
    waitMs: 60_000,
    onError: () => {},
  })
  // 100, three of which are reserved for superusers.
  await expect(checkConnections(db, { processes: 1, databaseConnectionsMax: 97 })).resolves.toBeUndefined()
  await expect(checkConnections(db, { processes: 2, databaseConnectionsMax: 49 })).rejects.toThrow(
    /takes 97 connections and 98 are configured: lower DATABASE_CONNECTIONS_MAX \(49, of each of 2 processes\)/,
  )
  await db.pool.end()
})

it('does not count the connections that PostgreSQL reserves for other roles', async () => {
  await asSuperuser('alter system set reserved_connections = 5')
  await postgres.stop()
  postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: 'silent' }) })
  await withDb(postgres.connectionString, async (db) => {
    await expect(checkConnections(db, { processes: 1, databaseConnectionsMax: 92 })).resolves.toBeUndefined()
    await expect(checkConnections(db, { processes: 1, databaseConnectionsMax: 93 })).rejects.toThrow(
      /takes 92 connections and 93 are configured/,
    )
  })
})

it.each(['local', 'remote_write', 'remote_apply', 'on'])('accepts synchronous_commit = %s', async (value) => {
  await asSuperuser(`alter database guiche set synchronous_commit = '${value}'`)
  await expect(check()).resolves.toBeUndefined()
})

it('refuses synchronous_commit = off on our database or role alone', async () => {
  await asSuperuser('alter database guiche set synchronous_commit = off')
  await expect(check()).rejects.toThrow(/synchronous_commit is off/)
  await asSuperuser('alter database guiche reset synchronous_commit', 'alter role guiche set synchronous_commit = off')
  await expect(check()).rejects.toThrow(/synchronous_commit is off/)
  await asSuperuser('alter role guiche reset synchronous_commit')
  await expect(check()).resolves.toBeUndefined()
})

it('lists every unsafe setting in one error', async () => {
  await asSuperuser(
    'alter system set fsync = off',
    'alter system set full_page_writes = off',
    'select pg_reload_conf()',
  )
  // The server applies its settings shortly after the reload.
  await vi.waitFor(
    () => expect(check()).rejects.toThrow(/for payments: fsync is off.*; full_page_writes is off/),
    patience,
  )
  await asSuperuser('alter system reset all', 'select pg_reload_conf()')
  await vi.waitFor(() => expect(check()).resolves.toBeUndefined(), patience)
})

it('refuses an old PostgreSQL', async () => {
  await asSuperuser(
    'create schema old',
    `create function old.current_setting(name text) returns text language sql as $$
      select case name when 'server_version_num' then '140012' else 'on' end $$`,
    'grant usage on schema old to guiche',
    'alter role guiche set search_path = old, pg_catalog',
  )
  await expect(check()).rejects.toThrow(/version 140012 is too old, use PostgreSQL 15 or later/)
})

/** A new connection each time: settings of databases and roles are read when a connection is made. */
const check = () => withDb(postgres.connectionString, checkDurability)

async function asSuperuser(...statements: string[]): Promise<void> {
  const address = postgres.connectionString.replace('//guiche@', '//postgres@')
  await withDb(address, async (db) => {
    for (const statement of statements) await db.query(raw(statement))
  })
}

async function withDb(connectionString: string, work: (db: Db) => Promise<void>): Promise<void> {
  const db = connect({ connectionString, connectionsMax: 1, waitMs: 60_000, onError: () => {} })
  try {
    await work(db)
  } finally {
    await db.pool.end()
  }
}
