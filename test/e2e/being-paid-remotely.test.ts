import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { startSimulatorServer } from '../../simulator/server.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { sql } from '../../src/db/sql.ts'
import { timeoutMs } from '../../src/network.ts'
import { manualClock } from '../support/clock.ts'
import { startCollector } from '../support/collector.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { rowsUnder } from '../support/documents.ts'
import { charge, eventsOf, fetchTransaction, payAt, statusesOf, untilStatus } from '../support/payments.ts'
import { post } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { eventually, startTestReceiver } from '../support/webhooks.ts'

const clock = manualClock()
/** A PSP that is reached over HTTP: it has its own database and a server that can be closed. */
let psp: { database: TestDatabase; simulator: Simulator; server: { url: string; close(): Promise<void> } | null }
let service: TestService
let port: number
let sendsCallbacks = true
let collector: Awaited<ReturnType<typeof startCollector>>
/** The requests to the PSP, with their headers. */
const requested: { method: string; path: string; headers: Record<string, string> }[] = []

beforeAll(async () => {
  const database = await createTestDatabase()
  const probe = await startSimulatorServer({ simulator: { handle: refuse }, host: '127.0.0.1', port: 0 })
  port = Number(new URL(probe.url).port)
  await probe.close()
  const simulator = await createSimulator({
    pool: database.db.pool,
    clock,
    publicBaseUrl: `http://127.0.0.1:${port}`,
    sendCallback: async (url, body) => (sendsCallbacks ? await post(url, body) : 200),
    log: { warn: () => {} },
  })
  const handle: Simulator['handle'] = async (received) => {
    requested.push(received)
    return await simulator.handle(received)
  }
  psp = { database, simulator: { ...simulator, handle }, server: null }
  await open()
  collector = await startCollector()
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '50')
  service = await startTestService({
    clock,
    environment: {
      SIMULATOR_URL: `http://127.0.0.1:${port}`,
      TOKEN_LIFETIME_SECONDS: '86400',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    },
  })
})
afterAll(async () => {
  await service.stop()
  await collector.stop()
  vi.unstubAllEnvs()
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

/** Pays at the PSP directly, so also while its server is closed. */
async function payAtBank(uri: string): Promise<{ endToEndId: string }> {
  const outcome = await psp.simulator.pay({ uri })
  if (!outcome.ok) throw new Error(`Not paid: ${outcome.code}`)
  return outcome
}

it('creates a charge, receives the payment and the callback over HTTP, and sends the webhooks, as with the built-in simulator', async () => {
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

it('waits no longer for the simulator’s sandbox routes than for any other request', async () => {
  const { handle } = psp.simulator
  psp.simulator.handle = async (received) => {
    if (received.path.startsWith('/sandbox/')) await sleep(1_000)
    return await handle(received)
  }
  const { timeout } = AbortSignal
  const limited = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => timeout.call(AbortSignal, 100))
  onTestFinished(() => {
    limited.mockRestore()
    psp.simulator.handle = handle
  })
  // If it waited for the answer, the status would be 422, because there is no such QR code.
  expect((await payAt(service, 'no code')).status).toBe(500)
  expect(limited).toHaveBeenCalledWith(timeoutMs)
})

it.each([
  ['has no such control', '/sandbox/', 404],
  ['does not accept the token', '/sandbox/', 401],
  ['fails', '/sandbox/', 503],
  ['issues no token', '/oauth/token', 404],
  ['refuses the credentials', '/oauth/token', 401],
])('does not take it for a refused payment when the simulator %s', async (_, path, status) => {
  const { handle } = psp.simulator
  psp.simulator.handle = async (received) =>
    received.path.startsWith(path)
      ? { status, headers: { 'content-type': 'application/json' }, body: '{"detail":"of the simulator"}' }
      : await handle(received)
  onTestFinished(() => {
    psp.simulator.handle = handle
  })
  // A simulator that answers refuses this code with 422.
  expect(await payAt(service, 'no code')).toMatchObject({ status: 500, body: { code: 'internal_error' } })
})

it('finds payments without a callback by polling', async () => {
  const { id, uri } = await charge(service)
  sendsCallbacks = false
  await payAt(service, uri)
  await service.runJob('transactions.poll')
  await untilStatus(service, id, 'PAID')
  sendsCallbacks = true
})

it('loses no payment when the acquirer becomes unreachable before it is confirmed', async () => {
  const { id, uri } = await charge(service)
  sendsCallbacks = false
  // Closed before the payment, so that no poll can find it first.
  await shut()
  const { endToEndId } = await payAtBank(uri)
  const [row] = await psp.database.db.query<{ url: string }>(sql`select url from simulator.webhooks`)
  expect(await post(`${row?.url}/pix`, { pix: [{ endToEndId, txid: id.replaceAll('-', '') }] })).toBe(200)
  await eventually(async () => (await countCallbacksThatCouldNotBeChecked()) === 1)
  expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
  await open()
  // The callback is checked again after growing pauses.
  clock.advance(10_000)
  expect(statusesOf(await untilStatus(service, id, 'PAID'))).toEqual(['PENDING', 'PIX_QRCODE_GENERATED', 'PAID'])
  await eventually(async () => (await countCallbacksThatCouldNotBeChecked()) === 0)
  sendsCallbacks = true
})

it('does not expire a code while the acquirer is unreachable, and finds it paid later', async () => {
  const [paid, unpaid] = [await charge(service, shortLived), await charge(service, shortLived)]
  sendsCallbacks = false
  await shut()
  await payAtBank(paid.uri)
  clock.advance(60_000 + 5 * 60_000)
  await service.runJob('transactions.check')
  await eventually(async () => (await dueChecks()) === 0)
  for (const { id } of [paid, unpaid]) expect((await fetchTransaction(service, id)).status).toBe('PIX_QRCODE_GENERATED')
  await open()
  clock.advance(5 * 60_000)
  await service.runJob('transactions.check')
  await untilStatus(service, paid.id, 'PAID')
  expect(await untilStatus(service, unpaid.id, 'FAILED')).toMatchObject({ errorMessage: 'PIX QR code expired' })
  sendsCallbacks = true
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

it('fails a charge that the acquirer never received, once its code would have expired', async () => {
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

async function countCallbacksThatCouldNotBeChecked(): Promise<number> {
  const [row] = await service.db.query<{ count: number }>(sql`
    select count(*) from callback_inbox where state = 'received' and last_error is not null`)
  return row?.count ?? 0
}

async function dueChecks(): Promise<number> {
  const [row] = await service.db.query<{ count: number }>(sql`
    select count(*) from transactions where check_at <= ${clock.now()}`)
  return row?.count ?? 0
}

it('sends the spans of a creation and its webhooks to a collector, and their traceparents to the PSP and the receiver', async () => {
  const receiver = await startTestReceiver()
  const [traceId, callerSpanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
  const created = await service.call<{ id: string; pixResponse: { uri: string } }>('/transaction', {
    headers: { traceparent: `00-${traceId}-${callerSpanId}-01` },
    body: smallestTransaction({
      amount: 987_654,
      webhookUrl: `${receiver.url}?secret=of-the-receiver`,
      customer: { name: 'Maria da Silva', document: '529.982.247-25', email: 'maria@example.com' },
    }),
  })
  expect(created.status, created.text).toBe(201)
  const { id } = created.body
  await payAt(service, created.body.pixResponse.uri)
  await receiver.until(2)
  const ofTrace = () => collector.spans.filter((span) => span.traceId === traceId)
  const deliveries = () => ofTrace().filter(({ name }) => name === 'webhook delivery')
  const isJob = ({ name }: { name: string }) => name.startsWith('job ')
  await eventually(() => deliveries().length === 2 && collector.spans.some(isJob))

  const spanOf = (name: string) => ofTrace().find((span) => span.name === name)
  const server = spanOf('POST /transaction')
  expect(server).toMatchObject({ parentSpanId: callerSpanId, kind: 2 })
  expect(server?.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/transaction',
    'http.response.status_code': 201,
    'guiche.request_id': created.headers.get('x-request-id'),
  })
  const charge = spanOf('acquirer createCharge')
  for (const inner of [charge, spanOf('database commit'), ...deliveries()])
    expect(inner).toMatchObject({ parentSpanId: server?.spanId })
  expect(charge?.attributes).toMatchObject({ 'guiche.acquirer': 'simulator', 'guiche.record_id': id })

  const sent = `00-${traceId}-${charge?.spanId}-01`
  expect(requested.find(({ headers }) => headers.traceparent === sent)?.method).toBe('PUT')
  expect(receiver.received.map(({ headers }) => headers.traceparent).toSorted()).toEqual(
    deliveries()
      .map(({ spanId }) => `00-${traceId}-${spanId}-01`)
      .toSorted(),
  )
  // The PSP's callback sends no traceparent: what it causes is a trace of its own.
  const callback = collector.spans.find(({ name }) => name.startsWith('POST /callbacks/'))
  const caused = collector.spans.filter((span) => span.traceId === callback?.traceId && span.traceId !== traceId)
  expect(caused.map(({ name }) => name)).toContain('acquirer findCharge')

  // Random ids and times may contain any of these digits.
  const everything = collector.texts.join().replaceAll(/"(?:\w*[tT]raceId|\w*[sS]panId|\w+UnixNano)":"?\w+/g, '')
  for (const secret of ['Maria', '52998224725', '529.982', '987654', 'of-the-receiver', service.sandbox.clientSecret])
    expect(everything).not.toContain(secret)
  const documented = rowsUnder('docs/monitoring.md', 'Traces').flatMap(([, attributes = '']) =>
    [...attributes.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  )
  const written = new Set(collector.spans.flatMap(({ attributes }) => Object.keys(attributes)))
  expect([...written].filter((name) => !documented.includes(name))).toEqual([])
})
