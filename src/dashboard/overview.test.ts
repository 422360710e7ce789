import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import type { Reads, Sql } from '../db/sql.ts'
import { createOverview } from './overview.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => {
  await database.drop()
})

const filter = { merchantId: randomUUID() }

/** Reads that call this before each statement. */
const readsWith = (onStatement: () => Promise<void>): Reads => ({
  pool: database.db.pool,
  async query<Row extends object>(statement: Sql) {
    await onStatement()
    return await database.db.query<Row>(statement)
  },
})

it('shares a read that runs until it ends, however long it takes, and reads old figures again', async () => {
  const clock = manualClock()
  let statements = 0
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const reads = readsWith(async () => {
    statements += 1
    await released
  })
  const overview = createOverview({ db: database.db, reads, clock })
  const first = overview(filter, 7)
  const perRead = statements
  expect(perRead).toBeGreaterThan(0)
  clock.advance(60_000)
  const second = overview(filter, 7)
  expect(statements).toBe(perRead)
  release()
  expect(await second).toBe(await first)
  await overview(filter, 7)
  expect(statements).toBe(2 * perRead)
  await overview(filter, 7)
  expect(statements).toBe(2 * perRead)
})

it('repeats a read that failed', async () => {
  let isAway = true
  const reads = readsWith(async () => {
    if (isAway) throw new Error('the database is away')
  })
  const overview = createOverview({ db: database.db, reads, clock: manualClock() })
  await expect(overview(filter, 7)).rejects.toThrow('the database is away')
  isAway = false
  expect((await overview(filter, 7)).today.created).toBe(0)
})
