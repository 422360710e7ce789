import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deliveryFixture } from '../../test/support/delivery-fixture.ts'
import { commitEvents, eventually, type TestReceiver, testEvent } from '../../test/support/webhooks.ts'
import { type Db, sql } from '../db/sql.ts'
import { claimDue } from './queue-store.ts'
import { resendDelivery } from './resend.ts'

const second = 1000
const minute = 60 * second

const fixture = deliveryFixture()
const { clock, setUp, work, receive, inTurn, enqueue, deliveries, until, untilAttempts, states } = fixture

describe('the order of a record', () => {
  it('is kept: the next event is sent only when the one before it was delivered', async () => {
    await setUp()
    const receiver = await inTurn(500)
    const recordId = randomUUID()
    const event = {
      merchantId: fixture.merchant.merchantId,
      recordId,
      occurredAt: clock.now(),
      webhookUrl: receiver.url,
    }
    await commitEvents(
      fixture.database.db,
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

  it('does not make a newer event wait for hours: it restarts the schedule of the earlier one', async () => {
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

  it('restarts the schedule also when the newer event comes while the earlier one is in flight', async () => {
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
    // Again at once, and not after the 30 s that would follow a second failure.
    await receiver.until(3)
    answers[2]?.()
    await untilAttempts(3)
    expect((await deliveries())[0]?.next_attempt_at).toEqual(new Date(clock.now().getTime() + 30 * second))
  })

  it('does not override the Retry-After of the receiver', async () => {
    await setUp()
    const receiver = await receive((response) => response.writeHead(429, { 'retry-after': '600' }).end())
    const recordId = randomUUID()
    await enqueue(receiver.url, { recordId })
    work()
    await untilAttempts(1)
    await enqueue(receiver.url, { recordId, sequence: 2, status: 'PAID' })
    expect((await deliveries())[0]?.next_attempt_at).toEqual(new Date(clock.now().getTime() + 10 * minute))
  })

  it('is kept when an event is committed just as the one before it is delivered', async () => {
    await setUp()
    const receiver = await receive()
    work()
    const records = Array.from({ length: 30 }, () => randomUUID())
    const enqueueInOrder = async (recordId: string) => {
      for (let sequence = 1; sequence <= 5; sequence += 1) await enqueue(receiver.url, { recordId, sequence })
    }
    await Promise.all(records.map(enqueueInOrder))
    await receiver.until(150)
    for (const recordId of records) {
      const ofRecord = receiver.received.filter(({ event }) => event.data.id === recordId)
      expect(ofRecord.map(({ event }) => event.data.sequence)).toEqual([1, 2, 3, 4, 5])
    }
    await eventually(async () => (await states()).delivered === 150)
  })
})

it('attempts are not recorded one by one when none of them can be recorded', async () => {
  await setUp()
  const { db } = fixture.database
  let transactions = 0
  const counting: Db = {
    ...db,
    transaction: async (work) => {
      transactions += 1
      return await db.transaction(work)
    },
  }
  await db.query(sql`alter table webhook_attempts rename to elsewhere`)
  const receiver = await receive()
  await Promise.all(Array.from({ length: 50 }, () => enqueue(receiver.url)))
  work({}, { db: counting })
  await receiver.until(50)
  await eventually(() => fixture.logged.length >= 50)
  expect(transactions).toBeLessThan(50)
  await db.query(sql`alter table elsewhere rename to webhook_attempts`)
})

describe('receivers', () => {
  it('that hang with a large backlog delay no other and hold few connections', async () => {
    await setUp()
    const hanging = await Promise.all(Array.from({ length: 3 }, () => receive(() => {})))
    const prompt = await receive()
    const events = hanging.flatMap(({ url }) => Array.from({ length: 200 }, () => url))
    await Promise.all(events.map((url) => enqueue(url)))
    // They hang for longer than this test runs: a worker that waited for them would never deliver.
    work({ totalMax: 20, deadlineMs: 3_600 * second, leaseMs: 3_700 * second })
    await eventually(() => hanging.every((one) => one.requests() > 0))
    await Promise.all(Array.from({ length: 50 }, () => enqueue(prompt.url)))
    await prompt.until(50)
    for (const one of hanging) expect(one.requests()).toBeLessThanOrEqual(4)
  })

  it('that the worker does not know get all that is due, as fast as they answer', async () => {
    await setUp()
    const [known, unknown] = [await receive(), await receive()]
    const worker = work({ pollMs: 60 * minute, pollMaxMs: 60 * minute })
    await enqueue(known.url)
    worker.wake()
    await until('delivered', 1)
    // Longer than the pause between two claims that cover all receivers.
    await sleep(1_000)
    await Promise.all(Array.from({ length: 20 }, () => enqueue(unknown.url)))
    worker.wake()
    await unknown.until(20)
  })

  it('are all served even when one claim cannot cover them', async () => {
    await setUp()
    const receivers = await Promise.all(Array.from({ length: 12 }, () => receive()))
    for (const { url } of receivers) for (let i = 0; i < 5; i += 1) await enqueue(url)
    work({ receiversMax: 5, totalMax: 8, pollMs: 60_000 })
    await Promise.all(receivers.map((one) => one.until(5)))
  })
})

describe('deliveries claimed ahead of a receiver’s connections', () => {
  // Every response is quick, and nothing waits for too long, also on a busy machine.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  const ahead = { perReceiverMax: 5, deadlineMs: 60_000, leaseMs: 120_000, startMaxMs: 60_000 }

  it('start as soon as a response arrives, without a query', async () => {
    await setUp()
    const { receiver, answerAll } = await receiveInSteps()
    work(ahead)
    await fill(receiver)
    await fixture.database.db.transaction(async (tx) => {
      await tx.query(sql`lock table webhook_deliveries in exclusive mode`)
      answerAll()
      await receiver.until(11)
      answerAll()
      await receiver.until(13)
    })
    answerAll()
    await eventually(async () => (await states()).delivered === 13)
  })

  it('are released when the receiver no longer responds, and no more are claimed ahead for it', async () => {
    await setUp()
    const { receiver, answerAll } = await receiveInSteps()
    work({ ...ahead, startMaxMs: 400 })
    await fill(receiver)
    vi.advanceTimersByTime(401)
    await eventually(async () => (await leased()) === 5)
    await new Promise((done) => setTimeout(done, 100))
    expect({ leased: await leased(), requests: receiver.requests() }).toEqual({ leased: 5, requests: 6 })
    // Another worker may take them at once.
    work(ahead)
    await eventually(async () => {
      answerAll()
      return (await states()).delivered === 13
    })
    expect(receiver.requests()).toBe(13)
  })

  it('are released when the worker stops, and count no attempt', async () => {
    await setUp()
    const { receiver } = await receiveInSteps()
    const worker = work({ ...ahead, graceMs: 10 })
    await fill(receiver)
    await worker.stop()
    expect(await leased()).toBe(0)
    expect((await deliveries()).filter(({ attempts }) => attempts.length > 0)).toHaveLength(1)
  })

  /** A receiver that responds to the first request at once, and to others only when the test says so. */
  async function receiveInSteps() {
    const answers: (() => void)[] = []
    let isFirst = true
    const receiver = await receive((response) => {
      const answer = () => response.writeHead(204).end()
      if (isFirst) answer()
      else answers.push(answer)
      isFirst = false
    })
    const answerAll = () => {
      for (const answer of answers.splice(0)) answer()
    }
    return { receiver, answerAll }
  }

  /** One quick response, and then twelve deliveries: five are in flight and seven are claimed ahead. */
  async function fill(receiver: TestReceiver): Promise<void> {
    await enqueue(receiver.url)
    await until('delivered')
    await Promise.all(Array.from({ length: 12 }, () => enqueue(receiver.url)))
    await eventually(async () => (await leased()) === 12)
    await receiver.until(6)
    expect(receiver.requests()).toBe(6)
  }

  async function leased(): Promise<number> {
    const [row] = await fixture.database.db.query<{ count: number }>(sql`
      select count(*) as count from webhook_deliveries where leased_until is not null`)
    return row?.count ?? 0
  }
})

describe('workers', () => {
  it('deliver each event once when two share a database', async () => {
    await setUp()
    const receiver = await receive()
    await Promise.all(Array.from({ length: 300 }, () => enqueue(receiver.url)))
    work()
    work()
    await eventually(async () => (await states()).delivered === 300)
    expect(receiver.received).toHaveLength(300)
    expect(new Set(receiver.received.map(({ event }) => event.id)).size).toBe(300)
  })

  it('that die lose their leases, and another worker delivers them', async () => {
    await setUp()
    const receiver = await receive()
    await enqueue(receiver.url)
    const now = clock.now()
    const leasedUntil = new Date(now.getTime() + 20 * second)
    const all = { afterReceiver: '', receiversMax: 10, initialCapacity: 4, receiverLoads: [], limit: 10 }
    const { claimed } = await claimDue(fixture.database.db, { now, leasedUntil, instance: 1, ...all })
    expect(claimed).toHaveLength(1)
    work()
    clock.advance(20 * second - 1)
    await new Promise((done) => setTimeout(done, 60))
    expect(receiver.requests()).toBe(0)
    clock.advance(1)
    await receiver.until(1)
  })

  it('that stop release the deliveries that they could not finish, and another worker makes the attempt', async () => {
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

  it('that stop let an attempt in flight finish', async () => {
    await setUp()
    const receiver = await receive((response) => setTimeout(() => response.writeHead(204).end(), 100))
    await enqueue(receiver.url)
    const worker = work({ graceMs: 60_000 })
    await receiver.until(1)
    await worker.stop()
    expect((await deliveries())[0]?.state).toBe('delivered')
  })

  it('report metrics of attempts and of the backlog', async () => {
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

it('workers find an event committed long after it occurred, for a receiver that had nothing left from that time', async () => {
  await setUp()
  const receiver = await receive()
  work()
  for (let count = 1; count <= 5; count += 1) {
    await enqueue(receiver.url, { recordId: randomUUID() })
    await receiver.until(count)
  }
  const occurredAt = new Date(clock.now().getTime() - 5 * minute)
  const { merchantId } = fixture.merchant
  const events = Array.from({ length: 300 }, () =>
    testEvent({ merchantId, recordId: randomUUID(), occurredAt, webhookUrl: receiver.url }),
  )
  await commitEvents(fixture.database.db, ...events)
  await receiver.until(305)
})

describe('a resend', () => {
  it('repeats a delivered event with the same id and bytes, and continues the count of attempts', async () => {
    await setUp()
    const receiver = await receive()
    await enqueue(receiver.url)
    const worker = work()
    await until('delivered')
    const eventId = receiver.received[0]?.event.id ?? ''
    const { merchantId } = fixture.merchant
    expect(await resendDelivery(fixture.database.db, { by: null, merchantId, eventId, now: clock.now() })).toBe(
      'pending',
    )
    worker.wake()
    await receiver.until(2)
    await untilAttempts(2)
    expect(receiver.received[1]?.body).toBe(receiver.received[0]?.body)
  })

  it('gives an exhausted delivery the whole schedule again', async () => {
    await setUp()
    const receiver = await receive((response) => response.writeHead(500).end())
    await enqueue(receiver.url)
    work()
    await untilAttempts(1)
    await fixture.database.db.query(sql`update webhook_deliveries set state = 'exhausted', attempts = 12`)
    const eventId = receiver.received[0]?.event.id ?? ''
    await resendDelivery(fixture.database.db, {
      by: null,
      merchantId: fixture.merchant.merchantId,
      eventId,
      now: clock.now(),
    })
    await untilAttempts(2)
    const [delivery] = await deliveries()
    expect(delivery?.attempts[1]?.number).toBe(13)
    expect(delivery?.next_attempt_at).toEqual(new Date(clock.now().getTime() + 5 * second))
  })

  it('finds no event of another client, and no unknown one', async () => {
    await setUp()
    const receiver = await receive()
    await enqueue(receiver.url)
    work()
    await until('delivered')
    const eventId = receiver.received[0]?.event.id ?? ''
    const now = clock.now()
    expect(await resendDelivery(fixture.database.db, { by: null, merchantId: randomUUID(), eventId, now })).toBeNull()
    expect(
      await resendDelivery(fixture.database.db, { by: null, ...fixture.merchant, eventId: randomUUID(), now }),
    ).toBeNull()
  })
})
