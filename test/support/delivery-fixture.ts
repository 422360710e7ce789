import { afterAll, afterEach, beforeAll } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { type Deliveries, startDeliveries } from '../../src/webhooks/deliver.ts'
import type { RecordVersion } from '../../src/webhooks/payload.ts'
import { type DeliveryRow, listDeliveries } from '../../src/webhooks/read-store.ts'
import { type ManualClock, manualClock } from './clock.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import {
  commitEvents,
  createTestMerchant,
  eventually,
  startTestReceiver,
  type TestMerchant,
  type TestReceiver,
  testEvent,
  testSecretKey,
} from './webhooks.ts'

type Deps = Parameters<typeof startDeliveries>[0]
type Options = NonNullable<Deps['options']>

/** A database, a merchant, a clock, and delivery workers and receivers that end with each test. Call once per file. */
export function deliveryFixture() {
  const key = testSecretKey()
  const clock: ManualClock = manualClock()
  const opened: { stop(): Promise<void> }[] = []
  const logged: object[] = []
  let database: TestDatabase
  let merchant: TestMerchant

  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(() => database.drop())
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.stop()))
    await database.db.query(sql`truncate webhook_attempts, webhook_deliveries, events`)
    logged.length = 0
  })

  return {
    key,
    clock,
    logged,
    loadRecords,
    setUp,
    work,
    receive,
    inTurn,
    enqueue,
    deliveries,
    until,
    untilAttempts,
    states,
    get database() {
      return database
    },
    get merchant() {
      return merchant
    },
  }

  async function setUp(): Promise<void> {
    // The real time: the official verifier uses the system clock.
    clock.set(new Date())
    merchant = await createTestMerchant(database.db, { key, now: clock.now() })
  }

  function work(options: Options = {}, more: Partial<Deps> = {}): Deliveries {
    const log = (data: object) => logged.push(data)
    const worker = startDeliveries({
      db: database.db,
      instance: 1,
      key,
      clock,
      allowPrivate: true,
      loadRecords: { transaction: loadRecords, withdrawal: loadRecords },
      log: { info: log, warn: log, error: log },
      options: { pollMs: 10, random: () => 0.5, graceMs: 200, ...options },
      ...more,
    })
    opened.push(worker)
    return worker
  }

  async function receive(...answer: Parameters<typeof startTestReceiver>): Promise<TestReceiver> {
    const receiver = await startTestReceiver(...answer)
    opened.push(receiver)
    return receiver
  }

  /** Answers with these statuses in order, and with 204 after the last. */
  function inTurn(...statuses: number[]): Promise<TestReceiver> {
    return receive((response) => response.writeHead(statuses.shift() ?? 204).end())
  }

  function enqueue(webhookUrl: string, event: Partial<Parameters<typeof testEvent>[0]> = {}): Promise<void> {
    const { merchantId } = merchant
    return commitEvents(database.db, testEvent({ merchantId, occurredAt: clock.now(), webhookUrl, ...event }))
  }

  async function deliveries(): Promise<DeliveryRow[]> {
    const found = await listDeliveries(database.db, merchant.merchantId, {}, { page: 1, perPage: 100, after: null })
    return found.items.sort((a, b) => a.sequence - b.sequence)
  }

  function until(state: string, count = 1): Promise<void> {
    return eventually(async () => (await deliveries()).filter((one) => one.state === state).length >= count)
  }

  function untilAttempts(count: number): Promise<void> {
    return eventually(async () => (await deliveries())[0]?.attempts.length === count)
  }

  async function states(): Promise<Record<string, number>> {
    const rows = await database.db.query<{ state: string; count: number }>(sql`
      select state, count(*) as count from webhook_deliveries group by state`)
    return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
  }
}

async function loadRecords(versions: RecordVersion[]): Promise<unknown[]> {
  return versions.map(({ recordId, snapshot }) => ({ id: recordId, amount: 1234, ...Object(snapshot) }))
}
