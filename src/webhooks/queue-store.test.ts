import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { deliveryFixture } from '../../test/support/delivery-fixture.ts'
import { commitEvents, testEvent } from '../../test/support/webhooks.ts'
import { sql, type Tx } from '../db/sql.ts'
import {
  claimDue,
  claimDueOf,
  insertAttempts,
  listFailingReceivers,
  promoteWaiting,
  type ReceiverLoad,
} from './queue-store.ts'

const fixture = deliveryFixture()
const url = 'https://shop.example/hook'

/** Whether the commit of this transaction will wait for the disk. */
async function waitsForDisk(tx: Tx): Promise<boolean> {
  const [row] = await tx.query<{ setting: string }>(sql`select current_setting('synchronous_commit') as setting`)
  return row?.setting === 'on'
}

it('does not wait for the disk to claim or to record an attempt, unless that releases the next event', async () => {
  await fixture.setUp()
  const { merchantId } = fixture.merchant
  const recordId = randomUUID()
  const now = fixture.clock.now()
  const event = { merchantId, recordId, occurredAt: now, webhookUrl: url }
  await commitEvents(
    fixture.database.db,
    testEvent(event),
    testEvent({ ...event, sequence: 2, status: 'PIX_QRCODE_GENERATED' }),
  )
  const claimAndRecord = (state: 'delivered' | 'pending') =>
    fixture.database.db.transaction(async (tx) => {
      expect(await waitsForDisk(tx)).toBe(true)
      const leasedUntil = new Date(fixture.clock.now().getTime() + 20_000)
      const some = { afterReceiver: '', receiversMax: 10, initialCapacity: 10, receiverLoads: [], limit: 10 }
      const { claimed } = await claimDue(tx, { now: fixture.clock.now(), leasedUntil, instance: 1, ...some })
      expect(claimed).toHaveLength(1)
      expect(await waitsForDisk(tx)).toBe(false)
      const result = {
        startedAt: now,
        finishedAt: now,
        durationMs: 1,
        status: 200,
        error: null,
        response: null,
        state,
        nextAttemptAt: now,
        retryAfter: null,
      }
      await insertAttempts(
        tx,
        claimed.map((one) => ({ ...one, ...result })),
      )
      expect(await waitsForDisk(tx)).toBe(false)
      const records = state === 'pending' ? [] : [{ merchantId, recordId }]
      await promoteWaiting(tx, { records, now })
      return await waitsForDisk(tx)
    })
  expect(await claimAndRecord('pending')).toBe(false)
  expect(await claimAndRecord('delivered')).toBe(true)
  expect(await claimAndRecord('delivered')).toBe(false)
})

it('lists the receivers that accept no event, also after all deliveries are given up, until one is delivered', async () => {
  await fixture.setUp()
  const { db } = fixture.database
  const { merchantId } = fixture.merchant
  const now = fixture.clock.now()
  const list = async (daysLater = 0) => {
    const givenUpAfter = new Date(now.getTime() + (daysLater - 30) * 24 * 60 * 60_000)
    return await listFailingReceivers(db, { givenUpAfter, limit: 20 })
  }
  const attempt = async (state: 'delivered' | 'pending') => {
    await commitEvents(db, testEvent({ merchantId, occurredAt: now, webhookUrl: url }))
    const leasedUntil = new Date(now.getTime() + 20_000)
    const some = { afterReceiver: '', receiversMax: 10, initialCapacity: 10, receiverLoads: [], limit: 10 }
    const { claimed } = await claimDue(db, { now, leasedUntil, instance: 1, ...some })
    expect(claimed).toHaveLength(1)
    const times = { startedAt: now, finishedAt: now, nextAttemptAt: new Date(now.getTime() + 60_000), retryAfter: null }
    const result = { ...times, durationMs: 1, status: 500, error: null, response: null, state }
    const attempts = claimed.map((one) => ({ ...one, ...result }))
    await db.transaction(async (tx) => await insertAttempts(tx, attempts))
  }
  expect(await list()).toEqual([])
  await attempt('pending')
  const failing = { client: expect.any(String), receiver: 'https://shop.example', since: now }
  expect(await list()).toEqual([failing])
  await db.query(sql`update webhook_deliveries set state = 'exhausted'`)
  expect(await list()).toEqual([{ ...failing, since: expect.any(Date) }])
  expect(await list(31)).toEqual([])
  await attempt('delivered')
  expect(await list()).toEqual([])
})

it('claims for the listed receivers alone, up to the capacity of each, and nothing from before `nothingDueBefore`', async () => {
  await fixture.setUp()
  const { merchantId } = fixture.merchant
  const now = fixture.clock.now()
  const at = (secondsAgo: number) => new Date(now.getTime() - secondsAgo * 1000)
  const event = (webhookUrl: string, occurredAt: Date) =>
    testEvent({ merchantId, recordId: randomUUID(), occurredAt, webhookUrl })
  const one = 'https://one.example'
  const other = 'https://other.example'
  await commitEvents(
    fixture.database.db,
    ...[60, 3, 2, 1].map((secondsAgo) => event(one, at(secondsAgo))),
    ...[60, 1].map((secondsAgo) => event(other, at(secondsAgo))),
    event('https://third.example', at(1)),
    event(one, new Date(now.getTime() + 1)),
  )
  const leasedUntil = new Date(now.getTime() + 20_000)
  const claim = async (receiverLoads: ReceiverLoad[], limit = 10) => {
    const { claimed, isAll } = await claimDueOf(fixture.database.db, {
      now,
      leasedUntil,
      instance: 1,
      receiverLoads,
      limit,
    })
    expect(claimed.map(({ dueAt }) => dueAt)).toEqual(claimed.map(({ occurredAt }) => occurredAt))
    const names = claimed.map(({ receiver, dueAt }) => `${receiver} ${(now.getTime() - dueAt.getTime()) / 1000}`)
    return [...names.sort(), ...(isAll ? ['all'] : [])]
  }
  const ofOne = { receiver: one, leased: 0, capacity: 2, nothingDueBefore: at(3) }
  const ofOther = { receiver: other, leased: 5, capacity: 4, nothingDueBefore: null }
  expect(await claim([ofOne, ofOther], 3)).toEqual([`${one} 2`, `${one} 3`, `${other} 60`])
  const lockOf = sql`select from webhook_deliveries where receiver = ${one} and next_attempt_at = ${at(1)} for update`
  await fixture.database.db.transaction(async (tx) => {
    await tx.query(lockOf)
    // A locked row is not claimed, and the claim does not return that it has found all.
    expect(await claim([ofOne])).toEqual([])
  })
  expect(await claim([ofOne, ofOther])).toEqual([`${one} 1`, `${other} 1`, 'all'])
  expect(await claim([ofOne, ofOther])).toEqual(['all'])
  expect(await claim([{ ...ofOne, nothingDueBefore: null }])).toEqual([`${one} 60`, 'all'])
  expect(await claim([])).toEqual(['all'])
})
