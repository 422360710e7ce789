import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { manualClock } from '../../../test/support/clock.ts'
import { addMerchants, createTestDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { type Db, onConnection, raw, sql, type Tx } from '../../db/sql.ts'
import { eraseCustomers } from '../../privacy/store.ts'
import { foldChanges } from './count-store.ts'
import { countNames } from './name-store.ts'
import { countAllNames, verifyNames, verifyNamesDaily } from './names.ts'
import { listTransactions, type TransactionFilters } from './store.ts'

let database: TestDatabase
let db: Db
const merchants = [randomUUID(), randomUUID()]
const [merchant = ''] = merchants
const startsAt = Date.UTC(2026, 1, 1)
const dayMs = 86_400_000
/** Wrong names are expected in some tests, failures of the verification in none. */
const log = {
  error: (data: object) => {
    if ('err' in data) throw data.err
  },
}

beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
  await addMerchants(db, merchants)
})
afterAll(async () => await database.drop())
beforeEach(async () => {
  await db.query(raw('truncate customer_names, customer_names_counted, transactions cascade'))
})

const below = (limit: number) => Math.floor(Math.random() * limit)
const firsts = ['ana', 'maria', 'jose', 'zulmira']
const lasts = ['silva', 'santos', 'da silva santos', 'de souza', 'silvana silva', '100% certo', 'xu']

type Row = { merchantId?: string; at?: number; name?: string | null; document?: string | null }

/** Most have one of the first names, so that some names have many transactions. */
function anyName(): string | null {
  if (below(10) === 0) return null
  return `${firsts[Math.min(below(firsts.length), below(firsts.length))]} ${lasts[below(lasts.length)]}`
}

async function insert(run: Pick<Db, 'query'>, rows: Row[]): Promise<void> {
  const whole = rows.map(({ merchantId, at, name, document }) => ({
    id: randomUUID(),
    merchant_id: merchantId ?? merchants[below(2)],
    created_at: new Date(at ?? startsAt + below(dayMs)),
    name: name === undefined ? anyName() : name,
    document: document === undefined ? String(below(100)) : document,
  }))
  await run.query(sql`
    insert into transactions (
      id, merchant_id, acquirer, amount, is_info_product, pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses, status_dates,
      customer_search_name, customer_document)
    select id, merchant_id, 'simulator', 1 + coalesce(length(document), 0), true, 60, 'uri', created_at, created_at, array['PENDING', 'PIX_QRCODE_GENERATED'],
      array[created_at, created_at], name, case when name is not null then document end
    from json_to_recordset(${JSON.stringify(whole)}::json)
      as input (id uuid, merchant_id uuid, created_at timestamptz, name text, document text)`)
}

const some = (count: number, row: Row = {}) => Array.from({ length: count }, () => row)

/** Erases some customers of any merchants. */
async function erase(tx: Tx, limit: number): Promise<void> {
  const rows = await tx.query<{ id: string; hash: string | null }>(sql`
    select id, 'hash:' || customer_document as hash from transactions where customer_search_name is not null
    order by random() limit ${limit} for update skip locked`)
  await eraseCustomers(tx, { ids: rows.map(({ id }) => id), hashes: rows.map(({ hash }) => hash), now: new Date() })
}

const texts = ['silva', 'lva', 'maria', 'ana silvana', 'zulmira xu', 'a da silva s', '100%', 'nobody', 'xu', '']

function anyFilters(): TransactionFilters {
  return {
    customerName: texts[below(texts.length)] ?? '',
    ...(below(4) === 0 && { startDate: new Date(startsAt + below(dayMs)) }),
    ...(below(4) === 0 && { statuses: ['PIX_QRCODE_GENERATED' as const] }),
    ...(below(4) === 0 && { maxAmount: 2 }),
  }
}

/** The lists of one reader through one pool are slowed down. Here each list has a pool of its own. */
const withOwnPool = (query: Db['query']): Db => ({ ...db, query, pool: Object.create(db.pool) })

type Seen = { total: number; ids: string[] }

/** A page as listed and as every transaction of the merchant says, in one snapshot. */
async function compare(
  filters: TransactionFilters,
  { page = 1, perPage = 20 } = {},
): Promise<{ listed: Seen; real: Seen }> {
  return await onConnection(db, async ({ query }) => {
    await query(raw('begin isolation level repeatable read'))
    const found = await listTransactions(withOwnPool(query), merchant, filters, { page, perPage, after: null })
    const rows = await query<{ id: string }>(sql`
      select id from transactions where merchant_id = ${merchant} and strpos(customer_search_name, ${filters.customerName ?? ''}) > 0
        and created_at >= ${filters.startDate ?? new Date(0)} and amount <= ${filters.maxAmount ?? 1_000}
      order by created_at desc, id desc`)
    await query(raw('commit'))
    const ids = rows.map(({ id }) => id)
    return {
      listed: { total: found.total, ids: found.items.map(({ id }) => id) },
      real: { total: ids.length, ids: ids.slice((page - 1) * perPage, page * perPage) },
    }
  })
}

async function expectExact(filters: TransactionFilters, slice = {}): Promise<Seen> {
  const { listed, real } = await compare(filters, slice)
  expect(listed, JSON.stringify(filters)).toEqual(real)
  return listed
}

const namesOf = async () =>
  await db.query<{ name: string; count: number; documents: string[] | null }>(sql`
    select search_name as name, count, documents from customer_names where merchant_id = ${merchant} order by 1`)

it('lists exactly at every moment, while others write, commit late, roll back, erase, count and verify', async () => {
  await insert(db, some(3_000))
  let now = startsAt + dayMs
  let writing = true
  const writers = Array.from({ length: 3 }, async () => {
    for (let round = 0; round < 40; round += 1) {
      now += 10
      await insert(db, some(1 + below(20), { at: now }))
      if (below(3) > 0) continue
      await db
        .transaction(async (tx) => {
          await insert(tx, some(5, { at: now }))
          if (below(2) === 0) await erase(tx, 5)
          // Most are visible before their time is counted, as in the service; some are not.
          await sleep(below(10))
          if (below(2) === 0) throw new Error('taken back')
        })
        .catch((error: Error) => expect(error.message).toBe('taken back'))
    }
  })
  const keepers = merchants.map(async (merchantId) => {
    while (writing) {
      await countNames(db, merchantId, new Date(now - below(200)), 100)
      await sleep(2)
      if (below(10) === 0) await verifyNames(db, log)
      if (below(3) === 0) await foldChanges(db)
    }
  })
  let compared = 0
  const reader = (async () => {
    while (writing) compared += (await expectExact(anyFilters())).total > 0 ? 1 : 0
  })()
  await Promise.all(writers).finally(() => {
    writing = false
  })
  await Promise.all([...keepers, reader])
  expect(compared).toBeGreaterThan(5)
  await verifyNames(db, log)
  while (await countNames(db, merchant, new Date(now), 1_000));
  expect(await verifyNames(db, log)).toEqual([])
  for (let round = 0; round < 60; round += 1) await expectExact(anyFilters(), { page: 1 + below(5) })
})

it('counts merchants with many transactions, once these are some minutes old', async () => {
  const [, other = ''] = merchants
  await insert(db, some(1_200, { merchantId: merchant, document: '1' }))
  await insert(db, some(100, { merchantId: other }))
  const clock = manualClock(new Date(startsAt))
  const counted = async () =>
    await db.query(sql`select merchant_id, transactions from customer_names_counted order by transactions`)
  await countAllNames({ db, clock, atOnce: 500 })
  expect(await counted()).toEqual([])
  clock.advance(dayMs + 2 * 60_000)
  await countAllNames({ db, clock, atOnce: 500 })
  expect(await counted()).toEqual([{ merchant_id: merchant, transactions: 1_200 }])
  expect(await verifyNames(db, log)).toEqual([])
  // Fewer than a thousand wait for a later run.
  const at = startsAt + dayMs
  await insert(db, some(999, { merchantId: merchant, at, name: 'zulmira xu' }))
  clock.advance(2 * 60_000)
  await countAllNames({ db, clock, atOnce: 500 })
  expect(await counted()).toHaveLength(1)
  await expectExact({ customerName: 'zulmira xu' })
  await insert(db, [{ merchantId: merchant, at, name: 'nova silva' }])
  await countAllNames({ db, clock, atOnce: 500 })
  expect(await counted()).toEqual([{ merchant_id: merchant, transactions: 2_200 }])
  await expectExact({ customerName: 'nova' })
})

it('counts all transactions, even if one millisecond has more of them than one call counts', async () => {
  await insert(db, some(1_200, { merchantId: merchant, at: startsAt }))
  await insert(db, some(300, { merchantId: merchant, at: startsAt + 1 }))
  await countAllNames({ db, clock: manualClock(new Date(startsAt + 3 * 60_000)), atOnce: 500 })
  expect(await db.query(sql`select transactions from customer_names_counted`)).toEqual([{ transactions: 1_500 }])
  expect(await verifyNames(db, log)).toEqual([])
})

it('keeps the customers of a name while they are few', async () => {
  const rowsNamed = (name: string, documents: number, more: Row = {}) =>
    Array.from({ length: documents }, (_, index) => ({ merchantId: merchant, name, document: String(index), ...more }))
  await insert(db, [
    ...rowsNamed('rara silva', 64),
    ...rowsNamed('comum silva', 65),
    ...rowsNamed('sem silva', 1, { document: null }),
  ])
  const count = async (days: number) => await countNames(db, merchant, new Date(startsAt + days * dayMs))
  const kept = async () =>
    (await namesOf()).map(({ name, count, documents }) => [name, count, documents?.length ?? null])
  await count(1)
  expect(await kept()).toEqual([
    ['comum silva', 65, null],
    ['rara silva', 64, 64],
    ['sem silva', 1, null],
  ])
  await insert(db, [
    ...rowsNamed('rara silva', 1, { at: startsAt + dayMs }),
    ...rowsNamed('comum silva', 1, { at: startsAt + dayMs }),
  ])
  await count(2)
  expect(await kept()).toEqual([
    ['comum silva', 66, null],
    ['rara silva', 65, 64],
    ['sem silva', 1, null],
  ])
  for (const customerName of ['rara', 'comum', 'silva', 'sem silva']) await expectExact({ customerName }, { page: 2 })
})

it('forgets an erased name in the same commit, and keeps what other transactions still have', async () => {
  const row = (name: string, document: string): Row => ({ merchantId: merchant, name, document })
  await insert(db, [row('ana silva', '1'), row('ana silva', '1'), row('ana silva', '2'), row('bia xu', '3')])
  await countNames(db, merchant, new Date(startsAt + 2 * dayMs))
  const eraseOne = async (document: string) =>
    await db.transaction(async (tx) => {
      const [one] = await tx.query<{ id: string }>(sql`
        select id from transactions where customer_document = ${document} limit 1 for update`)
      await eraseCustomers(tx, { ids: [one?.id ?? ''], hashes: ['hash'], now: new Date() })
    })
  await eraseOne('1')
  expect(await namesOf()).toMatchObject([{ count: 2, documents: ['1', '2'] }, { name: 'bia xu' }])
  await eraseOne('1')
  expect(await namesOf()).toMatchObject([{ count: 1, documents: ['2'] }, { name: 'bia xu' }])
  await eraseOne('3')
  expect(await namesOf()).toEqual([{ name: 'ana silva', count: 1, documents: ['2'] }])
  await expectExact({ customerName: 'silva' })
  expect(await verifyNames(db, log)).toEqual([])
})

it('does not use the counted names while one is missing among them, until they are verified', async () => {
  await insert(db, some(50, { merchantId: merchant, name: 'ana silva' }))
  const count = async () => await countNames(db, merchant, new Date(startsAt + 2 * dayMs))
  await count()
  await insert(db, [{ merchantId: merchant, at: startsAt + 1, name: 'ana silva', document: 'another' }])
  expect((await expectExact({ customerName: 'silva' })).total).toBe(51)
  expect(await verifyNames(db, log)).toEqual([merchant])
  expect(await namesOf()).toEqual([])
  await count()
  expect(await namesOf()).toMatchObject([{ count: 51 }])
  expect((await expectExact({ customerName: 'silva' })).total).toBe(51)
  // An operator corrects a name.
  await db.query(
    sql`update transactions set customer_search_name = 'eva silva' where created_at = ${new Date(startsAt + 1)}`,
  )
  expect(await namesOf()).toEqual([])
  expect((await expectExact({ customerName: 'eva' })).total).toBe(1)
})

it.each([
  ['a count', 'update customer_names set count = count + 1', ['names', 'documents']],
  ['a name', "update customer_names set search_name = 'x'", ['names', 'documents']],
  ['the customers', "update customer_names set documents = '{x}'", ['documents']],
])('finds that %s is wrong, once a day', async (_, spoil, wrong) => {
  await insert(db, some(50, { merchantId: merchant, name: 'ana silva' }))
  await countNames(db, merchant, new Date(startsAt + 2 * dayMs))
  await db.query(sql`delete from settings where name = 'names_verified'`)
  const errors: object[] = []
  const clock = manualClock()
  const verify = async () => await verifyNamesDaily({ db, clock, log: { error: (data: object) => errors.push(data) } })
  await verify()
  await db.query(raw(spoil))
  clock.advance(dayMs - 1)
  await verify()
  expect(errors).toEqual([])
  clock.advance(1)
  await verify()
  expect(errors).toEqual([{ merchantId: merchant, wrong }])
})
