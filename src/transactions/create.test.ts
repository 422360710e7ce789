import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { sql } from '../db/sql.ts'
import { createTransactionWriter } from './create.ts'
import type { NewTransaction } from './store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const now = new Date('2026-11-21T12:00:00.000Z')
const merchantId = randomUUID()

function birth(set: Partial<NewTransaction> = {}): NewTransaction {
  return {
    id: randomUUID(),
    merchant_id: merchantId,
    acquirer: 'simulator',
    other_acquirers: [],
    amount: 2590,
    idempotency_key: null,
    external_code: null,
    webhook_url: 'https://example.com/hook',
    is_info_product: true,
    customer: null,
    seller: null,
    address: null,
    items: null,
    metadata: null,
    pix_expiration_seconds: 1800,
    created_at: now,
    pix_uri: '00020101021226',
    pix_expires_at: now,
    statuses: ['PENDING', 'PIX_QRCODE_GENERATED'],
    status_dates: [now, now],
    error_message: null,
    check_at: null,
    customer_search_name: null,
    customer_search_email: null,
    customer_document: null,
    customer_landline_digits: null,
    customer_mobile_digits: null,
    ...set,
  }
}

/** How many events and deliveries there are of each of these. */
async function told(rows: NewTransaction[]): Promise<number[][]> {
  const found = await database.db.query<{ id: string; events: number; deliveries: number }>(sql`
    select id, (select count(*) from events where record_id = transactions.id) as events,
      (select count(*) from webhook_deliveries where record_id = transactions.id) as deliveries
    from transactions where id = any(${rows.map(({ id }) => id)}::uuid[])`)
  return rows.map(({ id }) => found.flatMap((row) => (row.id === id ? [row.events, row.deliveries] : [])))
}

it.each([
  ['PostgreSQL refuses', { amount: 0 }],
  ['cannot be written into a statement', { amount: 2 ** 53 }],
])('lets a row that %s fail alone, of all that share its commit', async (_name, bad) => {
  const insert = createTransactionWriter(database.db)
  const rows = [birth(), birth(), birth(bad), birth(), birth()]
  const results = await Promise.allSettled(rows.map(insert))
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual([
    ...[true, true, 'failed', true, true],
  ])
  expect(await told(rows)).toEqual([[1, 1], [1, 1], [], [1, 1], [1, 1]])
})

it('inserts one of several that are the same, or have the same key, and tells of it once', async () => {
  const insert = createTransactionWriter(database.db)
  const same = birth({ idempotency_key: 'same' })
  const rows = [same, { ...same }, birth({ idempotency_key: 'same' }), birth({ idempotency_key: 'other' })]
  const results = await Promise.all(rows.map(insert))
  expect(results.filter(Boolean)).toHaveLength(2)
  expect(results[3]).toBe(true)
  const first = rows[results.indexOf(true)]
  expect(first && (await told([first]))).toEqual([[1, 1]])
  expect(await Promise.all(rows.map(insert))).toEqual([false, false, false, false])
})

it('tells of nothing where nothing has changed yet, or where nobody wants to know', async () => {
  const insert = createTransactionWriter(database.db)
  const pending = { pix_uri: null, pix_expires_at: null }
  const rows = [birth({ ...pending, statuses: ['PENDING'], status_dates: [now] }), birth({ webhook_url: null })]
  expect(await Promise.all(rows.map(insert))).toEqual([true, true])
  expect(await told(rows)).toEqual([
    [0, 0],
    [1, 0],
  ])
})
