import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addMerchants, createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { vacuum, withPlan } from '../../test/support/plans.ts'
import { raw, sql } from '../db/sql.ts'
import { numberNewEvents } from './feed.ts'
import { findEvent, findFeeds, listNumbered } from './feed-store.ts'
import type { DeliveryFilters, DeliveryState } from './read-store.ts'
import { listDeliveries, listEvents } from './read-store.ts'
import { countToResend, findResendProgress, listReceivers, newestMax } from './resend-store.ts'

// What PostgreSQL reads for a list: 20,000 events with their deliveries, half of them for one merchant.
const merchant = randomUUID()
const record = randomUUID()
const listed = 10_000
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await db.query(sql`
    insert into events (merchant_id, id, type, record_type, record_id, sequence, occurred_at)
    select case when i % 2 = 0 then ${merchant} else gen_random_uuid() end, gen_random_uuid(), 'transaction.paid', 'transaction',
      case when i <= 10 then ${record} else gen_random_uuid() end, i, timestamptz '2026-02-01T00:00:00Z' + i * interval '1 minute'
    from generate_series(1, ${2 * listed}::integer) i`)
  await db.query(sql`
    insert into webhook_deliveries (
      merchant_id, id, record_id, sequence, url, receiver, state, next_attempt_at, created_at, attempts, last_status, last_error)
    select merchant_id, id, record_id, sequence, 'https://shop.example', 'https://shop.example',
      case when sequence % 1000 = 2 then 'exhausted' when sequence % 1000 = 4 then 'pending' else 'delivered' end, occurred_at, occurred_at,
      1, case when sequence % 1000 = 4 then 503 else 204 end, case when sequence % 1000 = 4 then 'The receiver answered 503' end
    from events`)
  await db.query(sql`
    insert into webhook_attempts (merchant_id, delivery_id, number, started_at, duration_ms, status)
    select merchant_id, id, 1, created_at + interval '1 hour', sequence % 200, last_status from webhook_deliveries`)
  for (const table of ['events', 'webhook_deliveries', 'webhook_attempts']) await vacuum(db, table)
})
afterAll(async () => await database.drop())

const slice = { page: 1, perPage: 20, after: null }
const deliveries = async (filters: DeliveryFilters) =>
  await withPlan(database.db, async (db) => await listDeliveries(db, merchant, filters, slice))

it.each<[string, DeliveryFilters, number]>([
  ['of a record', { recordId: record }, 5],
  ['of one event', { eventId: randomUUID() }, 0],
  ['that were given up', { state: 'exhausted' }, 20],
  ['that are due', { state: 'pending' }, 20],
  ...(['waiting', 'gone'] satisfies DeliveryState[]).map((state): [string, DeliveryFilters, number] => [
    `that are ${state}`,
    { state },
    0,
  ]),
])('the deliveries %s are found among thousands by an index', async (_, filters, total) => {
  const found = await deliveries(filters)
  expect(found.total).toBe(total)
  expect(found.items).toHaveLength(Math.min(20, total))
  expect(found.plan.scans).not.toContain('Seq Scan')
  expect(found.plan.rows).toBeLessThanOrEqual(100)
})

it('a page of all deliveries reads only its own rows, and counts with an index', async () => {
  const found = await deliveries({})
  expect(found.total).toBe(listed)
  expect(found.items).toHaveLength(20)
  expect(found.plan.scans).not.toContain('Seq Scan')
  expect(found.plan.heapFetches).toBe(0)
})

it('a page of delivered ones counts with an index, and subtracts the few undelivered', async () => {
  const found = await deliveries({ state: 'delivered' })
  expect(found.total).toBe(listed - 40)
  expect(found.items).toHaveLength(20)
  expect(found.plan.scans).not.toContain('Seq Scan')
  expect(found.plan.heapFetches).toBe(0)
  expect(found.plan.indexes).toContain('webhook_deliveries_undelivered')
  expect(found.plan.indexes).toContain('webhook_deliveries_due')
})

it('a page of all events reads only its own rows, and counts with an index', async () => {
  const found = await withPlan(database.db, async (db) => await listEvents(db, merchant, {}, slice))
  expect(found.total).toBe(listed)
  expect(found.items).toHaveLength(20)
  expect(found.plan.scans).not.toContain('Seq Scan')
  expect(found.plan.heapFetches).toBe(0)
})

it('a page of a type or a period has its deliveries alone, and an empty one reads few rows', async () => {
  const from = new Date('2026-02-02T00:00:00Z')
  const found = await deliveries({ type: 'transaction.paid', from })
  expect(found.total).toBeGreaterThan(listed / 2)
  expect(found.items).toHaveLength(20)
  expect(found.items.every(({ created_at }) => created_at >= from)).toBe(true)
  const none = await deliveries({ from: new Date('2027-01-01T00:00:00Z') })
  expect(none.total).toBe(0)
  expect(none.plan.scans).not.toContain('Seq Scan')
  expect(none.plan.rows).toBeLessThanOrEqual(100)
})

it('an index finds undelivered and resent events in a period of any length', async () => {
  const period = { merchantId: merchant, from: new Date('2020-01-01'), until: new Date('2030-01-01') }
  const some = async () =>
    await withPlan(database.db, async (db) => ({
      found: await countToResend(db, { ...period, states: ['exhausted', 'pending'] }),
    }))
  const { found, plan } = await some()
  expect(found).toEqual([{ receiver: 'https://shop.example', count: 40 }])
  expect(plan.scans).not.toContain('Seq Scan')
  expect(plan.rows).toBeLessThanOrEqual(300)
  const resent = await withPlan(
    database.db,
    async (db) => await findResendProgress(db, { merchantId: merchant, resendId: record }),
  )
  expect(resent.requested).toBe(0)
  expect(resent.plan.scans).not.toContain('Seq Scan')
})

it('the health of receivers reads the newest deliveries, each with its latest attempt', async () => {
  const since = new Date('2026-02-01T00:00:00Z')
  const receivers = async () =>
    await withPlan(database.db, async (db) => ({ found: await listReceivers(db, { merchantId: merchant, since }) }))
  const { found, plan } = await receivers()
  expect(found).toEqual([
    expect.objectContaining({
      ...{ deliveries: newestMax, tried: newestMax, p95Ms: 188, failing: 20 },
      ...{ lastStatus: 503, lastError: 'The receiver answered 503', failedAt: new Date('2026-02-01T01:04:00Z') },
    }),
  ])
  expect(plan.indexes).toContain('webhook_attempts_pkey')
})

it('a page of the feed reads its own rows, and new events are found without the others', async () => {
  const { db } = database
  await addMerchants(db, [merchant])
  expect(await numberNewEvents(db, merchant, Number.POSITIVE_INFINITY)).toEqual({ last: listed, isComplete: true })
  await db.query(raw('analyze event_numbers'))
  const page = { merchantId: merchant, after: 4_000, until: 4_100, limit: 100 }
  const found = await withPlan(db, async (one) => ({ events: await listNumbered(one, page) }))
  expect(found.events).toHaveLength(100)
  expect(found.plan.rows).toBeLessThanOrEqual(200)
  const ofRecord = { ...page, after: 0, until: listed, recordId: record }
  const few = await withPlan(db, async (one) => ({ events: await listNumbered(one, ofRecord) }))
  expect(few.events).toHaveLength(5)
  expect(few.plan.rows).toBeLessThanOrEqual(100)
  const state = async () => await withPlan(db, async (one) => ({ feeds: await findFeeds(one, [merchant]) }))
  expect(await state()).toMatchObject({ feeds: [{ lastNumber: listed, hasNew: false }] })
  expect((await state()).plan.rows).toBeLessThanOrEqual(5)
  const eventId = few.events[0]?.eventId ?? ''
  const event = await withPlan(db, async (one) => ({ event: await findEvent(one, { merchantId: merchant, eventId }) }))
  expect(event.event?.eventId).toBe(eventId)
  expect(event.plan.rows).toBeLessThanOrEqual(5)
})
