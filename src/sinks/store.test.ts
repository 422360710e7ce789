import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { commitEvents, createTestMerchant, testEvent, testSecretKey } from '../../test/support/webhooks.ts'
import { sql } from '../db/sql.ts'
import { numberNewEvents } from '../webhooks/feed.ts'
import { enqueueEvents } from '../webhooks/outbox.ts'
import { findLag, savePosition } from './store.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

it('the lag counts an event that commits only after later ones were numbered and sent', async () => {
  const { db } = database
  const { merchantId } = await createTestMerchant(db, { key: testSecretKey(), now })
  const event = (secondsAgo: number) =>
    testEvent({ merchantId, status: 'PAID', occurredAt: new Date(now.getTime() - secondsAgo * 1_000) })
  const lag = async () => await findLag(db, { sink: 'nats', now })
  await commitEvents(db, event(30))
  expect(await lag()).toBe(30)
  await db.transaction(async (tx) => {
    enqueueEvents(tx, [event(20)])
    // Waits until the pipelined insert has been executed.
    await tx.query(sql`select`)
    await commitEvents(db, event(10))
    const { last } = await numberNewEvents(db, merchantId, Number.POSITIVE_INFINITY)
    expect(await savePosition(db, { sink: 'nats', merchantId, from: 0, to: last })).toBe(true)
    expect(await lag()).toBe(0)
  })
  expect(await lag()).toBe(20)
})
