import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { commitEvents, createTestMerchant, eventually, testEvent, testSecretKey } from '../../test/support/webhooks.ts'
import { sql, type Tx } from '../db/sql.ts'
import { transactionStatuses } from '../transactions/status.ts'
import { withdrawalStatuses } from '../withdrawals/status.ts'
import { eventTypes } from './event-types.ts'
import { numberNewEvents } from './feed.ts'
import { findFeeds } from './feed-store.ts'
import { enqueueEvents } from './outbox.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
let database: TestDatabase
let merchantId: string
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  merchantId = (await createTestMerchant(database.db, { key: testSecretKey(), now })).merchantId
})

const event = (recordId: string = randomUUID(), sequence = 1) =>
  testEvent({ merchantId, occurredAt: now, recordId, sequence, status: 'PAID' })
const number = async (limit?: number) => await numberNewEvents(database.db, merchantId, Number.POSITIVE_INFINITY, limit)

/** The records of the feed's events with their sequences, in the order of their numbers, which have no gap. */
async function read(): Promise<string[]> {
  const rows = await database.db.query<{ number: number; event: string }>(sql`
    select number, record_id || ' ' || sequence as event from event_numbers where merchant_id = ${merchantId} order by number`)
  expect(rows.map((row) => row.number)).toEqual(rows.map((_, index) => index + 1))
  return rows.map((row) => row.event)
}

/** A transaction that stays open until `commit`. */
async function begin(work: (tx: Tx) => Promise<void>): Promise<{ commit(): Promise<void> }> {
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  let started = () => {}
  const hasStarted = new Promise<void>((resolve) => {
    started = resolve
  })
  const done = database.db.transaction(async (tx) => {
    await work(tx)
    // Waits until the pipelined inserts have been executed.
    await tx.query(sql`select`)
    started()
    await finished
  })
  await Promise.race([hasStarted, done])
  return {
    async commit() {
      finish()
      await done
    },
  }
}

describe('the numbers of events', () => {
  it('have no gap, and each event has one', async () => {
    const events = Array.from({ length: 5 }, () => event())
    await commitEvents(database.db, ...events.slice(0, 2))
    expect(await number()).toEqual({ last: 2, isComplete: true })
    await commitEvents(database.db, ...events.slice(2))
    expect(await number()).toEqual({ last: 5, isComplete: true })
    expect(await number()).toEqual({ last: 5, isComplete: true })
    expect((await read()).toSorted()).toEqual(events.map(({ recordId }) => `${recordId} 1`).toSorted())
  })

  it('of a transaction that commits late are higher than those that were assigned meanwhile', async () => {
    const [late, early, next] = [event(), event(), event()]
    const open = await begin(async (tx) => enqueueEvents(tx, [late]))
    await commitEvents(database.db, early)
    await number()
    await commitEvents(database.db, next)
    expect(await number()).toEqual({ last: 2, isComplete: true })
    await open.commit()
    expect(await findFeeds(database.db, [merchantId])).toMatchObject([{ lastNumber: 2, hasNew: true }])
    expect(await number()).toEqual({ last: 3, isComplete: true })
    expect(await read()).toEqual([early, next, late].map(({ recordId }) => `${recordId} 1`))
    expect(await findFeeds(database.db, [merchantId])).toMatchObject([{ lastNumber: 3, hasNew: false }])
  })

  it.each([[5_000], [1]])(
    'follow a record’s sequence, whatever the ids of its transactions (%i at once)',
    async (atOnce) => {
      const [recordId, other] = [randomUUID(), randomUUID()]
      // The transaction of the second change gets its id first, and writes when the first change has committed.
      let write = async () => {}
      const open = await begin(async (tx) => {
        enqueueEvents(tx, [event(other)])
        write = async () => enqueueEvents(tx, [event(recordId, 2)])
      })
      await commitEvents(database.db, event(recordId))
      await write()
      await open.commit()
      await number(atOnce)
      const order = await read()
      expect(order).toHaveLength(3)
      expect(order.indexOf(`${recordId} 1`)).toBeLessThan(order.indexOf(`${recordId} 2`))
    },
  )

  it('are assigned in batches, while another transaction is open', async () => {
    const records = Array.from({ length: 8 }, () => randomUUID())
    const late = event(records[0], 9)
    const open = await begin(async (tx) => enqueueEvents(tx, [late]))
    const expected = []
    for (let sequence = 1; sequence <= 4; sequence += 1)
      for (const recordId of records) {
        await commitEvents(database.db, event(recordId, sequence))
        expected.push(`${recordId} ${sequence}`)
      }
    // Transaction ids are shuffled, and one transaction has more events than a batch.
    await database.db.query(sql`
      update events set xid = ((100 - (sequence * 7919 + hashtext(record_id::text)) % 13)::text)::xid8
      where merchant_id = ${merchantId}`)
    expect(await number(3)).toEqual({ last: 32, isComplete: true })
    const order = await read()
    expect(order.toSorted()).toEqual(expected.toSorted())
    for (const recordId of records)
      expect(order.filter((one) => one.startsWith(recordId))).toEqual(
        [1, 2, 3, 4].map((sequence) => `${recordId} ${sequence}`),
      )
    await open.commit()
    expect(await number(3)).toEqual({ last: 33, isComplete: true })
    expect((await read()).at(-1)).toBe(`${late.recordId} 9`)
  })

  it('are assigned once by many readers at the same moment', async () => {
    const writing = Promise.all(Array.from({ length: 40 }, async () => await commitEvents(database.db, event())))
    await Promise.all(Array.from({ length: 20 }, async () => await number(2)))
    await writing
    await number(2)
    expect(new Set(await read()).size).toBe(40)
  })

  it('continue on another server, whose transactions have other ids', async () => {
    await commitEvents(database.db, event(), event())
    await number()
    // As if a dump was restored: the ids are ahead of those of this server, in the events and in the snapshot.
    await commitEvents(database.db, event())
    await database.db.query(sql`update events set xid = '9000000000' where merchant_id = ${merchantId}`)
    await database.db.query(sql`
      update event_feeds set server = 'another', snapshot = '9000000001:9000000001:' where merchant_id = ${merchantId}`)
    await commitEvents(database.db, event())
    expect(await number()).toEqual({ last: 4, isComplete: true })
    expect(new Set(await read()).size).toBe(4)
    await number()
    expect(await findFeeds(database.db, [merchantId])).toMatchObject([{ lastNumber: 4, hasNew: false }])
    await commitEvents(database.db, event())
    expect(await number()).toEqual({ last: 5, isComplete: true })
  })

  it('are not assigned before somebody reads', async () => {
    await commitEvents(database.db, event())
    expect(await findFeeds(database.db, [merchantId])).toEqual([])
    await eventually(async () => (await number()).last === 1)
  })
})

it('an event has a type for each status but the first', () => {
  const types = [
    ...transactionStatuses.map((status) => `transaction.${status.toLowerCase()}`),
    ...withdrawalStatuses.map((status) => `withdrawal.${status.toLowerCase()}`),
  ].filter((type) => !type.endsWith('.pending'))
  expect([...eventTypes].toSorted()).toEqual(types.toSorted())
})
