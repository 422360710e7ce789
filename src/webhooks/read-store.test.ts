import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { vacuum } from '../../test/support/plans.ts'
import { commitEvents, createTestMerchant, testEvent, testSecretKey } from '../../test/support/webhooks.ts'
import { sql } from '../db/sql.ts'
import type { Slice } from '../http/page.ts'
import { type DeliveryFilters, deliveriesCountedMax, isCountLimited, listDeliveries, listEvents } from './read-store.ts'

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

const slice = (page: number, perPage: number): Slice => ({ page, perPage, after: null })

describe('a list of events', () => {
  it('has the merchant’s own events, newest first, page by page, with an exact total', async () => {
    const pages = await Promise.all([1, 2, 3].map((page) => listEvents(database.db, merchantId, {}, slice(page, 4))))
    expect(pages.map(({ items, total }) => [items.length, total])).toEqual([
      [4, 6],
      [2, 6],
      [0, 6],
    ])
    expect(pages[0]?.items.map(({ sequence }) => sequence)).toEqual([5, 4, 3, 2])
  })

  it('can be filtered by record', async () => {
    const { items, total } = await listEvents(database.db, merchantId, { recordId }, slice(1, 2))
    expect(total).toBe(5)
    expect(items.map(({ sequence, delivery }) => [sequence, delivery])).toEqual([
      [5, 'waiting'],
      [4, 'waiting'],
    ])
    expect(await listEvents(database.db, otherId, { recordId }, slice(1, 2))).toEqual({
      items: [],
      total: 0,
      next: null,
    })
  })
})

describe('a list of deliveries', () => {
  it('has a limited total only where many may match and no index counts them', () => {
    const limited: DeliveryFilters[] = [{ type: 'transaction.paid' }, { state: 'delivered', from: now }]
    expect(limited.map(isCountLimited)).toEqual([true, true])
    const exact: DeliveryFilters[] = [
      {},
      { state: 'delivered' },
      { state: 'pending', from: now },
      { recordId, from: now },
    ]
    expect(exact.map(isCountLimited)).toEqual([false, false, false, false])
  })

  it('of an endpoint has a total of one more than is counted, and its cursors lead to all', async () => {
    const [busy, endpointId] = [randomUUID(), randomUUID()]
    const all = deliveriesCountedMax + 5
    await database.db.query(sql`
      with made as (
        insert into events (merchant_id, id, type, record_type, record_id, sequence, occurred_at)
        select ${busy}, gen_random_uuid(), 'transaction.paid', 'transaction', gen_random_uuid(), 1, ${now}
        from generate_series(1, ${all}::integer)
        returning *
      )
      insert into webhook_deliveries (
        merchant_id, id, record_id, sequence, endpoint_id, url, receiver, state, next_attempt_at, created_at)
      select merchant_id, id, record_id, sequence, ${endpointId}, 'https://erp.example', 'https://erp.example', 'delivered',
        occurred_at, occurred_at
      from made`)
    for (const table of ['events', 'webhook_deliveries']) await vacuum(database.db, table)
    const read = async (after: Slice['after']) =>
      await listDeliveries(database.db, busy, { endpointId }, { page: 1, perPage: 5_000, after })
    const ids = new Set<string>()
    let page = await read(null)
    expect(page.total).toBe(deliveriesCountedMax + 1)
    for (; ; page = await read(page.next)) {
      for (const { id } of page.items) ids.add(id)
      if (page.next === null) break
    }
    expect(ids.size).toBe(all)
  })

  it('has the attempts of each, in order', async () => {
    const { items } = await listDeliveries(database.db, merchantId, { state: 'pending' }, slice(1, 10))
    const eventId = items[0]?.id ?? ''
    await database.db.query(sql`
      insert into webhook_attempts (merchant_id, delivery_id, number, started_at, duration_ms, status, error)
      values (${merchantId}, ${eventId}, 2, ${now}, 7, 500, 'The receiver answered 500'),
        (${merchantId}, ${eventId}, 1, ${now}, 9, null, 'No answer in time')`)
    const found = await listDeliveries(database.db, merchantId, { eventId }, slice(1, 10))
    expect(found.total).toBe(1)
    expect(found.items[0]?.attempts).toMatchObject([
      { number: 1, started_at: now, duration_ms: 9, status: null, error: 'No answer in time' },
      { number: 2, started_at: now, duration_ms: 7, status: 500, error: 'The receiver answered 500' },
    ])
  })

  it('has the merchant’s own deliveries, and can be filtered by record and by state', async () => {
    const request = (filters: DeliveryFilters, whose = merchantId) =>
      listDeliveries(database.db, whose, filters, slice(1, 3))
    expect((await request({ recordId })).items.map(({ sequence }) => sequence)).toEqual([5, 4, 3])
    expect((await request({ state: 'waiting' })).total).toBe(4)
    expect((await request({ state: 'waiting' })).items[0]?.next_attempt_at).toBeNull()
    expect((await request({}, otherId)).total).toBe(1)
    expect((await request({ recordId }, otherId)).total).toBe(0)
  })
})
