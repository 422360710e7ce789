import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { createBacenAcquirer } from '../../src/acquirers/bacen/adapter.ts'
import type { HttpResponse, Send } from '../../src/acquirers/bacen/http.ts'
import { connect } from '../../src/acquirers/open.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { findBreaches } from '../../src/verification.ts'
import { manualClock } from '../support/clock.ts'
import { type Gateway, openGateway, openPsp, type Psp } from '../support/gateway.ts'
import { listen, makeFolder, makeTestCertificates, readRequest } from '../support/https-psp.ts'
import { eventually } from '../support/webhooks.ts'
import { withdrawalBody } from '../support/withdrawals.ts'

/*
 * A bank behind real HTTPS with broken certificates or answers: the outcome of requests stays unknown and money is only
 * reserved. Once its answers can be read again, everything is found as the bank has it, once.
 */

const clock = manualClock()
const log = { info() {}, warn() {} }
/** How long the service waits for an answer that would be too slow. */
const slowMs = 600
const closers: (() => Promise<unknown>)[] = []
let psp: Psp
let gateway: Gateway
/** What is broken at the bank, or `well`. */
let mode = 'well'
/** Requests to the bank since the mode was set. */
const requested: string[] = []
const sends: Record<string, Send> = {}

// The bank carries out each request, and then answers in one of these ways.
const answers: Record<string, (answer: ServerResponse, said: HttpResponse) => void> = {
  well: (answer, said) => answer.writeHead(said.status, said.headers).end(said.body),
  'far too long': (answer, said) => {
    answer.writeHead(200, { 'content-type': 'application/json' })
    answer.end(said.body.replace('{', `{"padding":"${'x'.repeat(3 * 1024 * 1024)}",`))
  },
  'too slow': (answer, said) => {
    answer.writeHead(200, { 'content-type': 'application/json' })
    const parts = [...said.body]
    const timer = setInterval(() => answer.write(parts.shift() ?? ' '), 100)
    answer.on('close', () => clearInterval(timer))
  },
  'not JSON': (answer, said) => answer.writeHead(200).end(said.body.slice(0, -5)),
  'a page': (answer) => answer.writeHead(404, { 'content-type': 'text/html' }).end('<h1>Not found</h1>'),
  'a redirect': (answer) => answer.writeHead(307, { location: 'https://elsewhere.example/cob' }).end(),
  'about another charge': (answer) => answer.writeHead(200).end('{"txid":"other","valor":{"original":"0.01"}}'),
}
const unreachable = ['a wrong certificate of ours', 'an expired certificate of its own', 'an unknown authority']

beforeAll(async () => {
  const made = await makeTestCertificates()
  const files = await makeFolder({
    'ca.pem': made.authority.certificate,
    'other.pem': made.foreignAuthority.certificate,
  })
  for (const name of ['client', 'foreignClient'] as const) {
    await files.write(`${name}.pem`, made[name].certificate)
    await files.write(`${name}.key`, made[name].key)
  }
  psp = await openPsp('psp', clock)
  const serve = async (identity = made.server) => {
    const server = await listen((request, answer) => void handle(request, answer), {
      identity,
      clientAuthority: made.authority,
    })
    closers.push(server.close)
    return server.url
  }
  const [good, expired] = [await serve(), await serve(made.expiredServer)]
  const reach = (url: string, client = 'client', ca = 'ca.pem') => {
    const paths = {
      certFile: files.path(`${client}.pem`),
      keyFile: files.path(`${client}.key`),
      caFile: files.path(ca),
    }
    const to = { name: 'psp', hosts: { baseUrl: url }, tls: paths, timeoutMs: 10_000 }
    const { send, close } = connect(to, { clock: systemClock, log })
    closers.push(close)
    return send
  }
  for (const name of Object.keys(answers)) sends[name] = reach(good)
  sends['a wrong certificate of ours'] = reach(good, 'foreignClient')
  sends['an expired certificate of its own'] = reach(expired)
  sends['an unknown authority'] = reach(good, 'client', 'other.pem')
  const acquirer = createBacenAcquirer({
    name: 'psp',
    send: async (request) => {
      requested.push(`${request.method} ${request.path}`)
      const limit = mode === 'too slow' ? { endsAt: performance.now() + slowMs } : {}
      return await (sends[mode] as Send)({ ...request, ...limit })
    },
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: true,
    triesMax: 3,
    clock,
    profile: { offers: { payouts: true, disputes: true } },
  })
  gateway = await openGateway([{ ...psp, acquirer }], { clock })
  closers.push(psp.close, gateway.stop, files.remove)
})
afterAll(async () => {
  for (const close of closers.reverse()) await close()
})

async function handle(request: IncomingMessage, answer: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://bank')
  const body = await readRequest(request)
  const said = await psp.bank.handle({
    method: request.method ?? '',
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: request.headers as Record<string, string>,
    body: body === '' ? undefined : body,
  })
  const how = url.pathname === '/oauth/token' ? answers.well : answers[mode]
  how?.(answer, said)
}

const setMode = (name: string) => {
  mode = name
  requested.length = 0
}
const wasRequested = (what: RegExp) => requested.some((line) => what.test(line))

async function later(): Promise<void> {
  gateway.clock.advance(60_000)
  await gateway.runJob('transactions.check')
  await gateway.runJob('transactions.check-refunds')
  await gateway.runJob('withdrawals.check')
}

async function paid(amount: number): Promise<{ id: string; endToEnd: string }> {
  const { body } = await gateway.create({ amount })
  const payment = await psp.pay(body.id)
  await gateway.sendCallback(psp, payment)
  await gateway.until(body.id, 'PAID')
  return { id: body.id, endToEnd: payment.endToEndId }
}

type Refunded = { amountRefunded: number; status: string }

describe.each([...unreachable, ...Object.keys(answers).filter((name) => name !== 'well')])('%s', (name) => {
  it('only reserves money, and everything is found once the bank can be understood', async () => {
    setMode('well')
    const sale = await paid(10_000)
    const before = await gateway.available()

    setMode(name)
    const created = await gateway.create({ amount: 700 })
    expect([created.status, created.body]).toEqual([500, expect.objectContaining({ code: 'acquirer_unavailable' })])
    const refund = await gateway.call<{ id: string }>(`/transaction/${sale.id}/refund`, {
      idempotencyKey: randomUUID(),
      amount: 400,
    })
    expect(refund.status).toBe(201)
    const withdrawal = await gateway.call<{ id: string }>('/withdrawal', withdrawalBody({ amount: 1_500 }))
    expect(withdrawal.status).toBe(201)
    await eventually(async () => wasRequested(/^PUT \/pix\/.*\/devolucao\//) && wasRequested(/^PUT \/v3\/gn\/pix\//))
    await later()

    const open = await gateway.call<Refunded>(`/transaction/${sale.id}`)
    expect(open.body).toMatchObject({ amountRefunded: 0, status: 'PROCESSING_REFUND' })
    const pending = await gateway.call<{ status: string }>(`/withdrawal/${withdrawal.body.id}`)
    expect(['PENDING', 'PROCESSING']).toContain(pending.body.status)
    expect(await gateway.available()).toBe(before - 400 - 1_500)
    expect(await findBreaches(gateway.db)).toEqual([])

    setMode('well')
    await eventually(async () => {
      await later()
      const [sold, sent] = [
        await gateway.call<Refunded>(`/transaction/${sale.id}`),
        await gateway.call<{ status: string }>(`/withdrawal/${withdrawal.body.id}`),
      ]
      return sold.body.amountRefunded === 400 && sent.body.status === 'PROCESSED'
    })
    const { body } = await psp.bank.request('GET', `/pix/${sale.endToEnd}`)
    expect(body.devolucoes).toHaveLength(1)
    expect(await gateway.available()).toBe(before - 400 - 1_500)
    expect(await findBreaches(gateway.db)).toEqual([])
  })
})
