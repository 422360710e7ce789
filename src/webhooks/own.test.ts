import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { receiverAccount } from '../../simulator/receiver-account.ts'
import { deliveryFixture } from '../../test/support/delivery-fixture.ts'
import { newTransactionRow } from '../../test/support/new-transaction.ts'
import { eventually } from '../../test/support/webhooks.ts'
import { sql } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { cents } from '../lib/money.ts'
import { createTransactionWriter } from '../transactions/insert.ts'
import { createSettlement } from '../transactions/settle.ts'
import { findTransaction, type NewTransaction } from '../transactions/store.ts'
import { loadTransactionVersions } from '../transactions/view.ts'
import { claimsPerConnection } from './budget.ts'
import type { Deliveries } from './deliver.ts'
import type { ChangeDeliveries } from './own-events.ts'
import type { RecordVersion } from './payload.ts'

const fixture = deliveryFixture()
const { clock, setUp, receive, inTurn, until, deliveries } = fixture

const perReceiverMax = 5
/** More deliveries than one receiver may have leased at once. */
const overCapacity = perReceiverMax * claimsPerConnection + 5

describe('the delivery of a creation', () => {
  it('is sent from memory, and repeated from the database with the same bytes', async () => {
    await setUp()
    const receiver = await inTurn(204, 500)
    const { worker, loaded } = start()
    const row = await createFor(worker, receiver.url)
    await receiver.until(2)
    await eventually(async () => (await deliveries()).every(({ attempts }) => attempts.length === 1))
    expect(loaded).not.toContain(row.id)
    clock.advance(60_000)
    worker.wake()
    await receiver.until(3)
    expect(loaded).toContain(row.id)
    const [, first, second] = receiver.received
    expect(second?.body).toBe(first?.body)
    expect(JSON.parse(first?.body ?? '').data).toMatchObject({
      id: row.id,
      status: 'PIX_QRCODE_GENERATED',
      sequence: 1,
    })
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    await until('delivered', 2)
  })

  it('is sent once when its transaction existed already, or is created twice at once', async () => {
    await setUp()
    const receiver = await receive()
    const { worker } = start()
    await makeKnown(worker, receiver.url)
    const insert = createTransactionWriter(fixture.database.db, worker)
    const row = { ...newRow(receiver.url), idempotency_key: 'same-key' }
    const results = await Promise.all([insert(row), insert({ ...row }), insert({ ...row, id: randomUUID() })])
    expect(results.filter(Boolean)).toHaveLength(1)
    expect(await insert({ ...row, id: randomUUID() })).toBe(false)
    await until('delivered', 2)
    expect(receiver.received).toHaveLength(2)
  })

  it('holds no capacity of its receiver when its commit fails', async () => {
    await setUp()
    const receiver = await receive()
    const { worker } = start({ perReceiverMax })
    await makeKnown(worker, receiver.url)
    const watched = watch(worker)
    const insert = createTransactionWriter(fixture.database.db, watched)
    for (let time = 0; time < overCapacity; time += 1)
      await expect(insert({ ...newRow(receiver.url), amount: 0 })).rejects.toThrow('amount_in_range')
    await insert(newRow(receiver.url))
    expect(watched.reserved).toBe(overCapacity + 1)
    await until('delivered', 2)
  })

  it('is due again when the process that reserved it died', async () => {
    await setUp()
    const receiver = await receive()
    const { worker } = start()
    await makeKnown(worker, receiver.url)
    const watched = { ...watch(worker), send: () => {} }
    await createTransactionWriter(fixture.database.db, watched)(newRow(receiver.url))
    const [row] = await fixture.database.db.query<{ leased_by: number; left: number }>(sql`
      select leased_by, extract(epoch from next_attempt_at - created_at)::integer as left from webhook_deliveries
      where state = 'pending'`)
    expect(row).toEqual({ leased_by: 1, left: 20 })
    await sendsWhenDue(worker, receiver, 1)
  })

  it('to a receiver that the process does not know is claimed like any other', async () => {
    await setUp()
    const receiver = await receive()
    const { worker } = start()
    const watched = watch(worker)
    await createTransactionWriter(fixture.database.db, watched)(newRow(receiver.url))
    await until('delivered')
    expect(watched.reserved).toBe(0)
  })
})

describe('the delivery of a payment', () => {
  it('is sent from memory, and repeated from the database with the same bytes', async () => {
    await setUp()
    const receiver = await inTurn(204, 204, 500)
    const { worker, loaded } = start()
    const row = await createFor(worker, receiver.url)
    await until('delivered', 2)
    await pay(worker, row)
    await receiver.until(3)
    await eventually(async () => (await deliveries()).at(-1)?.attempts.length === 1)
    expect(loaded).not.toContain(row.id)
    clock.advance(60_000)
    worker.wake()
    await receiver.until(4)
    expect(loaded).toContain(row.id)
    const [first, second] = receiver.received.slice(-2)
    expect(second?.body).toBe(first?.body)
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      type: 'transaction.paid',
      data: { id: row.id, status: 'PAID', sequence: 2, amountPaid: 2590, externalCode: 'order-0001' },
    })
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    await until('delivered', 3)
  })

  it('waits for the delivery of the creation, and is not sent from memory then', async () => {
    await setUp()
    const receiver = await inTurn(204, 500)
    const { worker } = start()
    const row = await createFor(worker, receiver.url)
    await eventually(async () =>
      (await deliveries()).some(({ attempts, state }) => attempts.length === 1 && state === 'pending'),
    )
    const isSent: boolean[] = []
    const send: typeof worker.send = (reserved, secrets) => {
      isSent.push(...reserved.map(({ record }) => record !== null))
      worker.send(reserved, secrets)
    }
    await pay({ ...worker, send }, row)
    expect(isSent).toEqual([false])
    await until('delivered', 3)
    expect(receiver.received.map(({ body }) => JSON.parse(body).data.status).slice(-2)).toEqual([
      'PIX_QRCODE_GENERATED',
      'PAID',
    ])
  })

  it('holds no capacity of its receiver when its commit fails', async () => {
    await setUp()
    const receiver = await receive()
    const { worker } = start({ perReceiverMax })
    const row = await createFor(worker, receiver.url)
    await until('delivered', 2)
    const watched = watch(worker)
    const { db } = fixture.database
    await db.query(sql`alter table ledger_transfers add constraint refused check (amount = 0) not valid`)
    for (let time = 0; time < overCapacity; time += 1) await expect(pay(watched, row)).rejects.toThrow('refused')
    await db.query(sql`alter table ledger_transfers drop constraint refused`)
    await pay(watched, row)
    expect(watched.reserved).toBe(overCapacity + 1)
    await until('delivered', 3)
  })

  it('is due again when the process that reserved it died', async () => {
    await setUp()
    const receiver = await receive()
    const { worker } = start()
    const row = await createFor(worker, receiver.url)
    await until('delivered', 2)
    await pay({ ...watch(worker), send: () => {} }, row)
    await sendsWhenDue(worker, receiver, 2)
  })
})

describe('the delivery of a charge that fails', () => {
  it('is sent from memory, and repeated from the database with the same bytes', async () => {
    await setUp()
    const receiver = await inTurn(204, 204, 500)
    const { worker, loaded } = start()
    const { id, merchant_id: merchantId } = await createFor(worker, receiver.url)
    await until('delivered', 2)
    const { db } = fixture.database
    const row = await findTransaction(db, merchantId, id)
    assert(row, 'the transaction exists')
    await createSettlement({ db, clock, deliveries: worker }).fail(db, [{ row, reason: 'PIX QR code expired' }])
    await receiver.until(3)
    await eventually(async () => (await deliveries()).at(-1)?.attempts.length === 1)
    expect(loaded).not.toContain(id)
    clock.advance(60_000)
    worker.wake()
    await receiver.until(4)
    expect(loaded).toContain(id)
    const [first, second] = receiver.received.slice(-2)
    expect(second?.body).toBe(first?.body)
    expect(JSON.parse(first?.body ?? '')).toMatchObject({
      type: 'transaction.failed',
      data: { id, status: 'FAILED', sequence: 2, failureCode: 'expired', externalCode: 'order-0001' },
    })
    await until('delivered', 3)
  })
})

async function pay(deliveries: ChangeDeliveries, { id }: NewTransaction): Promise<void> {
  const { recordPayment } = createSettlement({ db: fixture.database.db, clock, deliveries })
  const payer = { ...receiverAccount, name: 'José da Conceição', document: '52998224725' }
  const recorded = await recordPayment({
    merchantId: fixture.merchant.merchantId,
    id,
    acquirer: { name: 'simulator', receiver: receiverAccount },
    charge: null,
    payment: {
      endToEndId: `E-${id}`,
      txid: id,
      amount: cents(2590),
      paidAt: clock.now(),
      payer,
      returns: [],
      fee: null,
    },
  })
  expect(recorded).toBe('settled')
}

function start(options: { perReceiverMax?: number } = {}) {
  const loaded: string[] = []
  const transaction = async (versions: RecordVersion[]) => {
    loaded.push(...versions.map(({ recordId }) => recordId))
    return await loadTransactionVersions(fixture.database.db, versions)
  }
  // A receiver is known after one response, which takes more than a second on a busy machine.
  const worker = fixture.work({ quickMs: 60_000, ...options }, { loadRecords: { transaction } })
  return { worker, loaded }
}

/** After this the worker knows the receiver. */
async function makeKnown(worker: Deliveries, url: string): Promise<void> {
  await createTransactionWriter(fixture.database.db)(newRow(url))
  worker.wake()
  await until('delivered')
}

/** A transaction whose webhook the worker sends from memory. */
async function createFor(worker: Deliveries, url: string): Promise<NewTransaction> {
  await makeKnown(worker, url)
  const row = newRow(url)
  await createTransactionWriter(fixture.database.db, worker)(row)
  return row
}

/** A reserved delivery that was not sent is sent when its lease ends, and not before. */
async function sendsWhenDue(
  worker: Deliveries,
  receiver: Awaited<ReturnType<typeof receive>>,
  sentBefore: number,
): Promise<void> {
  clock.advance(19_000)
  // Whoever claims this one would also claim the reserved one.
  await createTransactionWriter(fixture.database.db)(newRow(receiver.url))
  worker.wake()
  await until('delivered', sentBefore + 1)
  expect(receiver.received).toHaveLength(sentBefore + 1)
  clock.advance(1_000)
  worker.wake()
  await receiver.until(sentBefore + 2)
  await until('delivered', sentBefore + 2)
}

function watch(worker: Deliveries): ChangeDeliveries & { reserved: number } {
  const watched = {
    reserved: 0,
    wake: () => worker.wake(),
    send: worker.send,
    reserve(receiver: string) {
      const lease = worker.reserve(receiver)
      if (lease) watched.reserved += 1
      return lease
    },
  }
  return watched
}

function newRow(webhookUrl: string): NewTransaction {
  const now = clock.now()
  return newTransactionRow({
    merchant_id: fixture.merchant.merchantId,
    created_at: now,
    external_code: 'order-0001',
    webhook_url: webhookUrl,
    customer: {
      name: 'José da Conceição',
      document: { value: '52998224725', type: 'CPF' },
      email: 'Jose@example.com',
      birthdate: '1990-01-31',
    },
    items: [{ title: 'Café', unitPrice: 2590, quantity: 1 }],
    description: 'Pedido 42',
    metadata: { z: 1, a: [null, { ok: true }], zero: -0, text: 'naïve \u2028' },
    pix_expires_at: new Date(now.getTime() + 1_800_000),
  })
}
