import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject } from 'vitest'
import { asAdministrator } from '../../src/db/embedded.ts'
import { connect, type Db, raw, sql, toDb } from '../../src/db/sql.ts'

export type TestDatabase = { db: Db; connectionString: string; drop(): Promise<void> }

/** A separate database for this test, migrated and empty. `drop` it in `afterAll`. */
export function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase('template guiche_template strategy file_copy')
}

/** A database without a schema, for tests of migrations. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase('')
}

async function createDatabase(how: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await runOnServer(`create database ${name} owner guiche ${how}`)
  const url = new URL(inject('postgres'))
  url.pathname = name
  const db = connect({ connectionString: url.href, connectionsMax: 10, waitMs: 60_000, onError: () => {} })
  return {
    db,
    connectionString: url.href,
    drop: async () => {
      await db.pool.end()
      // By force: a worker under test may still have connections.
      await runOnServer(`drop database ${name} with (force)`)
    },
  }
}

/** One more connection to a database, whose statements are canceled after `timeoutMs`. */
export function connectWithTimeout({ connectionString }: TestDatabase, timeoutMs: number): Db {
  const pool = new pg.Pool({ max: 1, connectionString, statement_timeout: timeoutMs })
  // `pool.end()` does not wait until the server has closed them: dropping the database may close them first.
  pool.on('error', () => {})
  return toDb(pool)
}

/** Merchants for tests below the API, each with a client of the same id. */
export async function addMerchants(db: Db, ids: string[]): Promise<void> {
  await db.query(sql`
    insert into clients (merchant_id, client_id, name, scopes, created_at)
    select id, id, 'A shop', '{}', now() from unnest(${ids}::uuid[]) id`)
}

let server: Db | undefined

/**
 * As the server's administrator: the service's role cannot create databases. On one connection for all databases of
 * this process, which starts two fewer processes of PostgreSQL for each.
 */
async function runOnServer(statement: string): Promise<void> {
  server ??= connect({
    connectionString: asAdministrator(inject('postgres')),
    connectionsMax: 1,
    waitMs: 60_000,
    onError: () => {},
  })
  await server.query(raw(statement))
}
