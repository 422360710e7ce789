import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { commitEvents, createTestMerchant, testEvent, testSecretKey } from '../../test/support/webhooks.ts'
import { sql } from '../db/sql.ts'
import { listDeliveries, listEvents } from './read-store.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
const recordId = randomUUID()

let database: TestDatabase
let merchantId: string
let otherId: string

beforeAll(async () => {
  database = await createTestDatabase()
  const key = testSecretKey()
  merchantId = (await createTestMerchant(database.db, { key, now })).merchantId
  otherId = (await createTestMerchant(database.db, { key, now })).merchantId
  const webhookUrl = 'https://shop.example/hook'
  for (let sequence = 1; sequence <= 5; sequence += 1) {
    const occurredAt = new Date(now.getTime() + sequence * 1000)
    await commitEvents(database.db, testEvent({ merchantId, recordId, sequence, occurredAt, webhookUrl }))
  }
  await commitEvents(database.db, testEvent({ merchantId, occurredAt: now }))
  await commitEvents(database.db, testEvent({ merchantId: otherId, occurredAt: now, webhookUrl }))
})
afterAll(() => database.drop())

describe('a list of events', () => {
  it('is newest first, page by page, with an exact total, and a merchant’s own', async () => {
    const pages = await Promise.all([1, 2, 3].map((page) => listEvents(database.db, { merchantId, page, perPage: 4 })))
    expect(pages.map(({ events, total }) => [events.length, total])).toEqual([
      [4, 6],
      [2, 6],
      [0, 6],
    ])
    expect(pages[0]?.events.map(({ sequence }) => sequence)).toEqual([5, 4, 3, 2])
  })

  it('may be of one record', async () => {
    const { events, total } = await listEvents(database.db, { merchantId, recordId, page: 1, perPage: 2 })
    expect(total).toBe(5)
    expect(events.map(({ sequence, delivery }) => [sequence, delivery])).toEqual([
      [5, 'waiting'],
      [4, 'waiting'],
    ])
    expect(await listEvents(database.db, { merchantId: otherId, recordId, page: 1, perPage: 2 })).toEqual({
      events: [],
      total: 0,
    })
  })
})

describe('a list of deliveries', () => {
  it('has the attempts of each, in order', async () => {
    const { deliveries } = await listDeliveries(database.db, { merchantId, state: 'pending', page: 1, perPage: 10 })
    const eventId = deliveries[0]?.eventId ?? ''
    await database.db.query(sql`
      insert into webhook_attempts (merchant_id, event_id, number, started_at, duration_ms, status, error)
      values (${merchantId}, ${eventId}, 2, ${now}, 7, 500, 'The receiver answered 500'),
        (${merchantId}, ${eventId}, 1, ${now}, 9, null, 'No answer in time')`)
    const found = await listDeliveries(database.db, { merchantId, eventId, page: 1, perPage: 10 })
    expect(found.total).toBe(1)
    expect(found.deliveries[0]?.attempts).toEqual([
      { number: 1, startedAt: now, durationMs: 9, status: null, error: 'No answer in time' },
      { number: 2, startedAt: now, durationMs: 7, status: 500, error: 'The receiver answered 500' },
    ])
  })

  it('may be of one record or one state, and is a merchant’s own', async () => {
    const ask = (more: object) => listDeliveries(database.db, { merchantId, page: 1, perPage: 3, ...more })
    expect((await ask({ recordId })).deliveries.map(({ sequence }) => sequence)).toEqual([5, 4, 3])
    expect((await ask({ state: 'waiting' })).total).toBe(4)
    expect((await ask({ state: 'waiting' })).deliveries[0]?.nextAttemptAt).toBeNull()
    expect((await ask({ merchantId: otherId })).total).toBe(1)
    expect((await ask({ merchantId: otherId, recordId })).total).toBe(0)
  })
})
