import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { manualClock } from '../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { eventually } from '../test/support/webhooks.ts'
import { booksJobs, findBreaches, observeBooks } from './books.ts'
import { type Db, type Sql, sql, toDb } from './db/sql.ts'
import { findEngagedBrake } from './ledger/store.ts'

const second = 1_000
const hour = 3_600 * second
const merchantId = '7f3b2f0e-52f0-4c6e-9f0a-0a5b8a1f7c11'
let database: TestDatabase
let clock: ReturnType<typeof manualClock>
beforeEach(async () => {
  database = await createTestDatabase()
  clock = manualClock()
})
afterEach(async () => await database.drop())

/** A process that verifies the books, what it logged, and how often it really looked; each look takes as long as is said. */
function startProcess({ tookMs = 0, on = database.db }: { tookMs?: number; on?: Db } = {}) {
  const lines: { msg: string; count: number }[] = []
  const looks = { count: 0 }
  const db: Db = {
    ...on,
    transaction: async (work) => {
      looks.count += 1
      clock.advance(tookMs)
      return await on.transaction(work)
    },
  }
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) })
  const job = booksJobs({ db, clock, log })['books.verify']
  const verify = async (stopping = new AbortController().signal) => await job?.({}, stopping)
  return { verify, lines, looks }
}

/** Verifies at each of these moments, counted from the end of the first run. Which of them was the time of a look? */
async function looksAt(tookMs: number, moments: number[]): Promise<number[]> {
  await startProcess({ tookMs }).verify()
  const end = clock.now().getTime()
  const looked: number[] = []
  for (const moment of moments) {
    clock.set(new Date(end + moment))
    // Each time another process.
    const { verify, looks } = startProcess({ tookMs: 0 })
    await verify()
    if (looks.count > 0) looked.push(moment)
  }
  return looked
}

describe('the pause after a run', () => {
  it('is none of the job while a run takes seconds', async () => {
    expect(await looksAt(15 * second, [285 * second, 300 * second])).toEqual([285 * second, 300 * second])
  })

  it('is nineteen times what it took, whichever process asks next', async () => {
    expect(await looksAt(200 * second, [0, 300 * second, 3_800 * second - 1, 3_800 * second])).toEqual([3_800 * second])
  })

  it('is a day at the most', async () => {
    expect(await looksAt(5 * hour, [24 * hour - 1, 24 * hour])).toEqual([24 * hour])
  })

  it('is over when the clock was put back', async () => {
    expect(await looksAt(200 * second, [-hour])).toEqual([-hour])
  })

  it('does not begin with a run that failed', async () => {
    const { verify, looks } = startProcess({ tookMs: 200 * second })
    await database.db.query(sql`alter table withdrawals rename to elsewhere`)
    await expect(verify()).rejects.toThrow('withdrawals')
    await database.db.query(sql`alter table elsewhere rename to withdrawals`)
    await verify()
    expect(looks.count).toBe(2)
  })
})

it('tells when the books were last verified, and how long it took', async () => {
  const registry = new Registry()
  observeBooks({ db: database.db, registry })
  const value = async (name: string) => (await registry.getMetricsAsJSON()).find((one) => one.name === name)?.values
  expect(await value('books_verified_timestamp_seconds')).toMatchObject([{ value: 0 }])
  await startProcess({ tookMs: 42 * second }).verify()
  expect(await value('books_verified_timestamp_seconds')).toMatchObject([{ value: clock.now().getTime() / 1000 }])
  expect(await value('books_verification_seconds')).toMatchObject([{ value: 42 }])
})

it('stops money when there is a breach, and says it in the log', async () => {
  await database.db.query(sql`
    insert into ledger_accounts (merchant_id, account, balance) values (${merchantId}, 'available', 1)`)
  const { verify, lines } = startProcess()
  await verify()
  expect((await findEngagedBrake(database.db))?.reason).toBe('trial_balance: the balances add up to 1, not to 0')
  expect(lines).toMatchObject([{ msg: 'the books do not agree: withdrawals and refunds are stopped', count: 2 }])
})

describe('a statement that takes long', () => {
  it('is not cut where the pool cuts others', async () => {
    const impatient = toDb(new pg.Pool({ connectionString: database.connectionString, statement_timeout: 250 }))
    await expect(impatient.query(sql`select pg_sleep(5)`)).rejects.toThrow('statement timeout')
    const held = await holdTable('withdrawals')
    const { verify, looks } = startProcess({ on: impatient })
    const running = verify()
    await eventually(held.isAwaited)
    await sleep(500)
    await held.release()
    await running
    expect(looks.count).toBe(1)
    // The limit is the transaction's own affair: on the same connection it is there again.
    await expect(impatient.query(sql`select pg_sleep(5)`)).rejects.toThrow('statement timeout')
    await impatient.pool.end()
  })

  it('ends when the process does, without an error, and the next process begins again', async () => {
    const held = await holdTable('withdrawals')
    const stopping = new AbortController()
    const cut = startProcess({ tookMs: 200 * second })
    const running = cut.verify(stopping.signal)
    await eventually(held.isAwaited)
    const abortedAt = performance.now()
    stopping.abort()
    await running
    // Long before it would have been tired of waiting for the lock.
    expect(performance.now() - abortedAt).toBeLessThan(5 * second)
    expect(await held.isAwaited()).toBe(false)
    await held.release()
    expect(cut.lines).toEqual([])
    const next = startProcess()
    await next.verify()
    expect(next.looks.count).toBe(1)
  })

  it('is followed by no other when the process ends between the two', async () => {
    const stopping = new AbortController()
    let sent = 0
    const { db } = database
    const watched: Db = {
      ...db,
      transaction: async (work) =>
        await db.transaction(async (tx) => {
          const query = async <Row extends object>(statement: Sql, name?: string) => {
            const rows = await tx.query<Row>(statement, name)
            sent += 1
            if (sent === 2) stopping.abort()
            return rows
          }
          return await work({ ...tx, query })
        }),
    }
    await expect(findBreaches(watched, stopping.signal)).rejects.toThrow('aborted')
    expect(sent).toBe(2)
  })

  it('does not begin once the process ends', async () => {
    await expect(findBreaches(database.db, AbortSignal.abort())).rejects.toThrow('aborted')
  })
})

/** Keeps everybody from a table until it is released. */
async function holdTable(table: string) {
  const client = await database.db.pool.connect()
  await client.query('begin')
  await client.query(`lock table ${table} in access exclusive mode`)
  const isAwaited = async () =>
    (
      await database.db.query(sql`
        select from pg_locks where relation = ${table}::regclass and not granted
          and database = (select oid from pg_database where datname = current_database())`)
    ).length > 0
  return {
    isAwaited,
    async release() {
      await client.query('commit')
      client.release()
    },
  }
}
