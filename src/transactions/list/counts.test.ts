import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { manualClock } from '../../../test/support/clock.ts'
import {
  addMerchants,
  connectWithTimeout,
  createTestDatabase,
  type TestDatabase,
} from '../../../test/support/database.ts'
import { eventually } from '../../../test/support/webhooks.ts'
import { type Db, raw, sql } from '../../db/sql.ts'
import { dayOf } from '../../lib/brasilia.ts'
import type { TransactionStatus } from '../status.ts'
import { type CountedFilters, countByDays, foldChanges } from './count-store.ts'
import { verifyCounts, verifyCountsDaily } from './counts.ts'
import { listTransactions } from './store.ts'

let database: TestDatabase
let db: Db
const merchants = [randomUUID(), randomUUID()]
const [merchant = ''] = merchants
const log = { error: () => {} }
const statuses = ['PENDING', 'PIX_QRCODE_GENERATED', 'PAID', 'FAILED', 'REFUNDED', 'BLOCKED'] as const

beforeAll(async () => {
  database = await createTestDatabase()
  db = database.db
  await addMerchants(db, merchants)
})
afterAll(async () => await database.drop())

/** Around midnight in Brazil on a few days, to the millisecond, and any moment in between. */
function anyMoment(): Date {
  const midnight = Date.UTC(2026, 1, 1 + below(6), 3)
  return new Date(midnight + (below(2) === 0 ? below(5) - 2 : below(86_400_000)))
}

function below(limit: number): number {
  return Math.floor(Math.random() * limit)
}

async function insert(run: Pick<Db, 'query'>, count: number): Promise<void> {
  const rows = Array.from({ length: count }, () => ({
    id: randomUUID(),
    merchant_id: merchants[below(merchants.length)],
    created_at: anyMoment(),
  }))
  await run.query(sql`
    insert into transactions (
      id, merchant_id, acquirer, amount, is_info_product, pix_expiration_seconds, pix_uri, pix_expires_at, created_at, statuses, status_dates)
    select id, merchant_id, 'simulator', 100, true, 60, 'uri', created_at, created_at, array['PENDING', 'PIX_QRCODE_GENERATED'],
      array[created_at, created_at]
    from json_to_recordset(${JSON.stringify(rows)}::json) as input (id uuid, merchant_id uuid, created_at timestamptz)`)
}

const moves = ['FAILED', 'PAID', 'PAID>BLOCKED', 'PAID>PROCESSING_REFUND>REFUNDED']

/** Moves some transactions that have a code, in one statement for those of many merchants. */
async function move(run: Pick<Db, 'query'>, limit: number): Promise<void> {
  const path = moves[below(moves.length)]?.split('>') ?? []
  await run.query(sql`
    update transactions set
      statuses = statuses || ${path}::text[], status_dates = status_dates || array_fill(created_at, array[${path.length}::int])
    where id in (
      select id from transactions where status = 'PIX_QRCODE_GENERATED' order by random() limit ${limit} for update skip locked)`)
}

function anyFilters(): CountedFilters {
  const dates = [anyMoment(), anyMoment()].sort((a, b) => a.getTime() - b.getTime())
  return {
    ...(below(2) === 0 && { startDate: dates[0] }),
    ...(below(2) === 0 && { endDate: dates[1] }),
    ...(below(2) === 0 && { statuses: statuses.filter(() => below(2) === 0) as TransactionStatus[] }),
  }
}

/** The total as lists report it and as counted, in one statement and so from one snapshot. */
async function compare(filters: CountedFilters): Promise<{ total: number; counted: number }> {
  const { startDate, endDate, statuses: some } = filters
  const [row] = await db.query<{ total: number; counted: number }>(sql`
    select ${countByDays(merchant, filters)} as total, (
      select count(*) from transactions
      where merchant_id = ${merchant} and (${startDate ?? null}::timestamptz is null or created_at >= ${startDate ?? null})
        and (${endDate ?? null}::timestamptz is null or created_at <= ${endDate ?? null})
        and (${some ?? null}::text[] is null or status = any(${some ?? null}))) as counted`)
  return row ?? { total: -1, counted: -2 }
}

it('reports the exact total at every moment while others write, roll back, fold and verify', async () => {
  let writing = true
  const writers = Array.from({ length: 4 }, async () => {
    for (let round = 0; round < 60; round += 1) {
      if (below(2) === 0) await insert(db, 1 + below(20))
      else await move(db, 1 + below(10))
      if (below(4) > 0) continue
      await db
        .transaction(async (tx) => {
          await insert(tx, 5)
          await move(tx, 5)
          await sleep(below(5))
          if (below(2) === 0) throw new Error('taken back')
        })
        .catch((error: Error) => expect(error.message).toBe('taken back'))
    }
  })
  const fold = async () => await foldChanges(db)
  const keepers = [fold, fold, async () => expect(await verifyCounts(db, log)).toEqual([])].map(async (work) => {
    while (writing) {
      await work()
      await sleep(5)
    }
  })
  let compared = 0
  const reader = (async () => {
    while (writing) {
      const filters = anyFilters()
      const { total, counted } = await compare(filters)
      expect(total, JSON.stringify(filters)).toBe(counted)
      compared += counted > 0 ? 1 : 0
    }
  })()
  await Promise.all(writers).finally(() => {
    writing = false
  })
  await Promise.all([...keepers, reader])
  expect(compared).toBeGreaterThan(50)

  await foldChanges(db)
  expect(await db.query(sql`select from transaction_count_changes`)).toEqual([])
  for (let round = 0; round < 200; round += 1) {
    const filters = anyFilters()
    const { total, counted } = await compare(filters)
    expect(total, JSON.stringify(filters)).toBe(counted)
  }
  const amounts = await db.query(sql`
    select day, status, total, worth from (
      select day, status, sum(amount) as total from transaction_counts group by 1, 2
    ) counts full join (
      select brazilian_day(created_at) as day, status, sum(coalesce(amount_paid, amount)) as worth
      from transactions group by 1, 2
    ) present using (day, status)
    where coalesce(total, 0) <> coalesce(worth, 0)`)
  expect(amounts).toEqual([])
})

it('adds one row of changes per day and status, however many transactions a statement writes', async () => {
  await foldChanges(db)
  const at = Date.UTC(2026, 2, 1, 12)
  const rows = Array.from({ length: 50 }, () => ({ id: randomUUID(), created_at: new Date(at) }))
  await db.query(sql`
    insert into transactions (
      id, merchant_id, acquirer, amount, is_info_product, pix_expiration_seconds, created_at, statuses, status_dates)
    select id, ${merchant}, 'simulator', 100, true, 60, created_at, array['PENDING'], array[created_at]
    from json_to_recordset(${JSON.stringify(rows)}::json) as input (id uuid, created_at timestamptz)`)
  const changes = sql`select day::text, status, change, amount from transaction_count_changes`
  expect(await db.query(changes)).toEqual([{ day: '2026-03-01', status: 'PENDING', change: 50, amount: 5_000 }])
  // An update that changes no status changes no count.
  await db.query(sql`update transactions set check_at = now() where merchant_id = ${merchant}`)
  expect(await db.query(changes)).toHaveLength(1)
})

it('counts deletions, and starts from zero when the table is truncated', async () => {
  const { total: before } = await compare({})
  await db.query(sql`
    delete from transactions where id in (select id from transactions where merchant_id = ${merchant} limit 7)`)
  expect(await compare({})).toEqual({ total: before - 7, counted: before - 7 })
  await expect(
    db.transaction(async (tx) => {
      await tx.query(raw('truncate transactions cascade'))
      expect(await tx.query(sql`select ${countByDays(merchant, {})} as total`)).toEqual([{ total: 0 }])
      throw new Error('taken back')
    }),
  ).rejects.toThrow('taken back')
  expect((await compare({})).total).toBe(before - 7)
})

it('finds and corrects what was written without the triggers', async () => {
  const total = async () => (await listTransactions(db, merchant, {}, { page: 1, perPage: 1, after: null })).total
  const before = await total()
  await db.transaction(async (tx) => {
    await tx.query(raw('alter table transactions disable trigger user'))
    await tx.query(sql`
      update transactions set merchant_id = ${merchants[1]}
      where id in (select id from transactions where merchant_id = ${merchant} and status = 'PENDING' limit 10)`)
    await tx.query(raw('alter table transactions enable trigger user'))
  })
  expect(await total()).toBe(before)
  const found = await verifyCounts(db, log)
  expect(found.toSorted((a, b) => a.change - b.change)).toEqual([
    { merchantId: merchant, day: '2026-03-01', status: 'PENDING', change: -10, amount: -1_000 },
    { merchantId: merchants[1], day: '2026-03-01', status: 'PENDING', change: 10, amount: 1_000 },
  ])
  expect(await total()).toBe(before - 10)
  expect(await verifyCounts(db, log)).toEqual([])
})

const dayMs = 86_400_000
/** Makes one count of each of these merchants wrong. */
const spoil = async (...ids: string[]) =>
  await db.query(sql`
    insert into transaction_count_changes (merchant_id, day, status, change, amount)
    select merchant_id, '2026-04-01', 'PAID', 1, 100 from unnest(${ids}::uuid[]) merchant_id`)

it('verifies once a day, even when processes start more often', async () => {
  const clock = manualClock()
  const { signal } = new AbortController()
  const errors: object[] = []
  const verify = async () =>
    await verifyCountsDaily({ db, clock, log: { error: (data: object) => errors.push(data) } }, signal)
  await verify()
  await spoil(merchant)
  clock.advance(dayMs - 1)
  await verify()
  expect(errors).toEqual([])
  clock.advance(1)
  await verify()
  expect(errors).toMatchObject([{ merchantId: merchant, corrections: [{ day: '2026-04-01', change: -1 }] }])
  await spoil(merchant)
  clock.advance(-dayMs)
  await verify()
  expect(errors).toHaveLength(2)
})

it('does not count an interrupted run', async () => {
  const clock = manualClock(new Date('2026-06-01T00:00:00Z'))
  const errors: object[] = []
  const deps = { db, clock, log: { error: (data: object) => errors.push(data) } }
  await verifyCountsDaily(deps, AbortSignal.abort())
  await spoil(merchant)
  expect(errors).toEqual([])
  await verifyCountsDaily(deps, new AbortController().signal)
  expect(errors).toHaveLength(1)
})

it('continues with the next merchant when one cannot be counted', async () => {
  const [first = '', second = ''] = merchants.toSorted()
  await spoil(first, second)
  await db.query(sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$`)
  await db.query(
    raw(`
    create trigger refused before insert on transaction_count_changes
    for each row when (new.merchant_id = '${first}') execute function refuse()`),
  )
  const errors: object[] = []
  const found = await verifyCounts(db, { error: (data: object) => errors.push(data) })
  expect(found.map(({ merchantId }) => merchantId)).toEqual([second])
  expect(errors).toMatchObject([{ merchantId: first, err: { message: 'not this one' } }, { merchantId: second }])
  await db.query(raw('drop trigger refused on transaction_count_changes'))
  expect(await verifyCounts(db, log)).toMatchObject([{ merchantId: first, change: -1 }])
})

it('may count a merchant for longer than the statement time-out of the pool', async () => {
  const limited = connectWithTimeout(database, 2_000)
  const holder = await db.pool.connect()
  await holder.query('begin')
  await holder.query('lock table transaction_counts in share update exclusive mode')
  await spoil(merchant)
  const isAwaited = async () =>
    (
      await db.query(sql`
        select from pg_locks where relation = 'transaction_counts'::regclass and not granted
          and database = (select oid from pg_database where datname = current_database())`)
    ).length > 0
  const released = eventually(isAwaited)
    .then(async () => await sleep(2_200))
    .then(async () => await holder.query('commit'))
  const [found] = await Promise.all([verifyCounts(limited, log), released])
  holder.release()
  expect(found).toMatchObject([{ merchantId: merchant, status: 'PAID' }])
  await limited.pool.end()
})

it('has the same days in the database as in lib/brasilia.ts, also days of 23 and 25 hours', async () => {
  const hours = Array.from({ length: 5_000 }, (_, index) => new Date(Date.UTC(2017, 8, 1) + index * 3_600_000))
  const rows = await db.query<{ at: Date; day: string }>(sql`
    select at, brazilian_day(at)::text as day from unnest(${hours}::timestamptz[]) as at`)
  expect(rows.filter(({ at, day }) => day !== dayOf(at))).toEqual([])
})
