import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { type TestSimulator, testSimulator } from '../../test/support/simulator.ts'
import { createBacenAcquirer } from '../acquirers/bacen/adapter.ts'
import { createRegistry } from '../acquirers/registry.ts'
import { type Db, sql } from '../db/sql.ts'
import { post } from '../ledger/post.ts'
import { findLedgerBreaches } from '../ledger/verify.ts'
import { assert } from '../lib/assert.ts'
import { toTxid } from '../pix/ids.ts'
import { checkOpenWithdrawals } from './check.ts'
import { createWithdrawal } from './create.ts'
import { sendWithdrawal } from './send.ts'
import type { SettleWithdrawalDeps } from './settle.ts'
import { findWithdrawal } from './store.ts'
import { findWithdrawalBreaches } from './verify-store.ts'

/** No worker runs here: the test makes each step, and the process can end after any of them. */
const clock = manualClock()
const merchantId = randomUUID()
let database: TestDatabase
let simulator: TestSimulator
let deps: SettleWithdrawalDeps
/** Of each request for a payout: the status of its withdrawal that other connections see. */
const committedAtRequest: (string | undefined)[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  simulator = await testSimulator(database.db.pool, { clock })
  const acquirer = createBacenAcquirer({
    send: async (request) => {
      if (request.method === 'PUT') committedAtRequest.push(await findCommittedStatus(request.path))
      return await simulator.handle(request)
    },
    isRemote: false,
    clock,
    name: 'simulator',
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    profile: { offers: { payouts: true, disputes: true } },
  })
  const acquirers = createRegistry([acquirer])
  deps = { db: database.db, clock, acquirers, log: pino({ level: 'silent' }), wakeDeliveries: () => {} }
  await database.db.transaction(async (tx) => {
    const transfers = () => [
      { kind: 'correction' as const, debit: 'acquirer' as const, credit: 'available' as const, amount: 1_000_000 },
    ]
    const recordId = randomUUID()
    const event = {
      eventKey: 'correction:test',
      recordType: 'correction' as const,
      recordId,
      acquirer: 'simulator',
      now: clock.now(),
    }
    await post(tx, { merchantId, ...event, transfers })
  })
})
afterEach(async () => {
  // Otherwise somebody could cancel a withdrawal whose payout is under way.
  expect(new Set(committedAtRequest)).toEqual(new Set(['PROCESSING']))
  expect([...(await findLedgerBreaches(database.db)), ...(await findWithdrawalBreaches(database.db))]).toEqual([])
})
afterAll(async () => {
  await simulator.close()
  await database.drop()
})

const input = () => ({
  amount: 1_000,
  method: 'PIX' as const,
  pixKey: { key: randomUUID(), type: 'EVP' as const },
  idempotencyKey: randomUUID(),
})

async function findCommittedStatus(path: string): Promise<string | undefined> {
  const payoutId = path.split('/').at(-1) ?? ''
  const [row] = await database.db.query<{ status: string }>(sql`
    select status from withdrawals where replace(id::text, '-', '') = ${payoutId}`)
  return row?.status
}

class Ended extends Error {}

/** A database connection that this process loses permanently before its n-th statement. Also counts the statements. */
function losing(db: Db, before: number): { db: Db; statements: () => number } {
  let statements = 0
  const step = () => {
    statements += 1
    if (statements > before) throw new Ended()
  }
  return {
    statements: () => statements,
    db: {
      pool: db.pool,
      recentXids: db.recentXids,
      query: async (statement) => {
        step()
        return await db.query(statement)
      },
      transaction: async (work) =>
        await db.transaction(async (tx) => {
          const result = await work({
            ...tx,
            query: async (statement) => {
              step()
              return await tx.query(statement)
            },
          })
          // Before the commit too.
          step()
          return result
        }),
    },
  }
}

async function runCheck(): Promise<void> {
  clock.advance(10 * 60_000)
  await checkOpenWithdrawals(deps, new AbortController().signal)
}

async function countPayouts(id: string): Promise<number> {
  return (await database.db.query(sql`select from simulator.payouts where id = ${toTxid(id)}`)).length
}

describe('a process that ends', () => {
  it('at any point of the sending leaves a withdrawal that is still sent exactly once', async () => {
    for (let before = 0; ; before++) {
      const { row } = await createWithdrawal(deps, { merchantId, clientId: merchantId, by: null, input: input() })
      const lost = losing(database.db, before)
      await sendWithdrawal({ ...deps, db: lost.db }, { merchantId, id: row.id }).catch((error: unknown) => {
        if (!(error instanceof Ended)) throw error
      })
      const isWhole = lost.statements() <= before
      // The response is EM_PROCESSAMENTO, and the scheduled check reads the final outcome.
      await runCheck()
      await runCheck()
      expect((await findWithdrawal(database.db, merchantId, row.id))?.status, `before statement ${before}`).toBe(
        'PROCESSED',
      )
      expect(await countPayouts(row.id)).toBe(1)
      if (isWhole) return
    }
  })

  it('at any point of the scheduled check leaves the withdrawal to the next check', async () => {
    for (let before = 0; ; before++) {
      const { row } = await createWithdrawal(deps, { merchantId, clientId: merchantId, by: null, input: input() })
      await sendWithdrawal(deps, { merchantId, id: row.id })
      clock.advance(10 * 60_000)
      const lost = losing(database.db, before)
      await checkOpenWithdrawals({ ...deps, db: lost.db }, new AbortController().signal).catch((error: unknown) => {
        if (!(error instanceof Ended)) throw error
      })
      const isWhole = lost.statements() <= before
      await runCheck()
      expect((await findWithdrawal(database.db, merchantId, row.id))?.status).toBe('PROCESSED')
      expect(await countPayouts(row.id)).toBe(1)
      if (isWhole) return
    }
  })

  it('at any point of a request has stored nothing or everything', async () => {
    const count = async () => (await database.db.query(sql`select from withdrawals`)).length
    for (let before = 0; ; before++) {
      const requested = input()
      const already = await count()
      const lost = losing(database.db, before)
      const created = await createWithdrawal(
        { ...deps, db: lost.db },
        { merchantId, clientId: merchantId, by: null, input: requested },
      ).catch((error: unknown) => {
        if (!(error instanceof Ended)) throw error
        return null
      })
      expect((await count()) - already).toBe(created ? 1 : 0)
      const again = await createWithdrawal(deps, { merchantId, clientId: merchantId, by: null, input: requested })
      expect(again.isReplay).toBe(created !== null)
      if (created) break
    }
    await runCheck()
    await runCheck()
  })
})

it('leaves a withdrawal PENDING while its acquirer’s circuit lets nothing through', async () => {
  const { row } = await createWithdrawal(deps, { merchantId, clientId: merchantId, by: null, input: input() })
  const [acquirer] = deps.acquirers.all
  assert(acquirer, 'there is one')
  const acquirers = createRegistry([{ ...acquirer, isPausing: () => true }])
  await sendWithdrawal({ ...deps, acquirers }, { merchantId, id: row.id })
  expect((await findWithdrawal(database.db, merchantId, row.id))?.statuses).toEqual(['PENDING'])
  await runCheck()
  await runCheck()
  expect((await findWithdrawal(database.db, merchantId, row.id))?.status).toBe('PROCESSED')
  expect(await countPayouts(row.id)).toBe(1)
})

it('sends nothing twice when its job is repeated or runs concurrently', async () => {
  const { row } = await createWithdrawal(deps, { merchantId, clientId: merchantId, by: null, input: input() })
  const job = async () => await sendWithdrawal(deps, { merchantId, id: row.id })
  await Promise.all(Array.from({ length: 8 }, job))
  await job()
  await runCheck()
  await job()
  expect(await countPayouts(row.id)).toBe(1)
  expect((await findWithdrawal(database.db, merchantId, row.id))?.statuses).toEqual([
    'PENDING',
    'PROCESSING',
    'PROCESSED',
  ])
})
