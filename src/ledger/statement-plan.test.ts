import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { vacuum, withPlan } from '../../test/support/plans.ts'
import { runWithoutTimeout } from '../db/long-work.ts'
import { sql } from '../db/sql.ts'
import { listPosted, listStatementBefore } from './export-store.ts'
import { findBalancesAt, listStatement, type StatementFilters } from './store.ts'
import { findChainBreaches } from './verify-store.ts'
import { firstIdSince } from './window-store.ts'

// Checks which rows PostgreSQL reads for a merchant's account statement. The data: 10,000 payments, half of them of one
// merchant, each with a fee and a `refund_sent`, which the statement does not show; and 50 refund reservations of that
// merchant. All amounts are 1 and all balances 0.
const merchant = randomUUID()
const paymentsOfMerchant = 5_000
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await db.query(sql`
    insert into ledger_transfers (
      merchant_id, event_key, position, kind, debit, credit, amount, debit_balance, credit_balance, record_type, record_id, created_at)
    select case when i % 2 = 0 then ${merchant} else gen_random_uuid() end, 'event:' || i, place, kind, debit, credit, 1, 0, 0,
      'transaction', gen_random_uuid(), timestamptz '2026-02-01T00:00:00Z' + i * interval '1 minute'
    from generate_series(1, ${2 * paymentsOfMerchant}::integer) i
    cross join lateral (
      values (0, 'payment', 'acquirer', 'available'), (1, 'fee', 'available', 'fees'),
        (2, case when i % 200 = 0 then 'refund_reserved' end, 'available', 'reserved'), (3, 'refund_sent', 'reserved', 'acquirer')
    ) transfer (place, kind, debit, credit)
    where kind is not null`)
  await vacuum(db, 'ledger_transfers')
})
afterAll(async () => await database.drop())

const at = (minute: number) => new Date(Date.UTC(2026, 1, 1, 0, minute))

it.each<[string, StatementFilters, number]>([
  ['without filters', {}, 10_050],
  ['of a kind', { kinds: ['refund_reserved'] }, 50],
  ['of an hour', { startDate: at(600), endDate: at(659) }, 61],
])('a statement %s is found and counted with indexes, without a scan of the whole table', async (_, filters, total) => {
  const found = await withPlan(
    database.db,
    async (db) => await listStatement(db, merchant, filters, { page: 1, perPage: 20, after: null }),
  )
  expect(found.total).toBe(total)
  expect(found.items).toHaveLength(20)
  expect(found.items.map(({ id }) => id)).toEqual(found.items.map(({ id }) => id).toSorted((a, b) => b - a))
  expect(found.plan.scans).not.toContain('Seq Scan')
  if (filters.startDate) expect(found.plan.rows).toBeLessThanOrEqual(2 * total)
  else expect(found.plan.heapFetches).toBe(0)
})

it.each([0, 1, 600, 9_000, 10_001])(
  'finds the lowest id that an entry since minute %i may have, and the payments of the hour after it, reading few other rows',
  async (minute) => {
    const { db } = database
    const before = await db.query<{ id: number }>(sql`
    select id from ledger_transfers where merchant_id = ${merchant} and created_at < ${at(minute)} order by id desc limit 1`)
    const [first] = await db.query<{ id: number }>(sql`select ${firstIdSince(merchant, at(minute))} as id`)
    expect(first?.id).toBe((before[0]?.id ?? 0) + 1)
    const window = { from: at(minute), until: at(minute + 60), limit: 1_000, beforeId: null }
    const found = await withPlan(db, async (one) => ({
      posted: await listPosted(one, merchant, { kind: 'payment', ...window }),
    }))
    const expected = await db.query<{ id: number }>(sql`
    select id from ledger_transfers where merchant_id = ${merchant} and kind = 'payment'
      and created_at >= ${window.from} and created_at < ${window.until} order by id desc`)
    expect(found.posted.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
    expect(found.plan.rows).toBeLessThan(100)
  },
)

it('an export reads one chunk and no more', async () => {
  const [last] = await listStatementBefore(database.db, merchant, {}, { beforeId: null, limit: 1 })
  const found = await withPlan(database.db, async (db) => ({
    rows: await listStatementBefore(db, merchant, {}, { beforeId: last?.id ?? 0, limit: 100 }),
  }))
  expect(found.rows).toHaveLength(100)
  expect(found.rows[0]?.id).toBeLessThan(last?.id ?? 0)
  expect(found.plan.scans).not.toContain('Seq Scan')
  expect(found.plan.rows).toBeLessThanOrEqual(102)
})

it('past balances read only what they need, also for accounts that were never used', async () => {
  const found = await withPlan(database.db, async (db) => ({ balances: await findBalancesAt(db, merchant, at(9_000)) }))
  expect(found.balances).toMatchObject({ blocked: 0, debt: 0 })
  expect(found.plan.rows).toBeLessThan(60)
})

it('a verification since a moment reads only the transfers since then and the last earlier one of each account', async () => {
  // The chain is the sequence of an account's running balances.
  const found = await runWithoutTimeout(
    database.db,
    { readOnly: true, prefersIndexes: true },
    async ({ query }) =>
      await withPlan({ ...database.db, query }, async (db) => ({ rows: await findChainBreaches(db, at(9_990)) })),
  )
  // The data has zero as every running balance, so each of these transfers is a breach.
  expect(found.rows).not.toEqual([])
  expect(found.plan.rows).toBeLessThan(2_000)
})
