import { randomUUID } from 'node:crypto'
import { Registry } from 'prom-client'
import { Webhook } from 'standardwebhooks'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type ManualClock, manualClock } from '../../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import {
  commitEvents,
  createTestMerchant,
  eventually,
  startTestReceiver,
  type TestMerchant,
  type TestReceiver,
  testEvent,
  testSecretKey,
} from '../../test/support/webhooks.ts'
import { sql } from '../db/sql.ts'
import { type Deliveries, startDeliveries } from './deliver.ts'
import type { RecordMoment } from './payload.ts'
import { listDeliveries } from './read-store.ts'
import { resendDelivery } from './resend.ts'
import { rotateWebhookSecret } from './secrets.ts'
import { claimDue } from './store.ts'

const key = testSecretKey()
const second = 1000
const minute = 60 * second
const hour = 60 * minute

type Options = NonNullable<Parameters<typeof startDeliveries>[0]['options']>

let database: TestDatabase
let clock: ManualClock
let merchant: TestMerchant
const opened: { stop(): Promise<void> }[] = []
const logged: object[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.stop()))
  await database.db.query(sql`truncate webhook_attempts, webhook_deliveries, events`)
  logged.length = 0
})

async function setUp(): Promise<void> {
  // Near the real time: the official verifier knows no other.
  clock = manualClock(new Date())
  merchant = await createTestMerchant(database.db, { key, now: clock.now() })
}

function work(options: Options = {}, more: Partial<Parameters<typeof startDeliveries>[0]> = {}): Deliveries {
  const log = (data: object) => logged.push(data)
  const deliveries = startDeliveries({
    db: database.db,
    key,
    clock,
    allowPrivate: true,
    loadRecords: { transaction: loadRecords, withdrawal: loadRecords },
    log: { info: log, warn: log, error: log },
    options: { pollMs: 10, random: () => 0.5, graceMs: 200, ...options },
    ...more,
  })
  opened.push(deliveries)
  return deliveries
}

async function loadRecords(moments: RecordMoment[]): Promise<unknown[]> {
  return moments.map(({ recordId, snapshot }) => ({ id: recordId, amount: 1234, ...Object(snapshot) }))
}

async function receive(...answer: Parameters<typeof startTestReceiver>): Promise<TestReceiver> {
  const receiver = await startTestReceiver(...answer)
  opened.push(receiver)
  return receiver
}

/** Answers with these statuses in turn, and with 204 after the last. */
function inTurn(...statuses: number[]) {
  return receive((response) => response.writeHead(statuses.shift() ?? 204).end())
}

function enqueue(webhookUrl: string, event: Partial<Parameters<typeof testEvent>[0]> = {}): Promise<void> {
  const { merchantId } = merchant
  return commitEvents(database.db, testEvent({ merchantId, occurredAt: clock.now(), webhookUrl, ...event }))
}

async function deliveries() {
  const found = await listDeliveries(database.db, { merchantId: merchant.merchantId, page: 1, perPage: 100 })
  return found.deliveries.sort((a, b) => a.sequence - b.sequence)
}

function until(state: string, count = 1): Promise<void> {
  return eventually(async () => (await deliveries()).filter((one) => one.state === state).length >= count)
}

function untilAttempts(count: number): Promise<void> {
  return eventually(async () => (await deliveries())[0]?.attempts.length === count)
}

describe('a delivery', () => {
  it('carries id, type, time and the record with its sequence, and the official verifier accepts it', async () => {
    await setUp()
    const receiver = await receive()
    const recordId = randomUUID()
    await enqueue(`${receiver.url}?token=a`, { recordId, sequence: 3, status: 'PAID', snapshot: { status: 'PAID' } })
    work()
    await receiver.until(1)
    const [one] = receiver.received
    const event = new Webhook(merchant.secret).verify(one?.body ?? '', flat(one?.headers))
    expect(event).toEqual({
      id: one?.headers['webhook-id'],
      type: 'transaction.paid',
      timestamp: clock.now().toISOString(),
      data: { id: recordId, amount: 1234, status: 'PAID', sequence: 3 },
    })
    expect(one?.path).toBe('/hook?token=a')
    expect(one?.headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'Guiche-Webhooks/1' })
    await until('delivered')
    const [delivery] = await deliveries()
    expect(delivery).toMatchObject({ lastStatus: 204, lastError: null, finishedAt: clock.now() })
    expect(delivery?.attempts).toMatchObject([{ number: 1, status: 204, error: null }])
  })

  it('is accepted with the former and with the new secret during a rotation', async () => {
    await setUp()
    const receiver = await receive()
    const next = await rotateWebhookSecret(database.db, { key, merchantId: merchant.merchantId, now: clock.now() })
    await enqueue(receiver.url)
    work()
    await receiver.until(1)
    const [one] = receiver.received
    for (const secret of [merchant.secret, next]) {
      expect(() => new Webhook(secret).verify(one?.body ?? '', flat(one?.headers))).not.toThrow()
    }
  })

  it('is sent at once when nudged, and without a nudge when it is polled', async () => {
    await setUp()
    const receiver = await receive()
    const worker = work({ pollMs: 60_000 })
    await new Promise((done) => setTimeout(done, 50))
    await enqueue(receiver.url)
    worker.nudge()
    await until('delivered')
    // It looks once more when it has booked one.
    await new Promise((done) => setTimeout(done, 100))
    await enqueue(receiver.url)
    await new Promise((done) => setTimeout(done, 50))
    expect(receiver.received).toHaveLength(1)
    work({ pollMs: 10 })
    await receiver.until(2)
  })

  it('is repeated by the schedule with the same bytes, and ends exhausted after twelve attempts', async () => {
    await setUp()
    const receiver = await receive((response) => response.writeHead(500).end('no'))
    await enqueue(receiver.url, { snapshot: { b: 1, a: 'ã' } })
    work()
    const waits = [5, 30, 120, 300, 900, 3600, 10_800, 21_600, 43_200, 86_400, 86_400]
    for (const [index, wait] of waits.entries()) {
      await untilAttempts(index + 1)
      const [delivery] = await deliveries()
      expect(delivery?.nextAttemptAt).toEqual(new Date(clock.now().getTime() + wait * second))
      clock.advance(wait * second - 1)
      await new Promise((done) => setTimeout(done, 25))
      expect(receiver.requests()).toBe(index + 1)
      clock.advance(1)
    }
    await until('exhausted')
    expect(receiver.received).toHaveLength(12)
    expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(12)
    expect(JSON.stringify(logged)).not.toContain('/hook')
  })

  it.each([
    ['seconds', () => '3600'],
    ['a date', () => new Date(clock.now().getTime() + hour).toUTCString()],
  ])('is put off by Retry-After in %s', async (_, header) => {
    await setUp()
    clock.set(new Date(Math.ceil(Date.now() / 1000) * 1000))
    const receiver = await receive((response) => response.writeHead(503, { 'retry-after': header() }).end())
    await enqueue(receiver.url)
    work()
    await untilAttempts(1)
    expect((await deliveries())[0]?.nextAttemptAt).toEqual(new Date(clock.now().getTime() + hour))
  })

  it('stops at 410', async () => {
    await setUp()
    const receiver = await inTurn(410)
    await enqueue(receiver.url)
    work()
    await until('gone')
    expect((await deliveries())[0]).toMatchObject({ lastStatus: 410, nextAttemptAt: null })
  })

  it('fails on a redirect, which is not followed', async () => {
    await setUp()
    const elsewhere = await receive()
    const receiver = await receive((response) => response.writeHead(307, { location: elsewhere.url }).end())
    await enqueue(receiver.url)
    work()
    await untilAttempts(1)
    expect((await deliveries())[0]).toMatchObject({ state: 'pending', lastStatus: 307 })
    expect(elsewhere.requests()).toBe(0)
  })

  it('fails without an answer in time, and when the connection breaks or is refused', async () => {
    await setUp()
    const hanging = await receive(() => {})
    const breaking = await receive((response) => response.destroy())
    const closed = await receive()
    await closed.stop()
    for (const { url } of [hanging, breaking, closed]) await enqueue(url)
    work({ deadlineMs: 150 })
    await eventually(async () => (await deliveries()).every((one) => one.attempts.length === 1))
    const errors = new Map((await deliveries()).map((one) => [one.url, one.lastError]))
    expect(errors.get(hanging.url)).toBe('No answer in time')
    expect(errors.get(breaking.url)).toBe('The connection was closed before an answer')
    expect(errors.get(closed.url)).toBe('The connection was refused')
  })

  it('fails when the head of the answer trickles beyond the deadline', async () => {
    await setUp()
    const receiver = await receive((response) => {
      const timer = setInterval(() => response.writeProcessing(), 20)
      response.on('close', () => clearInterval(timer))
    })
    await enqueue(receiver.url)
    work({ deadlineMs: 200 })
    await untilAttempts(1)
    expect((await deliveries())[0]).toMatchObject({ state: 'pending', lastError: 'No answer in time' })
  })

  it('succeeds however long the body of the answer is, and reads little of it', async () => {
    await setUp()
    let sent = 0
    const receiver = await receive((response) => {
      const chunk = Buffer.alloc(64 * 1024)
      const write = () => {
        while (!response.destroyed && sent < 200_000_000) {
          sent += chunk.length
          if (!response.write(chunk)) return response.once('drain', write)
        }
      }
      write()
    })
    const dripping = await receive((response) => void response.writeHead(200).write('a'))
    await enqueue(receiver.url)
    await enqueue(dripping.url)
    work()
    await until('delivered', 2)
    expect(sent).toBeLessThan(20_000_000)
  })

  it('is refused where the address may not be called', async () => {
    await setUp()
    const receiver = await receive()
    await enqueue(receiver.url)
    work({}, { allowPrivate: false })
    await untilAttempts(1)
    expect((await deliveries())[0]?.lastError).toBe('The address of the receiver may not be called')
    expect(receiver.requests()).toBe(0)
  })

  it('whose payload cannot be built holds up no other, and is not counted as tried', async () => {
    await setUp()
    const receiver = await receive()
    const broken = randomUUID()
    const load = async (moments: RecordMoment[]) => {
      if (moments.some(({ recordId }) => recordId === broken)) throw new Error('no such record')
      return loadRecords(moments)
    }
    await enqueue(receiver.url, { recordId: broken })
    await enqueue(receiver.url)
    work({}, { loadRecords: { transaction: load, withdrawal: load } })
    await until('delivered')
    expect((await deliveries()).filter((one) => one.attempts.length === 0)).toHaveLength(1)
  })
})

describe('the order of a record', () => {
  it('is kept: the next event leaves only when the one before it has arrived', async () => {
    await setUp()
    const receiver = await inTurn(500)
    const recordId = randomUUID()
    const event = { merchantId: merchant.merchantId, recordId, occurredAt: clock.now(), webhookUrl: receiver.url }
    await commitEvents(
      database.db,
      testEvent(event),
      testEvent({ ...event, sequence: 2, status: 'PIX_QRCODE_GENERATED' }),
    )
    work()
    await untilAttempts(1)
    expect((await deliveries()).map(({ state }) => state)).toEqual(['pending', 'waiting'])
    clock.advance(5 * second)
    await until('delivered', 2)
    expect(receiver.received.map(({ event }) => event.data.sequence)).toEqual([1, 1, 2])
  })

  it('does not make a newer event wait for hours: the earlier one is tried again at once, on a new schedule', async () => {
    await setUp()
    const statuses = [500, 500, 500, 500]
    const receiver = await inTurn(...statuses)
    const recordId = randomUUID()
    await enqueue(receiver.url, { recordId })
    work()
    for (const [index, wait] of [5, 30, 120].entries()) {
      await untilAttempts(index + 1)
      clock.advance(wait * second)
    }
    await untilAttempts(4)
    clock.advance(second)
    await enqueue(receiver.url, { recordId, sequence: 2, status: 'PAID' })
    await until('delivered', 2)
    expect(receiver.received.map(({ event }) => event.data.sequence)).toEqual([1, 1, 1, 1, 1, 2])
    expect((await deliveries())[0]?.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5])
  })

  it('begins anew as well when the newer event comes while the earlier one is in flight', async () => {
    await setUp()
    const answers: (() => void)[] = []
    const receiver = await receive((response) => answers.push(() => response.writeHead(500).end()))
    const recordId = randomUUID()
    await enqueue(receiver.url, { recordId })
    work()
    await receiver.until(1)
    answers[0]?.()
    await untilAttempts(1)
    clock.advance(5 * second)
    await receiver.until(2)
    await enqueue(receiver.url, { recordId, sequence: 2, status: 'PAID' })
    expect(receiver.requests()).toBe(2)
    answers[1]?.()
    // Again at once, and not after the 30 s that a second failure would cost.
    await receiver.until(3)
    answers[2]?.()
    await untilAttempts(3)
    expect((await deliveries())[0]?.nextAttemptAt).toEqual(new Date(clock.now().getTime() + 30 * second))
  })

  it('does not override what the receiver asked for with Retry-After', async () => {
    await setUp()
    const receiver = await receive((response) => response.writeHead(429, { 'retry-after': '600' }).end())
    const recordId = randomUUID()
    await enqueue(receiver.url, { recordId })
    work()
    await untilAttempts(1)
    await enqueue(receiver.url, { recordId, sequence: 2, status: 'PAID' })
    expect((await deliveries())[0]?.nextAttemptAt).toEqual(new Date(clock.now().getTime() + 10 * minute))
  })

  it('holds when an event is committed just as the one before it is delivered', async () => {
    await setUp()
    const receiver = await receive()
    work()
    const records = Array.from({ length: 30 }, () => randomUUID())
    const tellOf = async (recordId: string) => {
      for (let sequence = 1; sequence <= 5; sequence += 1) await enqueue(receiver.url, { recordId, sequence })
    }
    await Promise.all(records.map(tellOf))
    await receiver.until(150)
    for (const recordId of records) {
      const ofRecord = receiver.received.filter(({ event }) => event.data.id === recordId)
      expect(ofRecord.map(({ event }) => event.data.sequence)).toEqual([1, 2, 3, 4, 5])
    }
    await eventually(async () => (await states()).delivered === 150)
  })
})

describe('receivers', () => {
  it('that hang, with much due, delay no other and hold few connections', async () => {
    await setUp()
    const hanging = await Promise.all(Array.from({ length: 3 }, () => receive(() => {})))
    const prompt = await receive()
    const events = hanging.flatMap(({ url }) => Array.from({ length: 200 }, () => url))
    await Promise.all(events.map((url) => enqueue(url)))
    work({ totalMax: 20 })
    await eventually(() => hanging.every((one) => one.requests() > 0))
    const before = Date.now()
    await Promise.all(Array.from({ length: 50 }, () => enqueue(prompt.url)))
    await prompt.until(50)
    expect(Date.now() - before).toBeLessThan(2_000)
    for (const one of hanging) expect(one.requests()).toBeLessThanOrEqual(4)
  })

  it('that are many are all served, a window of them at a time', async () => {
    await setUp()
    const receivers = await Promise.all(Array.from({ length: 12 }, () => receive()))
    for (const { url } of receivers) for (let i = 0; i < 5; i += 1) await enqueue(url)
    work({ receiversMax: 5, totalMax: 8, pollMs: 60_000 })
    await Promise.all(receivers.map((one) => one.until(5)))
  })
})

describe('workers', () => {
  it('two on one database deliver each thing once', async () => {
    await setUp()
    const receiver = await receive()
    await Promise.all(Array.from({ length: 300 }, () => enqueue(receiver.url)))
    work()
    work()
    await eventually(async () => (await states()).delivered === 300)
    expect(receiver.received).toHaveLength(300)
    expect(new Set(receiver.received.map(({ event }) => event.id)).size).toBe(300)
  })

  it('that die let go when their lease ends, and what they had is delivered by another', async () => {
    await setUp()
    const receiver = await receive()
    await enqueue(receiver.url)
    const now = clock.now()
    const leasedUntil = new Date(now.getTime() + 20 * second)
    const all = { afterReceiver: '', receiversMax: 10, perReceiverMax: 16, start: 4, loads: [], limit: 10 }
    const { claimed } = await claimDue(database.db, { now, leasedUntil, ...all })
    expect(claimed).toHaveLength(1)
    work()
    clock.advance(20 * second - 1)
    await new Promise((done) => setTimeout(done, 60))
    expect(receiver.requests()).toBe(0)
    clock.advance(1)
    await receiver.until(1)
  })

  it('that stop give back what they could not finish, uncounted, and it is delivered by another', async () => {
    await setUp()
    let isOpen = false
    const receiver = await receive((response) => isOpen && response.writeHead(204).end())
    await enqueue(receiver.url)
    const worker = work({ graceMs: 50 })
    await receiver.until(1)
    await worker.stop()
    expect((await deliveries())[0]).toMatchObject({ state: 'pending', attempts: [] })
    isOpen = true
    work()
    await receiver.until(2)
    await until('delivered')
  })

  it('that stop let an attempt in flight come to its end', async () => {
    await setUp()
    const receiver = await receive((response) => setTimeout(() => response.writeHead(204).end(), 100))
    await enqueue(receiver.url)
    const worker = work({ graceMs: 5_000 })
    await receiver.until(1)
    await worker.stop()
    expect((await deliveries())[0]?.state).toBe('delivered')
  })

  it('count what they did and what is due', async () => {
    await setUp()
    const registry = new Registry()
    const receiver = await inTurn(500)
    await enqueue(receiver.url)
    work({}, { metrics: registry })
    await untilAttempts(1)
    clock.advance(5 * second)
    await until('delivered')
    const text = await registry.metrics()
    expect(text).toContain('guiche_webhook_attempts_total{outcome="refused"} 1')
    expect(text).toContain('guiche_webhook_attempts_total{outcome="success"} 1')
    expect(text).toContain('guiche_webhook_deliveries_due 0')
  })
})

describe('a resend', () => {
  it('delivers again what was delivered, with the same id and bytes, and goes on counting attempts', async () => {
    await setUp()
    const receiver = await receive()
    await enqueue(receiver.url)
    const worker = work()
    await until('delivered')
    const eventId = receiver.received[0]?.event.id ?? ''
    const { merchantId } = merchant
    expect(await resendDelivery(database.db, { merchantId, eventId, now: clock.now() })).toBe(true)
    worker.nudge()
    await receiver.until(2)
    await untilAttempts(2)
    expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body)
  })

  it('gives an exhausted one the whole schedule again', async () => {
    await setUp()
    const receiver = await receive((response) => response.writeHead(500).end())
    await enqueue(receiver.url)
    work()
    await untilAttempts(1)
    await database.db.query(sql`update webhook_deliveries set state = 'exhausted', attempts = 12`)
    const eventId = receiver.received[0]?.event.id ?? ''
    await resendDelivery(database.db, { merchantId: merchant.merchantId, eventId, now: clock.now() })
    await untilAttempts(2)
    const [delivery] = await deliveries()
    expect(delivery?.attempts[1]?.number).toBe(13)
    expect(delivery?.nextAttemptAt).toEqual(new Date(clock.now().getTime() + 5 * second))
  })

  it('is false for another client’s event and for none', async () => {
    await setUp()
    const receiver = await receive()
    await enqueue(receiver.url)
    work()
    await until('delivered')
    const eventId = receiver.received[0]?.event.id ?? ''
    const now = clock.now()
    expect(await resendDelivery(database.db, { merchantId: randomUUID(), eventId, now })).toBe(false)
    expect(await resendDelivery(database.db, { ...merchant, eventId: randomUUID(), now })).toBe(false)
  })
})

async function states(): Promise<Record<string, number>> {
  const rows = await database.db.query<{ state: string; count: number }>(sql`
    select state, count(*) as count from webhook_deliveries group by state`)
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

function flat(headers: object = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}
