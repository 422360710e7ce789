import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { commitEvents, createTestMerchant, eventually, testEvent, testSecretKey } from '../../test/support/webhooks.ts'
import { sql, type Tx } from '../db/sql.ts'
import { enqueueEvents, type NewEvent } from './outbox.ts'
import { type AttemptResult, type Claimed, claimDue, insertAttempts, promoteWaiting } from './queue-store.ts'
import { listDeliveries, listEvents } from './read-store.ts'
import { recordAttempts } from './result.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
const url = 'https://shop.example:8443/hook?a=b'

let database: TestDatabase
let merchantId: string

beforeAll(async () => {
  database = await createTestDatabase()
  merchantId = (await createTestMerchant(database.db, { key: testSecretKey(), now })).merchantId
})
afterAll(() => database.drop())
afterEach(() => database.db.query(sql`truncate webhook_attempts, webhook_deliveries, events`))

const event = (more: Partial<Parameters<typeof testEvent>[0]> = {}) =>
  testEvent({ merchantId, occurredAt: now, webhookUrl: url, ...more })

/** Enqueues an event and waits until its row is inserted, while the transaction stays open. */
async function enqueueNow(tx: Tx, event: NewEvent): Promise<void> {
  enqueueEvents(tx, [event])
  await tx.query(sql`select`)
}

const slice = { page: 1, perPage: 100, after: null }
const all = () => listDeliveries(database.db, merchantId, {}, slice)

describe('enqueueing events', () => {
  it('writes an event and, if there is a URL, a delivery that is due at once', async () => {
    const [one, other] = [
      event({ status: 'PIX_QRCODE_GENERATED' }),
      event({ recordType: 'withdrawal', webhookUrl: null }),
    ]
    await commitEvents(database.db, one, other)
    const { items: events, total } = await listEvents(database.db, merchantId, {}, slice)
    expect(total).toBe(2)
    expect(events).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          type: 'transaction.pix_qrcode_generated',
          record_id: one.recordId,
          delivery: 'pending',
        }),
        expect.objectContaining({ type: 'withdrawal.pending', record_id: other.recordId, delivery: null }),
      ]),
    )
    expect((await all()).items).toMatchObject([{ record_id: one.recordId, url, next_attempt_at: now, attempts: [] }])
    const [row] = await database.db.query(sql`select receiver from webhook_deliveries`)
    expect(row).toEqual({ receiver: 'https://shop.example:8443' })
  })

  it('gives each event its own id, a UUID v4', async () => {
    await commitEvents(database.db, ...Array.from({ length: 50 }, () => event()))
    const { items: events } = await listEvents(database.db, merchantId, {}, slice)
    expect(new Set(events.map(({ id }) => id)).size).toBe(50)
    for (const { id } of events) expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/)
  })

  it('keeps the field order of a snapshot, and null as null', async () => {
    await commitEvents(database.db, event({ snapshot: { z: 1, a: { c: 'ã', b: null } } }), event({ snapshot: null }))
    const rows = await database.db.query<{ text: string | null }>(sql`
      select snapshot::text as text from events order by snapshot is null`)
    expect(rows.map(({ text }) => text)).toEqual(['{"z":1,"a":{"c":"ã","b":null}}', null])
  })

  it('is rolled back with the transaction that called it', async () => {
    const failing = database.db.transaction(async (tx) => {
      enqueueEvents(tx, [event()])
      throw new Error('the change failed')
    })
    await expect(failing).rejects.toThrow('the change failed')
    expect(await listEvents(database.db, merchantId, {}, slice)).toMatchObject({ items: [], total: 0 })
  })

  it('refuses a second event of a record with the same sequence', async () => {
    const one = event()
    await commitEvents(database.db, one)
    await expect(commitEvents(database.db, one)).rejects.toMatchObject({ constraint: 'events_pkey' })
  })

  it('accepts an empty list', () => commitEvents(database.db))

  it('never deadlocks with workers over the same records, whatever the order of a batch', async () => {
    const records = Array.from({ length: 20 }, (): string => randomUUID())
    const sequences = new Map(records.map((recordId) => [recordId, 0]))
    const next = (recordId: string) => {
      const sequence = (sequences.get(recordId) ?? 0) + 1
      sequences.set(recordId, sequence)
      return event({ recordId, sequence })
    }
    await commitEvents(database.db, ...records.map(next))
    let isOver = false
    let worked = 0
    const writers = Array.from({ length: 2 }, async (_, half) => {
      // Each writer has records of its own, because their events must be enqueued in order. The workers lock records of
      // both at once.
      const own = records.filter((_, index) => index % 2 === half)
      for (let round = 0; round < 40; round += 1) {
        await commitEvents(database.db, ...(round % 2 ? own : own.toReversed()).map(next))
      }
    })
    const workers = Array.from({ length: 3 }, async () => {
      while (!isOver) worked += await deliverSome()
    })
    await Promise.all(writers).finally(() => {
      isOver = true
    })
    await Promise.all(workers)
    while ((await deliverSome()) > 0) worked += 1
    const left = await database.db.query(sql`select from webhook_deliveries where state in ('waiting', 'pending')`)
    expect(left).toEqual([])
    expect(worked).toBeGreaterThan(0)
  })
})

describe('an event committed while the attempt of the one before it is being recorded', () => {
  it('is due at once when the attempt was recorded first', async () => {
    const [first, second] = pair()
    await commitEvents(database.db, first)
    const claimed = await claim()
    let committed = Promise.resolve()
    await database.db.transaction(async (tx) => {
      const results = claimed.map(delivered)
      await insertAttempts(tx, results)
      await promoteWaiting(tx, { records: results, now })
      committed = commitEvents(database.db, second)
      await untilLockAwaited()
    })
    await committed
    expect(await statesInOrder()).toEqual(['delivered', 'pending'])
  })

  it('becomes due when the attempt is recorded after it', async () => {
    const [first, second] = pair()
    await commitEvents(database.db, first)
    const claimed = await claim()
    let recorded: Promise<unknown> = Promise.resolve()
    await database.db.transaction(async (tx) => {
      await enqueueNow(tx, second)
      recorded = recordAttempts(database.db, claimed.map(delivered))
      await untilLockAwaited()
    })
    await recorded
    expect(await statesInOrder()).toEqual(['delivered', 'pending'])
  })
})

describe('a retry schedule that a newer event restarts while a failure is being recorded', () => {
  it('stays restarted, although the recording statement read the row before it waited for the lock', async () => {
    const [first, second] = pair()
    await commitEvents(database.db, first)
    await recordAttempts(database.db, (await claim()).map(failed))
    const later = new Date(now.getTime() + 5_000)
    const claimed = await claim(later)
    let recorded: Promise<unknown> = Promise.resolve()
    await database.db.transaction(async (tx) => {
      await enqueueNow(tx, { ...second, occurredAt: later })
      recorded = recordAttempts(database.db, claimed.map(failed))
      await untilLockAwaited()
    })
    await recorded
    const [delivery] = (await all()).items.filter(({ sequence }) => sequence === 1)
    expect(delivery).toMatchObject({ state: 'pending', next_attempt_at: now, attempts: [{ number: 1 }, { number: 2 }] })
  })
})

describe('an attempt that ends after the lease of its delivery has expired', () => {
  it('changes nothing when another worker holds the delivery', async () => {
    await commitEvents(database.db, event())
    const slow = await claim()
    const [other] = await claim(new Date(now.getTime() + 20_000))
    expect(other?.eventId).toBe(slow[0]?.eventId)
    await recordAttempts(database.db, slow.map(delivered))
    expect((await all()).items).toMatchObject([{ state: 'pending', attempts: [], finished_at: null }])
  })
})

function pair() {
  const recordId = randomUUID()
  return [event({ recordId }), event({ recordId, sequence: 2, status: 'PAID' })] as const
}

async function statesInOrder(): Promise<string[]> {
  return (await all()).items.sort((a, b) => a.sequence - b.sequence).map(({ state }) => state)
}

/** Waits until the other connection waits for the lock. */
async function untilLockAwaited(): Promise<void> {
  await eventually(async () => {
    const waiting = await database.db.query(sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)
    return waiting.length > 0
  })
}

async function claim(at = now): Promise<Claimed[]> {
  const leasedUntil = new Date(at.getTime() + 20_000)
  const limits = { afterReceiver: '', receiversMax: 10, initialCapacity: 16, receiverLoads: [], limit: 16 }
  return (await claimDue(database.db, { now: at, leasedUntil, instance: 1, ...limits })).claimed
}

function delivered(claimed: Claimed): AttemptResult {
  const attempt = { startedAt: now, finishedAt: now, durationMs: 1, status: 200, error: null, response: null }
  return { ...claimed, ...attempt, state: 'delivered', nextAttemptAt: now, retryAfter: null }
}

/** A failed attempt; the schedule puts the next one after five seconds. */
function failed(claimed: Claimed): AttemptResult {
  const nextAttemptAt = new Date(now.getTime() + 5_000)
  return { ...delivered(claimed), status: 500, state: 'pending', nextAttemptAt }
}

/** A worker without a network: everything it claims counts as delivered. */
async function deliverSome(): Promise<number> {
  const claimed = await claim()
  if (claimed.length > 0) await recordAttempts(database.db, claimed.map(delivered))
  return claimed.length
}
