import { request } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { sql } from '../../src/db/sql.ts'
import { manualClock } from '../support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { charge, eventsOf, fetchTransaction, payAt, statusesOf, untilStatus } from '../support/payments.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { eventually, startTestReceiver } from '../support/webhooks.ts'

/** A PSP as a separate process: another database, and a socket that can disappear. */
const clock = manualClock()
let psp: { database: TestDatabase; simulator: Simulator; server: { url: string; close(): Promise<void> } | null }
let service: TestService
let port: number
let isTelling = true

beforeAll(async () => {
  const database = await createTestDatabase()
  const probe = await startSimulatorServer({ simulator: { handle: refuse }, host: '127.0.0.1', port: 0 })
  port = Number(new URL(probe.url).port)
  await probe.close()
  const simulator = await createSimulator({
    pool: database.db.pool,
    clock,
    publicBaseUrl: `http://127.0.0.1:${port}`,
    sendCallback: async (url, body) => (isTelling ? await post(url, body) : 200),
    log: { warn: () => {} },
  })
  psp = { database, simulator, server: null }
  await open()
  service = await startTestService({
    clock,
    environment: { SIMULATOR_URL: `http://127.0.0.1:${port}`, TOKEN_LIFETIME_SECONDS: '86400' },
  })
})
afterAll(async () => {
  await service.stop()
  await shut()
  await psp.simulator.close()
  await psp.database.drop()
})

async function open(): Promise<void> {
  psp.server = await startSimulatorServer({ simulator: psp.simulator, host: '127.0.0.1', port })
}

async function shut(): Promise<void> {
  await psp.server?.close()
  psp.server = null
}

it('creates a charge, is paid and is notified over the network as with the built-in simulator', async () => {
  const receiver = await startTestReceiver()
  const { id, uri } = await charge(service, { webhookUrl: receiver.url })
  const paid = await payAt(service, uri)
  expect(paid.status).toBe(200)
  await receiver.until(2)
  expect(receiver.received.map(({ event }) => event.type)).toEqual(await eventsOf(service, id))
  expect(await untilStatus(service, id, 'PAID')).toMatchObject({ endToEnd: paid.body.endToEndId })
  expect((await payAt(service, uri)).body).toMatchObject({
    code: 'payment_refused',
    errors: [{ code: 'already_paid' }],
  })
  await receiver.stop()
})

it('finds payments without a callback by polling', async () => {
  const { id, uri } = await charge(service)
  isTelling = false
  await payAt(service, uri)
  await service.runJob('transactions.poll')
  await untilStatus(service, id, 'PAID')
  isTelling = true
})

it('loses no payment when the acquirer becomes unreachable before it is confirmed', async () => {
  const { id, uri } = await charge(service)
  isTelling = false
  const { body } = await payAt(service, uri)
  await shut()
  const [row] = await psp.database.db.query<{ url: string }>(sql`select url from simulator.webhooks`)
  expect(await post(`${row?.url}/pix`, { pix: [{ endToEndId: body.endToEndId, txid: id.replaceAll('-', '') }] })).toBe(
    200,
  )
  await eventually(async () => (await failingNotices()) === 1)
  expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
  await open()
  // It is polled again with growing pauses.
  clock.advance(10_000)
  expect(statusesOf(await untilStatus(service, id, 'PAID'))).toEqual(['PENDING', 'PIX_QRCODE_GENERATED', 'PAID'])
  await eventually(async () => (await failingNotices()) === 0)
  isTelling = true
})

it('does not expire a code while the acquirer is unreachable, and finds it paid later', async () => {
  const [paid, unpaid] = [await charge(service, shortLived), await charge(service, shortLived)]
  isTelling = false
  await payAt(service, paid.uri)
  await shut()
  clock.advance(60_000 + 5 * 60_000)
  await service.runJob('transactions.check')
  await eventually(async () => (await dueChecks()) === 0)
  for (const { id } of [paid, unpaid]) expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
  await open()
  clock.advance(5 * 60_000)
  await service.runJob('transactions.check')
  await untilStatus(service, paid.id, 'PAID')
  expect(await untilStatus(service, unpaid.id, 'FAILED')).toMatchObject({ errorMessage: 'PIX QR code expired' })
  isTelling = true
})

it('keeps a charge open while its acquirer is unreachable, and gets its code later', async () => {
  await shut()
  const refused = await service.call<{ code: string; transactionId: string }>('/transaction', {
    body: smallestTransaction({ idempotencyKey: 'while-it-was-away' }),
  })
  expect(refused).toMatchObject({ status: 500, body: { code: 'acquirer_unavailable' } })
  const { transactionId: id } = refused.body
  expect((await fetchTransaction(service, id)).status).toBe('PENDING')
  await open()
  clock.advance(10_000)
  await service.runJob('transactions.check')
  const { pixResponse } = await untilStatus(service, id, 'PIX_QRCODE_GENERATED')
  const again = await service.call('/transaction', {
    body: smallestTransaction({ idempotencyKey: 'while-it-was-away' }),
  })
  expect(again).toMatchObject({ status: 201, body: { id, pixResponse } })
  await payAt(service, pixResponse?.uri ?? '')
  await untilStatus(service, id, 'PAID')
  expect(await eventsOf(service, id)).toEqual(['transaction.pix_qrcode_generated', 'transaction.paid'])
})

it('fails a charge that the acquirer never received, once nobody can wait for it any more', async () => {
  await shut()
  const { body } = await service.call<{ transactionId: string }>('/transaction', {
    body: smallestTransaction(shortLived),
  })
  clock.advance(10 * 60_000)
  await open()
  await service.runJob('transactions.check')
  expect(await untilStatus(service, body.transactionId, 'FAILED')).toMatchObject({
    errorMessage: 'PIX QR code expired',
  })
  const { database } = psp
  const charges = await database.db.query(sql`
    select txid from simulator.charges where txid = ${body.transactionId.replaceAll('-', '')}`)
  expect(charges).toEqual([])
})

const shortLived = { pix: { expirationSeconds: 60 } }

async function refuse() {
  return { status: 503, headers: {}, body: '' }
}

async function post(url: string, body: unknown): Promise<number> {
  const answer = await request(url, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  await answer.body.dump()
  return answer.statusCode
}

async function failingNotices(): Promise<number> {
  const [row] = await service.db.query<{ count: number }>(sql`
    select count(*) from callback_inbox where state = 'received' and last_error is not null`)
  return row?.count ?? 0
}

async function dueChecks(): Promise<number> {
  const [row] = await service.db.query<{ count: number }>(sql`
    select count(*) from transactions where check_at <= ${clock.now()}`)
  return row?.count ?? 0
}
