import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { openDatabaseProxy } from '../../test/support/database-proxy.ts'
import { checkWritable, connect, type Db, isDatabaseUnavailable, sql } from './sql.ts'

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

function open(connectionString: string): Db {
  const db = connect({ connectionString, connectionsMax: 2, waitMs: 60_000, onError: () => {} })
  onTestFinished(async () => await db.pool.end())
  return db
}

describe('a statement without an answer', () => {
  it('may take long while the server works on it', async () => {
    const db = open(database.connectionString)
    expect(await db.query(sql`select 1 as one from pg_sleep(4)`)).toEqual([{ one: 1 }])
  })

  it('fails when its connection was lost, and the next one uses another connection', async () => {
    const proxy = await openDatabaseProxy(database.connectionString)
    onTestFinished(async () => await proxy.stop())
    const db = open(proxy.connectionString)
    await db.query(sql`select 1`)
    proxy.loseConnections()
    const failure = await db.query(sql`select 1`).catch((error: unknown) => error)
    expect(failure).toMatchObject({ message: 'the connection to the database was lost' })
    expect(isDatabaseUnavailable(failure)).toBe(true)
    expect(await db.query(sql`select 1 as one`)).toEqual([{ one: 1 }])
  })
})

describe('a database that takes no writes', () => {
  it('fails the check at the start of the service, and its connections are not used again', async () => {
    const url = new URL(database.connectionString)
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    const db = open(url.href)
    await expect(checkWritable(db)).rejects.toThrow('the database takes no writes')
    const before = await db.query(sql`select pg_backend_pid() as pid`)
    const write = db.transaction(async (tx) => await tx.query(sql`delete from settings`))
    expect(isDatabaseUnavailable(await write.catch((error: unknown) => error))).toBe(true)
    expect(await db.query(sql`select pg_backend_pid() as pid`)).not.toEqual(before)
    await expect(checkWritable(database.db)).resolves.toBeUndefined()
  })
})

it('a transaction in which a statement failed is not reported as committed', async () => {
  const db = open(database.connectionString)
  const work = db.transaction(async (tx) => {
    await tx.query(sql`select 1 / 0`).catch(() => {})
    return 'done'
  })
  await expect(work).rejects.toThrow('current transaction is aborted')
})
