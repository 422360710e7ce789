import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { startCollector } from '../../test/support/collector.ts'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createTestLog } from '../../test/support/logged-errors.ts'
import { newTransactionRow } from '../../test/support/new-transaction.ts'
import { createBacenAcquirer } from '../acquirers/bacen/adapter.ts'
import { createRegistry } from '../acquirers/registry.ts'
import { sql } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { systemClock } from '../lib/clock.ts'
import { newSecretKey, parseSecretKey } from '../lib/secrets.ts'
import { findTrace, inSpan } from '../lib/spans.ts'
import { startTracing } from '../tracing.ts'
import { createTransaction } from './create.ts'
import { createTransactionWriter } from './insert.ts'
import type { CreateTransactionInput } from './schema.ts'
import { failureMessages } from './status.ts'
import { findTransactionByKey, type NewTransaction } from './store.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const now = new Date('2026-11-21T12:00:00.000Z')
const merchantId = randomUUID()

const newRow = (set: Partial<NewTransaction> = {}) =>
  newTransactionRow({ merchant_id: merchantId, created_at: now, is_info_product: true, ...set })

/** How many events and deliveries each of these has. */
async function countWritten(rows: NewTransaction[]): Promise<number[][]> {
  const found = await database.db.query<{ id: string; events: number; deliveries: number }>(sql`
    select id, (select count(*) from events where record_id = transactions.id) as events,
      (select count(*) from webhook_deliveries where record_id = transactions.id) as deliveries
    from transactions where id = any(${rows.map(({ id }) => id)}::uuid[])`)
  return rows.map(({ id }) => found.flatMap((row) => (row.id === id ? [row.events, row.deliveries] : [])))
}

it.each([
  ['PostgreSQL refuses', { amount: 0 }],
  ['cannot be written into a statement', { amount: 2 ** 53 }],
])('fails only the row that %s, of all that share its commit', async (_name, bad) => {
  const insert = createTransactionWriter(database.db)
  const rows = [newRow(), newRow(), newRow(bad), newRow(), newRow()]
  const results = await Promise.allSettled(rows.map(insert))
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual([
    ...[true, true, 'failed', true, true],
  ])
  expect(await countWritten(rows)).toEqual([[1, 1], [1, 1], [], [1, 1], [1, 1]])
})

it('inserts one of several equal rows, or rows with the same key, and enqueues its event once', async () => {
  const insert = createTransactionWriter(database.db)
  const same = newRow({ idempotency_key: 'same' })
  const rows = [same, { ...same }, newRow({ idempotency_key: 'same' }), newRow({ idempotency_key: 'other' })]
  const results = await Promise.all(rows.map(insert))
  expect(results.filter(Boolean)).toHaveLength(2)
  expect(results[3]).toBe(true)
  const first = rows[results.indexOf(true)]
  expect(first && (await countWritten([first]))).toEqual([[1, 1]])
  expect(await Promise.all(rows.map(insert))).toEqual([false, false, false, false])
})

it('enqueues nothing before a status change or without a webhook URL', async () => {
  const insert = createTransactionWriter(database.db)
  const pending = { pix_uri: null, pix_expires_at: null }
  const rows = [newRow({ ...pending, statuses: ['PENDING'], status_dates: [now] }), newRow({ webhook_url: null })]
  expect(await Promise.all(rows.map(insert))).toEqual([true, true])
  expect(await countWritten(rows)).toEqual([
    [0, 0],
    [1, 0],
  ])
})

describe('a request with a key', () => {
  const key = parseSecretKey(newSecretKey())
  const silentBank = createBacenAcquirer({
    name: 'silent',
    send: async () => await Promise.reject(new Error('no answer')),
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: false,
  })

  /** The id of the row that is kept although the bank did not respond: the bank is asked again with this id. */
  async function idOf(
    input: Partial<CreateTransactionInput>,
    requested = { merchantId, clientId: 'shop' },
  ): Promise<string> {
    assert(key, 'a new key can be read')
    const ids: string[] = []
    const deps = {
      db: database.db,
      clock: systemClock,
      key,
      acquirers: createRegistry([silentBank]),
      insertTransaction: async ({ id }: NewTransaction) => ids.push(id) === 1,
      paymentUrlOf: (id: string) => `https://pix.example.com/pay/${id}`,
      wakeDeliveries: () => {},
    }
    const smallest = {
      amount: 2590,
      paymentMethod: 'PIX' as const,
      isInfoProduct: true,
      pix: { expirationSeconds: 1800 },
    }
    const creating = createTransaction(deps, {
      ...requested,
      merchantName: 'Loja Exemplo',
      movedToAddress: null,
      by: null,
      input: { ...smallest, idempotencyKey: 'the same', ...input },
    })
    await expect(creating).rejects.toMatchObject({ code: 'acquirer_unavailable' })
    return ids.join()
  }

  it('has the same id in every retry, whatever the order of the metadata fields', async () => {
    const one = { metadata: { a: [{ b: 1, c: null }, 'x'], 2: true, 1: { d: '', e: [] } } }
    const other = { metadata: { 1: { e: [], d: '' }, a: [{ c: null, b: 1 }, 'x'], 2: true } }
    const id = await idOf(one)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(await idOf(other)).toBe(id)
  })

  it('has another id with another merchant, key or content, as has each request without a key', async () => {
    const customer = { name: 'Maria', document: '52998224725', email: 'm@example.com' }
    const inputs: Partial<CreateTransactionInput>[] = [
      {},
      { idempotencyKey: 'another' },
      { amount: 2591 },
      { metadata: {} },
      { metadata: { a: 1 } },
      { metadata: { a: '1' } },
      { metadata: { a: [1] } },
      { metadata: { a: { 0: 1 } } },
      { metadata: { b: 1 } },
      { metadata: { a: { b: 1 } } },
      { customer },
      { customer: { ...customer, name: 'Mario' } },
      { customer: { ...customer, ip: '203.0.113.1' } },
      { items: [] },
      { items: [{ title: 'Coffee', unitPrice: 1, quantity: 1 }] },
      { items: [{ title: 'Coffee', unitPrice: 1, quantity: 2 }] },
      { idempotencyKey: undefined },
      { idempotencyKey: undefined },
    ]
    const ids = [await idOf({}, { merchantId: randomUUID(), clientId: 'shop' })]
    for (const input of inputs) ids.push(await idOf(input))
    expect(new Set(ids).size).toBe(ids.length)
  })

  /** Creates a transaction without a charge, as the bank gives no answer. */
  async function createKept(idempotencyKey: string): Promise<unknown> {
    assert(key, 'a new key can be read')
    const deps = {
      db: database.db,
      clock: systemClock,
      key,
      acquirers: createRegistry([silentBank]),
      insertTransaction: createTransactionWriter(database.db),
      paymentUrlOf: (id: string) => `https://pix.example.com/pay/${id}`,
      wakeDeliveries: () => {},
    }
    const requested = { merchantId, clientId: 'shop', merchantName: 'Loja Exemplo', movedToAddress: null, by: null }
    const input = { amount: 2590, paymentMethod: 'PIX' as const, isInfoProduct: true, pix: { expirationSeconds: 1800 } }
    return await createTransaction(deps, { ...requested, input: { ...input, idempotencyKey } })
  }

  it('gives its trace to the transaction only if the request created it', async () => {
    const collector = await startCollector()
    const tracing = startTracing({ url: collector.url, serviceName: 'a', version: '1', log: createTestLog() })
    const unavailable = { code: 'acquirer_unavailable' }
    const createTraced = async (idempotencyKey: string) => {
      const creating = inSpan(
        'a request',
        () => ({}),
        async () => await createKept(idempotencyKey),
      )
      await expect(creating).rejects.toMatchObject(unavailable)
      const row = await findTransactionByKey(database.db, merchantId, idempotencyKey)
      return findTrace(row?.id ?? '')
    }
    const [untraced, traced] = [randomUUID(), randomUUID()]
    await expect(createKept(untraced)).rejects.toMatchObject(unavailable)
    expect(await createTraced(untraced)).toBeNull()
    const trace = await createTraced(traced)
    expect(trace).toMatch(/^00-/)
    expect(await createTraced(traced)).toBe(trace)
    await tracing.stop()
    await collector.stop()
  })

  it('is answered with the reason why its transaction has failed since: only a refusal is called one', async () => {
    const idempotencyKey = randomUUID()
    const create = async () => await createKept(idempotencyKey)
    await expect(create()).rejects.toMatchObject({ code: 'acquirer_unavailable' })
    for (const [reason, detail] of [
      [failureMessages.canceled, /^The transaction has failed: The charge was canceled/],
      [failureMessages.expired, /^The transaction has failed: PIX QR code expired/],
      [
        'chave bloqueada',
        /^The acquirer refused the charge: chave bloqueada. To try again, use another idempotency key.$/,
      ],
    ] as const) {
      await database.db.query(sql`
        update transactions set statuses = array['PENDING', 'FAILED'], status_dates = array[created_at, created_at],
          error_message = ${reason}, check_at = null
        where idempotency_key = ${idempotencyKey}`)
      await expect(create()).rejects.toThrow(detail)
    }
  })
})
