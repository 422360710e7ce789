import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/webhooks.ts'
import type { Exchange } from '../acquirers/record.ts'
import { sql, type Tx } from '../db/sql.ts'
import { insertExchanges, listExchanges } from './store.ts'
import { createExchangeWriter } from './write.ts'

const log = pino({ level: 'silent' })
const clock = manualClock()
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

function exchange(more: Partial<Exchange>): Exchange {
  const nothing = { recordId: null, endToEndId: null, error: null }
  return {
    acquirer: 'a PSP',
    operation: 'findCharge',
    outcome: 'found',
    durationMs: 7,
    at: clock.now(),
    ...nothing,
    ...more,
  }
}

const listOf = async (recordId: string, endToEnd: string | null = null) =>
  await listExchanges(database.db, { recordIds: [recordId], endToEnd, limit: 500 })

it('stores exchanges by record and by payment, in the order in which they were written', async () => {
  const write = createExchangeWriter({ db: database.db, log })
  const recordId = randomUUID()
  for (let count = 0; count < 300; count += 1) write(exchange({ recordId, durationMs: count }))
  write(exchange({ endToEndId: 'E1', operation: 'findPayment' }))
  await eventually(async () => (await listOf(recordId, 'E1')).length === 301)
  const rows = await listOf(recordId)
  expect(rows.map(({ duration_ms: ms }) => ms)).toEqual(Array.from({ length: 300 }, (_, count) => count))
  expect(rows[0]).toMatchObject({ acquirer: 'a PSP', record_id: recordId, at: clock.now(), error: null })
})

it('commits without waiting for the disk, and leaves synchronous_commit on for other statements', async () => {
  const readSetting = async (db: Pick<Tx, 'query'>) =>
    (await db.query<{ setting: string }>(sql`select current_setting('synchronous_commit') as setting`))[0]?.setting
  await database.db.transaction(async (tx) => {
    await insertExchanges(tx, [exchange({})])
    expect(await readSetting(tx)).toBe('off')
  })
  for (let count = 0; count < 10; count += 1) {
    await insertExchanges(database.db, [exchange({})])
    expect(await readSetting(database.db)).toBe('on')
  }
})

it('neither throws nor rejects when the database is gone, and drops exchanges above the limit', async () => {
  const gone = await createTestDatabase()
  let lost = 0
  const countingLog = pino({ level: 'debug' }, { write: () => (lost += 1) })
  const write = createExchangeWriter({ db: gone.db, log: countingLog })
  await gone.drop()
  for (let count = 0; count < 5_000; count += 1) write(exchange({ recordId: randomUUID() }))
  await eventually(() => lost >= 2_000)
  write(exchange({}))
  await eventually(() => lost > 2_000)
  expect(lost).toBe(2_001)
})
