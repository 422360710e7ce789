import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inject } from 'vitest'
import { connect, type Db, raw } from '../../src/db/sql.ts'

export type TestDatabase = { db: Db; connectionString: string; drop(): Promise<void> }

/** A database of this test's own, migrated and empty; `drop` it in `afterAll`. */
export function createTestDatabase(): Promise<TestDatabase> {
  return createDatabase('template guiche_template')
}

/** A database with nothing in it, for tests of what fills one. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase('')
}

async function createDatabase(how: string): Promise<TestDatabase> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  await runOnServer(`create database ${name} ${how}`)
  const url = new URL(inject('postgres'))
  url.pathname = name
  const db = connect({ connectionString: url.href, connectionsMax: 10, onError: () => {} })
  return {
    db,
    connectionString: url.href,
    drop: async () => {
      await db.pool.end()
      await dropDatabase(name)
    },
  }
}

/**
 * By force: a worker under test may have connections of its own. Autovacuum may have one too, which only a superuser may end: it is
 * waited for. One that stays is left to the end of the run, when the whole server goes.
 */
async function dropDatabase(name: string): Promise<void> {
  const triesMax = 20
  for (let tries = 1; tries <= triesMax; tries += 1) {
    try {
      return await runOnServer(`drop database ${name} with (force)`)
    } catch (error) {
      const isAutovacuum = error instanceof pg.DatabaseError && error.code === '42501'
      if (!isAutovacuum) throw error
      await sleep(100)
    }
  }
}

async function runOnServer(statement: string): Promise<void> {
  const server = connect({ connectionString: inject('postgres'), connectionsMax: 1, onError: () => {} })
  try {
    await server.query(raw(statement))
  } finally {
    await server.pool.end()
  }
}
