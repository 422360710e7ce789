import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { type Plan, vacuum, withPlan } from '../../../test/support/plans.ts'
import { type Db, sql } from '../../db/sql.ts'
import { findOwners, type Owner } from '../owner-store.ts'
import { countOpenLate } from '../store.ts'
import { foldChanges } from './count-store.ts'
import { countNames } from './name-store.ts'
import { listTransactions, type TransactionFilters } from './store.ts'

// What PostgreSQL reads for a list, in rows and not in time: 20,000 transactions of one merchant among as many of
// others.
const merchant = randomUUID()
const listed = 20_000
let database: TestDatabase
let db: Db
/** Owners of a hundred transactions, looked up before PostgreSQL has statistics of the table. */
let found: { owners: Owner[]; plan: Plan }

beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
  await fill()
  const some = await db.query<{ id: string }>(sql`select id from transactions limit 100`)
  found = await withPlan(db, async (spy) => ({
    owners: await findOwners(
      spy,
      some.map(({ id }) => id),
    ),
  }))
  await db.query(sql`
    insert into refunds (merchant_id, id, transaction_id, amount, status, end_to_end, created_at)
    select merchant_id, gen_random_uuid(), id, 1, 'REFUNDED', 'D' || amount, created_at from transactions where end_to_end is not null`)
  await foldChanges(db)
  for (const table of ['transactions', 'transaction_counts', 'refunds']) await vacuum(db, table)
})
afterAll(async () => await database.drop())

async function fill(): Promise<void> {
  await db.query(sql`
    insert into transactions (
      id, merchant_id, acquirer, amount, is_info_product, external_code, customer_search_name, customer_search_email, customer_document,
      customer_landline_digits, customer_mobile_digits, pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses,
      status_dates, amount_paid, payment_date, end_to_end)
    select
      gen_random_uuid(), case when i % 2 = 0 then ${merchant} else gen_random_uuid() end, 'simulator', i, true, 'order-' || i,
      'cliente numero ' || i, i / 10 || '@example.com', lpad((i / 10)::text, 11, '0'), '113' || i / 10, '119' || i / 10, 60,
      'uri', created_at, created_at, statuses, array_fill(created_at, array[cardinality(statuses)]),
      case when is_paid then i end, case when is_paid then created_at end, case when is_paid then 'E' || i end
    from (
      select i, timestamptz '2026-02-01T00:00:00Z' + i * interval '1 minute' as created_at, i % 5 <> 0 as is_paid,
        case when i % 1000 = 2 then '{PENDING,PIX_QRCODE_GENERATED,PAID,BLOCKED}'::text[]
          when i % 5 = 0 then '{PENDING,PIX_QRCODE_GENERATED,FAILED}' else '{PENDING,PIX_QRCODE_GENERATED,PAID}' end as statuses
      from generate_series(1, ${2 * listed}::integer) i
    ) made`)
}

it('owners are looked up one by one, even before PostgreSQL knows that ids are unique', () => {
  expect(found.owners).toHaveLength(100)
  expect(found.plan.scans).not.toContain('Seq Scan')
  expect(found.plan.indexes).toEqual(new Set(['transactions_pkey']))
})

async function read(filters: TransactionFilters, slice: { page?: number } = {}) {
  return await withPlan(
    db,
    async (spy) => await listTransactions(spy, merchant, filters, { page: 1, perPage: 20, after: null, ...slice }),
  )
}

const at = (text: string) => new Date(text)

it.each<[string, TransactionFilters, number, string]>([
  ['nothing', {}, 20_000, 'transactions_newest'],
  ['a common status', { statuses: ['PAID'] }, 15_960, 'transactions_newest'],
  ['a rare status', { statuses: ['BLOCKED'] }, 40, 'transactions_rare'],
  ['rare statuses', { statuses: ['BLOCKED', 'REFUNDED'] }, 40, 'transactions_rare'],
  ['a status that none has', { statuses: ['INFRACTION'] }, 0, 'transactions_rare'],
  [
    'days in Brazil',
    { startDate: at('2026-02-05T03:00:00Z'), endDate: at('2026-02-20T02:59:59.999Z') },
    10_800,
    'transactions_newest',
  ],
  ['an e-mail', { customerEmail: '77@example.com' }, 5, 'transactions_email'],
  ['a document', { customerDocument: '00000000077' }, 5, 'transactions_document'],
  ['a phone', { phoneDigits: '11977' }, 5, 'transactions_mobile'],
  ['an endToEndId', { endToEnd: 'E72' }, 1, 'transactions_end_to_end'],
  ['the endToEndId of a refund', { endToEndRefund: 'D72' }, 1, 'transactions_pkey'],
  ['a reference', { externalCode: 'order-72' }, 1, 'transactions_external_code'],
  ['an id', { id: randomUUID() }, 0, 'transactions_pkey'],
  ['an amount', { minAmount: 500, maxAmount: 503 }, 2, 'transactions_amount'],
  ['amounts that few have', { minAmount: 39_921 }, 40, 'transactions_amount'],
  ['an e-mail and a status', { customerEmail: '77@example.com', statuses: ['PAID'] }, 4, 'transactions_email'],
  [
    'a document, a name, an amount and a day',
    { customerDocument: '00000000077', customerName: 'numero 77', minAmount: 1, startDate: at('2026-01-01T00:00:00Z') },
    5,
    'transactions_document',
  ],
  ['a phone of nobody and a status', { phoneDigits: '11', statuses: ['PAID'] }, 0, 'transactions_mobile'],
])('by %s reads few entries of an index', async (_, filters, total, index) => {
  const found = await read(filters)
  expect(found.total).toBe(total)
  expect(found.items.length).toBe(Math.min(total, 20))
  expect(found.plan.scans).not.toContain('Seq Scan')
  expect(found.plan.indexes).toContain(index)
  expect(found.plan.rows).toBeLessThanOrEqual(100)
})

it('by dates counts only the rows between the dates and the nearest midnights', async () => {
  const found = await read({ startDate: at('2026-02-05T14:00:00Z'), endDate: at('2026-02-20T16:00:00Z') })
  expect(found.total).toBe(10_861)
  // Every other minute has one: eleven hours on either side.
  expect(found.plan.rows).toBeLessThanOrEqual(331)
})

it('by a range of amounts reads only the matching entries', async () => {
  const found = await read({ minAmount: 32_001, maxAmount: 50_000 })
  expect([found.total, found.items.length]).toEqual([4_000, 20])
  expect(found.plan.indexes).toContain('transactions_amount')
  expect(found.plan.rows).toBe(4_000)
  expect(found.plan.heapFetches).toBe(0)
})

it.each<[string, TransactionFilters, number]>([
  ['a part of a name', { customerName: 'numero 39' }, 555],
  ['two letters of a name', { customerName: '77' }, 380],
  ['an amount and a status', { minAmount: 30_000, statuses: ['FAILED'] }, 1001],
])('by %s reads the entries of an index alone', async (_, filters, total) => {
  const found = await read(filters)
  expect(found.total).toBe(total)
  expect(found.plan.scans).not.toContain('Seq Scan')
  expect(found.plan.indexes).toContain('transactions_newest')
  expect(found.plan.heapFetches).toBe(0)
})

it.each<[string, TransactionFilters, number]>([
  ['all', {}, 900],
  ['those of a common status', { statuses: ['PAID'] }, 700],
])('finds a deep page of %s by the counts of the days before it', async (_, filters, page) => {
  const found = await read(filters, { page })
  const { statuses = ['PAID', 'FAILED', 'BLOCKED'] } = filters
  const rows = await db.query<{ id: string }>(sql`
    select id from transactions where merchant_id = ${merchant} and status = any(${statuses})
    order by created_at desc, id desc limit 20 offset ${(page - 1) * 20}`)
  expect(found.items.map(({ id }) => id)).toEqual(rows.map(({ id }) => id))
  // The page's own day has 720.
  expect(found.plan.rows).toBeLessThanOrEqual(741)
  expect(found.plan.heapFetches).toBe(0)
  expect(found.plan.scans).not.toContain('Seq Scan')
})

it('returns nothing past the end of a deep list', async () => {
  const found = await read({}, { page: 1001 })
  expect([found.total, found.items.length, found.next]).toEqual([listed, 0, null])
})

it('has each transaction on one page, in its order', async () => {
  const rows = await db.query<{ id: string }>(sql`
    select id from transactions where merchant_id = ${merchant} order by created_at desc, id desc`)
  // The first, some in the middle, where the order of the index and that of the list could differ, and the last.
  for (const page of [1, 2, 3, 99, 100, 101, 199, 200]) {
    const { items } = await listTransactions(db, merchant, {}, { page, perPage: 100, after: null })
    const expected = rows.slice((page - 1) * 100, page * 100)
    expect(items.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
  }
})

it('by a part of a name, once the names are counted, reads the matching rows or a page', async () => {
  while (await countNames(db, merchant, new Date('2030-01-01')));
  const rare = await read({ customerName: 'numero 777' })
  expect([rare.total, rare.items.length]).toEqual([5, 5])
  expect(rare.plan.indexes).toContain('transactions_document')
  const withStatus = await read({ customerName: 'numero 777', statuses: ['PAID'] })
  expect(withStatus.total).toBe(4)
  const frequent = await read({ customerName: 'numero 3' })
  expect([frequent.total, frequent.items.length]).toEqual([5_555, 20])
  expect(frequent.plan.heapFetches).toBe(0)
  for (const { plan } of [rare, withStatus]) expect(plan.rows).toBeLessThanOrEqual(100)
  for (const { plan } of [rare, withStatus, frequent]) expect(plan.scans).not.toContain('Seq Scan')
})

it('charges that stay open after they expired are counted by an index that has no others', async () => {
  await db.query(sql`
    update transactions set check_at = pix_expires_at + case when amount > 2 then interval '5 minutes' else interval '65 minutes' end
    where amount <= 5_000`)
  await vacuum(db, 'transactions')
  const found = await withPlan(db, async (spy) => ({ count: await countOpenLate(spy, 1_000) }))
  expect(found.count).toBe(2)
  expect(found.plan.indexes).toEqual(new Set(['transactions_open_late']))
  expect(found.plan.rows).toBe(2)
  expect(await countOpenLate(db, 1)).toBe(1)
})
