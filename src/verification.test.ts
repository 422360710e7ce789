import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { manualClock } from '../test/support/clock.ts'
import { connectWithTimeout, createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { eventually } from '../test/support/webhooks.ts'
import { findMet } from './alerts/conditions.ts'
import { listActions } from './audit/store.ts'
import { saveSetting } from './auth/store.ts'
import { type Db, type Sql, sql } from './db/sql.ts'
import { freezePayouts, releasePayouts } from './ledger/payout-freeze.ts'
import { post } from './ledger/post.ts'
import { findPayoutFreeze } from './ledger/store.ts'
import { findBreaches, observeVerification, verificationJobs } from './verification.ts'

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

/**
 * A process that verifies the ledger, its logs, and how many database transactions it began; each takes as long as the
 * test says.
 */
function startProcess({ tookMs = 0, on = database.db }: { tookMs?: number; on?: Db } = {}) {
  const lines: { msg: string; count: number }[] = []
  const runs = { count: 0 }
  const db: Db = {
    ...on,
    transaction: async (work) => {
      runs.count += 1
      clock.advance(tookMs)
      return await on.transaction(work)
    },
  }
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) })
  const job = verificationJobs({ db, clock, log })['ledger.verify']
  const verify = async (stopping = new AbortController().signal) => await job?.({}, stopping)
  return { verify, lines, runs }
}

/** A payment of ten cents without a transaction, posted at a moment: an inconsistency. */
async function postStray(at: Date, { recordId = randomUUID() as string, event = 'paid' } = {}) {
  const posting = {
    merchantId,
    eventKey: `transaction:${recordId}:${event}`,
    recordType: 'transaction',
    acquirer: 'simulator',
    recordId,
    now: at,
  } as const
  const transfers = () => [{ kind: 'payment', debit: 'acquirer', credit: 'available', amount: 10 } as const]
  await database.db.transaction(async (tx) => await post(tx, { ...posting, transfers }))
}

/** How many inconsistencies a run found and logged. */
async function countFound(options = {}): Promise<number> {
  const { verify, lines } = startProcess(options)
  await verify()
  return lines[0]?.count ?? 0
}

describe('a run', () => {
  // It is noon in Brasília.
  beforeEach(() => clock.set(new Date('2026-03-02T15:00:00.000Z')))

  it('checks everything the first time, and then what was posted since', async () => {
    const before = new Date(clock.now().getTime() - hour)
    await postStray(before)
    expect(await countFound()).toBe(1)
    clock.advance(300 * second)
    expect(await countFound()).toBe(0)
    await postStray(clock.now())
    clock.advance(300 * second)
    expect(await countFound()).toBe(1)
  })

  it('checks what was posted while the last run was in progress, or shortly before', async () => {
    const begun = clock.now().getTime()
    await startProcess({ tookMs: 200 * second }).verify()
    await postStray(new Date(begun - 59 * second))
    await postStray(new Date(begun + 100 * second))
    clock.advance(100 * second)
    expect(await countFound()).toBe(2)
  })

  it('skips nothing between two of its windows', async () => {
    await startProcess().verify()
    const begun = clock.now().getTime()
    for (let at = 0; at < 120; at += 5) await postStray(new Date(begun + at * second))
    clock.advance(hour)
    expect(await countFound()).toBe(24)
  })

  it('checks what a fast clock has dated in the future', async () => {
    await startProcess().verify()
    clock.advance(300 * second)
    await postStray(new Date(clock.now().getTime() + hour))
    expect(await countFound()).toBe(1)
  })

  it.each([
    ['not yet an hour after the last run', '2026-03-02T16:00:00.000Z', '2026-03-02T15:00:00.000Z', 0],
    ['an hour after it', '2026-03-02T16:00:00.001Z', '2026-03-02T15:00:00.000Z', 1],
    ['before three in the night', '2026-03-03T05:59:59.999Z', '2026-03-03T05:10:00.000Z', 0],
    ['at three', '2026-03-03T06:00:00.000Z', '2026-03-03T05:10:00.000Z', 1],
    ['where another clock is a minute behind', '2026-03-02T14:59:00.000Z', '2026-03-02T15:00:00.000Z', 0],
    ['when the clock was put back', '2026-03-02T14:58:59.999Z', '2026-03-02T15:00:00.000Z', 1],
  ])('checks everything at night, and after an hour without a run: %s', async (_, now, lastRun, count) => {
    await startProcess().verify()
    await postStray(new Date(clock.now().getTime() - 12 * hour))
    const last = { at: lastRun, tookMs: 0 }
    const verified = { all: { at: '2026-03-02T15:00:00.000Z', tookMs: 0 }, recent: last }
    await saveSetting(database.db, 'books_verified', JSON.stringify(verified))
    clock.set(new Date(now))
    expect(await countFound()).toBe(count)
  })

  it('checks everything after a payout freeze was released', async () => {
    await startProcess().verify()
    await postStray(new Date(clock.now().getTime() - hour))
    clock.advance(300 * second)
    await freezePayouts(database.db, { reason: 'a test', now: clock.now() })
    expect(await countFound()).toBe(0)
    clock.advance(second)
    await releasePayouts({ db: database.db, clock }, { reason: 'a test', by: { actor: 'cli:test' } })
    clock.advance(300 * second)
    expect(await countFound()).toBe(1)
    clock.advance(300 * second)
    expect(await countFound()).toBe(0)
  })

  it('reports once what it finds in several windows', async () => {
    await startProcess().verify()
    const recordId = randomUUID()
    for (const event of ['paid', 'again']) {
      await postStray(clock.now(), { recordId, event })
      clock.advance(60 * second)
    }
    // One for each transfer. Both windows find both, because they have the same record.
    expect(await countFound()).toBe(2)
  })

  it('that failed is repeated by the next one', async () => {
    const { verify, runs } = startProcess()
    await database.db.query(sql`alter table withdrawals rename to elsewhere`)
    await expect(verify()).rejects.toThrow('withdrawals')
    await database.db.query(sql`alter table elsewhere rename to withdrawals`)
    await postStray(new Date(clock.now().getTime() - hour))
    expect(await countFound()).toBe(1)
    expect(runs.count).toBe(1)
  })
})

it('reports when the ledger was last verified, and how long it took', async () => {
  const registry = new Registry()
  observeVerification({ db: database.db, clock, registry })
  const value = async (name: string) => (await registry.getMetricsAsJSON()).find((one) => one.name === name)?.values
  const both = (all: number, recent: number) => [
    { labels: { scope: 'all' }, value: all },
    { labels: { scope: 'recent' }, value: recent },
  ]
  expect(await value('guiche_ledger_verified_timestamp_seconds')).toMatchObject(both(0, 0))
  await startProcess({ tookMs: 42 * second }).verify()
  const first = clock.now().getTime() / 1000
  expect(await value('guiche_ledger_verified_timestamp_seconds')).toMatchObject(both(first, first))
  expect(await value('guiche_ledger_verification_seconds')).toMatchObject(both(42, 42))
  clock.advance(300 * second)
  await startProcess().verify()
  expect(await value('guiche_ledger_verified_timestamp_seconds')).toMatchObject(both(first, first + 300))
  expect(await value('guiche_ledger_verification_seconds')).toMatchObject(both(42, 0))
})

it('alerts when no verification, recent or complete, has ended in time', async () => {
  const registry = new Registry()
  observeVerification({ db: database.db, clock, registry })
  const overdue = async () =>
    (await findMet(registry)).met.filter(({ kind }) => kind === 'ledger_not_verified').map(({ value }) => value)
  clock.advance(900 * second)
  expect(await overdue()).toEqual([])
  // There never was one: the time counts from the start of the process.
  clock.advance(60 * second)
  expect(await overdue()).toEqual([60])
  await startProcess({ tookMs: 100 * second }).verify()
  clock.advance((900 + 2 * 100) * second)
  expect(await overdue()).toEqual([])
  clock.advance(second)
  expect(await overdue()).toEqual([1])
  const at = clock.now().toISOString()
  const save = async (all: string) =>
    await saveSetting(
      database.db,
      'books_verified',
      JSON.stringify({ all: { at: all, tookMs: 0 }, recent: { at, tookMs: 0 } }),
    )
  await save(new Date(clock.now().getTime() - 28 * hour).toISOString())
  expect(await overdue()).toEqual([])
  await save(new Date(clock.now().getTime() - 29 * hour).toISOString())
  expect(await overdue()).toEqual([3_600])
})

it('freezes payouts when it finds an inconsistency, and logs it', async () => {
  await database.db.query(sql`
    insert into ledger_accounts (merchant_id, account, balance) values (${merchantId}, 'available', 1)`)
  const { verify, lines } = startProcess()
  await verify()
  const reason = 'trial_balance: the balances add up to 1, not to 0'
  expect((await findPayoutFreeze(database.db))?.reason).toBe(reason)
  expect(await listActions(database.db, { recordIds: null, limit: 10 })).toMatchObject([
    { actor: 'service', action: 'payouts.freeze', details: { reason } },
  ])
  expect(lines).toMatchObject([{ msg: 'the ledger is inconsistent: withdrawals and refunds are frozen', count: 2 }])
})

describe('a long statement', () => {
  it('is not subject to the statement time-out of the pool', async () => {
    const limited = connectWithTimeout(database, 2_000)
    const lock = await lockTable('withdrawals')
    const { verify, runs } = startProcess({ on: limited })
    const released = eventually(lock.isAwaited)
      .then(async () => await sleep(2_200))
      .then(lock.release)
    await Promise.all([verify(), released])
    expect(runs.count).toBe(1)
    // The limit belongs to the transaction: the same connection has it again afterwards.
    expect(await limited.query(sql`show statement_timeout`)).toEqual([{ statement_timeout: '2s' }])
    await limited.pool.end()
  })

  it('ends with the process, without an error, and the next process starts again', async () => {
    const lock = await lockTable('withdrawals')
    const stopping = new AbortController()
    const cut = startProcess({ tookMs: 200 * second })
    const running = cut.verify(stopping.signal)
    await eventually(lock.isAwaited)
    stopping.abort()
    // The lock is still held: the statement does not wait for it.
    await running
    expect(await lock.isAwaited()).toBe(false)
    await lock.release()
    expect(cut.lines).toEqual([])
    const next = startProcess()
    await next.verify()
    expect(next.runs.count).toBe(1)
  })

  it('is not followed by another when the process ends between the two', async () => {
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

  it('does not start once the process ends', async () => {
    await expect(findBreaches(database.db, AbortSignal.abort())).rejects.toThrow('aborted')
  })
})

/** Locks a table until it is released. */
async function lockTable(table: string) {
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
