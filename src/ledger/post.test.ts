import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type Posting, post } from './post.ts'
import { findBalancesAt } from './store.ts'
import { paid, reserved, sent } from './transfers.ts'

const began = new Date('2026-03-02T15:00:00.000Z')
const later = (ms: number) => new Date(began.getTime() + ms)
const merchantId = randomUUID()
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

async function book(now: Date, transfers: Posting['transfers']): Promise<void> {
  const event = {
    merchantId,
    eventKey: `test:${randomUUID()}`,
    recordType: 'transaction',
    recordId: randomUUID(),
  } as const
  await database.db.transaction(async (tx) => await post(tx, { ...event, now, transfers }))
}

it('keeps a past moment whole although what began earlier was posted later', async () => {
  await book(began, paid(1_000, 0))
  await book(later(1_000), reserved('withdrawal_reserved', 1_000, 0))
  // It took its time, waited for the accounts, and then moved what the one before it had set aside.
  await book(later(400), sent('withdrawal_sent', 1_000, 0))
  const at = async (ms: number) => await findBalancesAt(database.db, merchantId, later(ms))
  expect(await at(500)).toMatchObject({ available: 1_000, reserved: 0, acquirer: -1_000 })
  expect(await at(1_000)).toMatchObject({ available: 0, reserved: 0, acquirer: 0 })
})
