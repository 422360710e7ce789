import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { type Db, raw, type Sql, sql } from '../db/sql.ts'
import { systemClock } from '../lib/clock.ts'
import { retentionJobs } from './jobs.ts'

const clock = manualClock()
const retention = { attemptsDays: 30, callbacksDays: 20, exchangesDays: 10 }
const dayMs = 24 * 60 * 60_000
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())
beforeEach(async () => {
  await database.db.query(
    sql`truncate events, webhook_deliveries, webhook_attempts, callback_inbox, acquirer_exchanges`,
  )
})

const ago = (days: number, ms = 0) => new Date(clock.now().getTime() - days * dayMs + ms)

async function forget({
  db = database.db,
  stopping = new AbortController().signal,
}: {
  db?: Db
  stopping?: AbortSignal
} = {}) {
  const registry = new Registry()
  await retentionJobs({ db, clock, retention, registry })['retention.forget']?.({}, stopping)
  const metric = await registry.getSingleMetric('guiche_retention_deleted_rows_total')?.get()
  return Object.fromEntries(metric?.values.map(({ labels, value }) => [labels.table, value]) ?? [])
}

async function left(table: string, what: string): Promise<unknown[]> {
  const rows = await database.db.query<{ what: unknown }>(
    sql`select ${raw(what)} as what from ${raw(table)} order by 1`,
  )
  return rows.map((row) => row.what)
}

/** A delivery with its event, and one attempt for each given number of days ago. */
async function insertDelivery({
  state,
  finished,
  attempts,
}: {
  state: string
  finished: Date | null
  attempts: Date[]
}) {
  const [merchantId, eventId, recordId] = [randomUUID(), randomUUID(), randomUUID()]
  await database.db.query(sql`
    insert into events (merchant_id, id, type, record_type, record_id, sequence, occurred_at)
    values (${merchantId}, ${eventId}, 'transaction.paid', 'transaction', ${recordId}, 1, ${ago(900)})`)
  await database.db.query(sql`
    insert into webhook_deliveries (
      merchant_id, id, record_id, sequence, url, receiver, state, attempts, next_attempt_at, created_at, finished_at)
    values (${merchantId}, ${eventId}, ${recordId}, 1, 'https://a.example/', 'https://a.example', ${state}, ${attempts.length},
      ${ago(900)}, ${ago(900)}, ${finished})`)
  for (const [index, at] of attempts.entries())
    await database.db.query(sql`
      insert into webhook_attempts (merchant_id, delivery_id, number, started_at, duration_ms, status)
      values (${merchantId}, ${eventId}, ${index + 1}, ${at}, 12, 503)`)
}

async function insertNotice(key: string, state: string, finished: Date | null) {
  await database.db.query(sql`
    insert into callback_inbox (acquirer, event_key, end_to_end, received_at, state, finished_at, check_at)
    values ('a PSP', ${key}, ${key}, ${ago(900)}, ${state}, ${finished}, ${ago(900)})`)
}

async function insertExchanges(count: number, at: Date) {
  await database.db.query(sql`
    insert into acquirer_exchanges (at, acquirer, operation, outcome, duration_ms)
    select ${at}::timestamptz, 'a PSP', 'findCharge', 'found', n from generate_series(1, ${count}) n`)
}

describe('delivery attempts', () => {
  it('are deleted when the retention period after the end of their delivery is over, not a millisecond before', async () => {
    await insertDelivery({ state: 'delivered', finished: ago(30, -1), attempts: [ago(33), ago(30, -2)] })
    await insertDelivery({ state: 'exhausted', finished: ago(30), attempts: [ago(33)] })
    expect(await forget()).toMatchObject({ webhook_attempts: 2 })
    expect(await left('webhook_attempts', 'started_at')).toEqual([ago(33)])
  })

  it('are kept, however old, while their delivery continues', async () => {
    await insertDelivery({ state: 'pending', finished: null, attempts: [ago(200), ago(100)] })
    await insertDelivery({ state: 'waiting', finished: null, attempts: [ago(200)] })
    expect(await forget()).toMatchObject({ webhook_attempts: 0 })
    expect(await left('webhook_attempts', 'number')).toHaveLength(3)
  })

  it('are deleted without their delivery and its event', async () => {
    await insertDelivery({ state: 'delivered', finished: ago(400), attempts: [ago(400, -5)] })
    await forget()
    expect(await left('webhook_deliveries', 'state')).toEqual(['delivered'])
    expect(await left('events', 'sequence')).toEqual([1])
  })
})

describe('callbacks of acquirers', () => {
  it('are deleted when the retention period after their processing is over, whatever the outcome', async () => {
    await insertNotice('settled', 'settled', ago(20, -1))
    await insertNotice('unconfirmed', 'unconfirmed', ago(21))
    await insertNotice('unmatched', 'unmatched', ago(400))
    await insertNotice('young', 'settled', ago(20))
    expect(await forget()).toMatchObject({ callback_inbox: 3 })
    expect(await left('callback_inbox', 'event_key')).toEqual(['young'])
  })

  it('are kept, however old, until they are processed', async () => {
    await insertNotice('waits', 'received', null)
    expect(await forget()).toMatchObject({ callback_inbox: 0 })
    expect(await left('callback_inbox', 'event_key')).toEqual(['waits'])
  })
})

it('callbacks of acquirers are kept when they arrive again just before their deletion', async () => {
  await insertNotice('reported again', 'unconfirmed', ago(400))
  const reporter = await database.db.pool.connect()
  await reporter.query('begin')
  await reporter.query(`update callback_inbox set state = 'received', finished_at = null`)
  const forgetting = forget()
  await eventually(async () => {
    const [row] = await database.db.query<{ waits: boolean }>(sql`
      select exists (
        select from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%delete from callback_inbox%') as waits`)
    return row?.waits === true
  })
  await reporter.query('commit')
  reporter.release()
  expect(await forgetting).toMatchObject({ callback_inbox: 0 })
  expect(await left('callback_inbox', 'state')).toEqual(['received'])
})

describe('recorded requests to acquirers', () => {
  it('are deleted at the configured age, not before', async () => {
    for (const at of [ago(10, -1), ago(10), ago(400), ago(0)]) await insertExchanges(1, at)
    expect(await forget()).toMatchObject({ acquirer_exchanges: 2 })
    expect(await left('acquirer_exchanges', 'at')).toEqual([ago(10), ago(0)])
  })
})

it('buckets of rate limits are deleted when they are full by the clock of PostgreSQL, whatever that of the process shows', async () => {
  const insert = async (fullAt: Sql) =>
    await database.db.query(sql`
      insert into rate_limits (id, full_at, fills_in) values (${randomUUID()}, ${fullAt}, interval '1 minute')`)
  await insert(sql`now() - interval '1 second'`)
  await insert(sql`now() + interval '1 minute'`)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 })
  const jobs = retentionJobs({ db: database.db, clock: systemClock, retention, registry: new Registry() })
  await jobs['retention.rate-limits']?.({}, new AbortController().signal)
  vi.useRealTimers()
  expect(await left('rate_limits', 'full_at > now()')).toEqual([true])
})

it('deletes any number of rows, some thousands at a time, and nothing more in a second run', async () => {
  await insertExchanges(12_345, ago(11))
  await insertExchanges(3, ago(9))
  const statements = countingDb()
  expect(await forget({ db: statements.db })).toMatchObject({ acquirer_exchanges: 12_345 })
  // One for each of the other tables, which have nothing to delete.
  expect(statements.count()).toBe(3 + 3)
  expect(await forget()).toEqual({ acquirer_exchanges: 0, api_requests: 0, callback_inbox: 0, webhook_attempts: 0 })
  expect(await left('acquirer_exchanges', 'count(*)')).toEqual([3])
})

it('stops between two statements when the service stops, and continues in the next run', async () => {
  await insertExchanges(12_345, ago(11))
  await insertNotice('old', 'settled', ago(400))
  const stopping = new AbortController()
  // After one statement on the attempts, one on the inbox and the first of three on exchanges.
  const statements = countingDb((count) => count === 3 && stopping.abort())
  expect(await forget({ db: statements.db, stopping: stopping.signal })).toMatchObject({ acquirer_exchanges: 5_000 })
  expect(statements.count()).toBe(3)
  expect(await left('acquirer_exchanges', 'count(*)')).toEqual([7_345])
  expect(await forget()).toMatchObject({ acquirer_exchanges: 7_345 })
})

it('finds the rows to delete by an index', async () => {
  const statements = countingDb()
  await forget({ db: statements.db })
  const plans = await database.db.transaction(async (tx) => {
    await tx.query(sql`set local enable_seqscan = off`)
    const explained = []
    for (const statement of statements.all)
      explained.push(JSON.stringify(await tx.query(sql`explain (format json) ${statement}`)))
    return explained
  })
  expect(plans).toEqual([
    expect.stringContaining('"webhook_attempts_started"'),
    expect.stringContaining('"callback_inbox_finished"'),
    expect.stringContaining('"acquirer_exchanges_pkey"'),
    expect.stringContaining('"api_requests_at"'),
  ])
})

/** The database, and a record of its statements. */
function countingDb(after: (count: number) => unknown = () => {}) {
  const all: Sql[] = []
  const db: Db = {
    ...database.db,
    async query<Row extends object>(statement: Sql) {
      const rows = await database.db.query<Row>(statement)
      all.push(statement)
      after(all.length)
      return rows
    },
  }
  return { db, all, count: () => all.length }
}
