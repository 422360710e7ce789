import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { createBacenAcquirer } from '../../src/acquirers/bacen/adapter.ts'
import { toCallbackAccess } from '../../src/acquirers/callbacks.ts'
import { createRegistry } from '../../src/acquirers/registry.ts'
import { createApp } from '../../src/app.ts'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import { callbackPath } from '../../src/callbacks/path.ts'
import { leaseMs } from '../../src/callbacks/receive.ts'
import { readConfig } from '../../src/config.ts'
import { sql } from '../../src/db/sql.ts'
import { fileBytesMax } from '../../src/defences/schema.ts'
import type { Server } from '../../src/http/server.ts'
import { charge, openQuietBank, type QuietBank, untilStatus } from '../support/payments.ts'
import { findFreePort } from '../support/process.ts'
import {
  apiHost,
  type Certificates,
  callbacksHost,
  isInstalled,
  makeCertificates,
  proxyNames,
  type Requested,
  type RunningProxy,
  requestThroughProxy,
  startProxy,
} from '../support/proxies.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'

let service: TestService
let bank: QuietBank
let certificates: Certificates
let gateway: Server
let gatewayUrl: string
let path: string
const registry = new Registry()

beforeAll(async () => {
  service = await startTestService()
  bank = await openQuietBank(service)
  certificates = await makeCertificates()
  const { key } = await loadSecretKey(service.db, null)
  path = callbackPath(key, 'simulator')
  gateway = await createGateway({ trusted: '127.0.0.1', metrics: registry })
  gatewayUrl = await gateway.listen({ host: '127.0.0.1', port: await findFreePort() })
})
afterAll(async () => {
  await gateway.close()
  await bank.close()
  await service.stop()
  await certificates.remove()
})

/**
 * A second API on the service's database, which recognizes its PSP by a certificate. The service processes the
 * callbacks that this one stores.
 */
async function createGateway({ trusted, metrics = new Registry() }: { trusted: string; metrics?: Registry }) {
  const { db, clock, baseUrl } = service
  const { key } = await loadSecretKey(db, null)
  const acquirer = createBacenAcquirer({
    name: 'simulator',
    send: bank.handle,
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: true,
    clock,
    callbacks: toCallbackAccess({ clientCertificate: { subject: ['CN=callbacks.psp.example'] } }),
  })
  return await createApp({
    config: readConfig({ TRUST_PROXY: trusted, RATE_LIMIT_TOKEN: '1' }),
    db,
    reads: db,
    instance: 1_000_000,
    clock,
    key,
    log: pino({ level: 'silent' }),
    registry: metrics,
    acquirers: createRegistry([acquirer]),
    baseUrl,
    version: '0',
    shared: null,
    sandbox: null,
    deliveries: null,
    workOn: () => {},
    timedJobs: () => [],
  })
}

const portOf = (url: string) => Number(new URL(url).port)

const isStored = async (endToEndId: string) =>
  (await service.db.query(sql`select from callback_inbox where end_to_end = ${endToEndId}`)).length === 1

async function refusals(reason: string): Promise<number> {
  const counted = await registry.getSingleMetric('guiche_callbacks_refused_total')?.get()
  return counted?.values.find(({ labels }) => labels.reason === reason)?.value ?? 0
}

describe.each(proxyNames.map((name) => ({ name })))('behind $name', ({ name }) => {
  let proxy: RunningProxy | null = null
  const request = async (requested: Requested) => {
    if (!proxy) throw new Error('it does not run')
    return await requestThroughProxy(proxy, certificates, requested)
  }
  const call = async (requested: Partial<Requested> = {}) =>
    await request({ host: callbacksHost, path, body: '{}', ...requested })

  const runs = isInstalled(name)
  beforeAll(async () => {
    if (runs) proxy = await startProxy(name, certificates, { gatewayPort: portOf(gatewayUrl) })
  })
  afterAll(async () => await proxy?.stop())

  it.runIf(runs)('a callback with the PSP’s certificate becomes a payment, with or without /pix', async () => {
    for (const suffix of ['', '/pix']) {
      const { id, uri } = await charge(service)
      const payment = await bank.payQuietly(uri)
      const { psp: show } = certificates.shown
      const answer = await call({ path: path + suffix, body: JSON.stringify({ pix: [payment] }), show })
      expect(answer).toMatchObject({ status: 200, text: '' })
      service.clock.advance(leaseMs)
      await untilStatus(service, id, 'PAID')
    }
  })

  it.runIf(runs)('a PSP’s test call, which reports no payment, is answered', async () => {
    const body = JSON.stringify({ evento: 'teste_webhook', data_criacao: '2026-03-02T15:00:00.000Z' })
    expect(await call({ body, show: certificates.shown.psp })).toMatchObject({ status: 200, text: '' })
  })

  it.runIf(runs).each(['none', 'foreign', 'expired'] as const)(
    'a callback is refused whose certificate is: %s',
    async (shown) => {
      const { uri } = await charge(service)
      const payment = await bank.payQuietly(uri)
      const body = JSON.stringify({ pix: [payment] })
      const show = shown === 'none' ? {} : { show: certificates.shown[shown] }
      const answer = await call({ body, ...show })
      // Caddy ends the handshake; nginx answers with an error.
      expect([null, 400]).toContain(answer?.status ?? null)
      expect(await isStored(payment.endToEndId)).toBe(false)
      expect((await call({ body, show: certificates.shown.psp }))?.status).toBe(200)
      expect(await isStored(payment.endToEndId)).toBe(true)
    },
  )

  it.runIf(runs)('a certificate that is only in a header does not count', async () => {
    const text = encodeURIComponent(certificates.shown.psp.certificate)
    const forged = { 'client-cert': text, Client_Cert: text }
    // At the host that requires no certificate, and at the other one with the first one's name in the handshake.
    expect((await request({ path, body: '{}', headers: forged }))?.status).toBe(404)
    const crossed = await request({ host: callbacksHost, servername: apiHost, path, body: '{}', headers: forged })
    expect([null, 400, 403, 421]).toContain(crossed?.status ?? null)
    // A caller with its own certificate cannot become another by the header.
    const before = await refusals('other_certificate')
    expect((await call({ headers: forged, show: certificates.shown.psp }))?.status).toBe(200)
    expect(await refusals('other_certificate')).toBe(before)
    expect((await call({ headers: { 'client-cert': 'x' }, show: certificates.shown.psp }))?.status).toBe(200)
  })

  it.runIf(runs)('the gateway refuses calls without a certificate that the proxy passes on', async () => {
    const loose = await startProxy(name, certificates, { gatewayPort: portOf(gatewayUrl), mayShowNone: true })
    const post = async (more: Partial<Requested>) =>
      (await requestThroughProxy(loose, certificates, { host: callbacksHost, path, body: '{}', ...more }))?.status ??
      null
    const header = { 'client-cert': encodeURIComponent(certificates.shown.psp.certificate) }
    expect(await post({ show: certificates.shown.psp })).toBe(200)
    expect(await post({})).toBe(403)
    expect(await post({ headers: header })).toBe(403)
    for (const show of [certificates.shown.foreign, certificates.shown.expired])
      expect([null, 400]).toContain(await post({ show, headers: header }))
    await loose.stop()
  })

  it.runIf(runs)(
    'each host serves its own routes: no API at the callback host, no callbacks or metrics at the API host',
    async () => {
      const { psp: show } = certificates.shown
      for (const other of ['/auth/token', '/transaction', '/metrics', '/docs'])
        expect((await call({ path: other, show }))?.status, other).toBe(404)
      for (const inner of [path, `${path}/pix`, `/./docs/..${path}`, `/%63${path.slice(2)}`])
        expect((await request({ path: inner, body: '{}' }))?.status, inner).toBe(404)
      for (const inner of ['/metrics', '/health/ready'])
        expect((await request({ path: inner }))?.status, inner).toBe(404)
      expect(await request({ path: '/docs', host: 'unknown.example.com' })).toBeNull()
    },
  )

  it.runIf(runs)('the API works, and limits count by the client’s address', async () => {
    const token = { authorization: `Bearer ${service.token}` }
    const body = JSON.stringify({ amount: 1000, paymentMethod: 'PIX', pix: {} })
    const created = await request({ path: '/transaction', body, headers: token })
    expect(created?.status).toBe(201)
    expect(
      (await request({ path: `/transaction/${JSON.parse(created?.text ?? '{}').id}`, headers: token }))?.status,
    ).toBe(200)
    // Each client address has a separate bucket, whatever the headers say.
    service.clock.advance(60_000)
    const asToken = { path: '/auth/token', body: JSON.stringify({}) }
    const statuses = async (localAddress: string, more: Partial<Requested> = {}) =>
      await Promise.all(
        Array.from({ length: 6 }, async () => (await request({ ...asToken, localAddress, ...more }))?.status),
      )
    const forged = { headers: { 'x-forwarded-for': '198.51.100.7', 'x-real-ip': '198.51.100.7' } }
    expect((await statuses('127.0.0.2')).filter((status) => status === 429)).toHaveLength(1)
    expect((await statuses('127.0.0.2', forged)).filter((status) => status === 429)).toHaveLength(6)
    expect((await statuses('127.0.0.3')).filter((status) => status === 429)).toHaveLength(1)
  })

  it.runIf(runs)('requests that are too large are refused', async () => {
    const large = JSON.stringify({ more: 'x'.repeat(100 * 1024) })
    const token = { authorization: `Bearer ${service.token}` }
    expect((await request({ path: '/transaction', body: large, headers: token }))?.status).toBe(413)
    const huge = JSON.stringify({ more: 'x'.repeat(2 * 1024 * 1024) })
    const answer = await call({ body: huge, show: certificates.shown.psp })
    // Caddy 2.6 cuts the request short and reports a failure of the gateway; later versions report the size.
    expect([413, 502]).toContain(answer?.status)
  })

  it.runIf(runs)('a file of a defence may have 5 MiB', async () => {
    const user = await openBrowser(service, { email: await inviteUser(service, { role: 'admin' }), password })
    const upload = async (bytes: number) => {
      const type = { 'content-type': 'application/octet-stream' }
      const headers = { ...type, cookie: user.cookie, 'x-csrf-token': user.csrfToken }
      const path = `/dashboard/api/infraction/${randomUUID()}/file/${randomUUID()}?name=proof.pdf`
      return await request({ method: 'PUT', path, headers, body: 'x'.repeat(bytes) })
    }
    // Guichê has read the whole file, and answers that there is no such dispute.
    const answer = await upload(fileBytesMax)
    expect([answer?.status, answer?.text]).toEqual([404, expect.stringContaining('"code":"not_found"')])
    // Guichê refuses it before all of it has arrived, and a proxy that is still sending may lose the answer.
    const over = await upload(fileBytesMax + 1)
    if (over?.status !== 502) expect(over?.text).toContain('"code":"too_large"')
  })

  it.runIf(runs)('the payment page receives a payment immediately, not when the stream ends', async () => {
    const { id, uri } = await charge(service)
    const { body } = await service.call<{ url: string }>(`/transaction/${id}/payment-link`)
    const session = connect(`https://127.0.0.1:${proxy?.port}`, { ca: certificates.authority, servername: apiHost })
    const stream = session.request({ ':path': `${new URL(body.url).pathname}/events`, ':authority': apiHost })
    let received = ''
    stream.setEncoding('utf8').on('data', (text: string) => {
      received += text
    })
    await eventually(() => received.includes('data: waiting'))
    const pix = [await bank.payQuietly(uri)]
    expect((await call({ body: JSON.stringify({ pix }), show: certificates.shown.psp }))?.status).toBe(200)
    service.clock.advance(leaseMs)
    await eventually(() => received.includes('data: paid'))
    await eventually(() => stream.closed)
    session.close()
  })

  it.runIf(runs)('a second stop waits for nothing', { timeout: 10_000 }, async () => {
    const other = await startProxy(name, certificates, { gatewayPort: portOf(gatewayUrl) })
    await other.stop()
    await other.stop()
  })

  it.runIf(runs)('HTTP/2 is supported', async () => {
    const session = connect(`https://127.0.0.1:${proxy?.port}`, { ca: certificates.authority, servername: apiHost })
    const status = await new Promise((resolve, reject) => {
      session.once('error', reject)
      const stream = session.request({ ':path': '/docs', ':authority': apiHost })
      stream.once('response', (headers) => resolve(headers[':status'])).once('error', reject)
      stream.end()
    })
    session.close()
    expect(status).toBe(200)
  })
})

it('a request gets no answer if the connection ends within it', { timeout: 10_000 }, async () => {
  const [cert, key] = await Promise.all(['pem', 'key'].map((end) => readFile(join(certificates.folder, `api.${end}`))))
  const server = createServer({ cert, key }, (_, answer) => answer.write('{', () => answer.destroy()))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const running = { port: (server.address() as AddressInfo).port }
  expect(await requestThroughProxy(running, certificates, { path: '/' })).toBeNull()
  server.close()
})

describe('past the proxy', () => {
  it('a certificate in a header is trusted only from trusted addresses, and a call without one is not read', async () => {
    const header = { 'client-cert': encodeURIComponent(certificates.shown.psp.certificate) }
    const other = await createGateway({ trusted: '192.0.2.1,10.0.0.0/8' })
    const otherUrl = await other.listen({ host: '127.0.0.1', port: await findFreePort() })
    const post = async (url: string, headers: Record<string, string>, body = '{}') => {
      const answer = await fetch(url + path, { method: 'POST', body, headers })
      return { status: answer.status, text: await answer.text() }
    }
    expect((await post(otherUrl, header)).status).toBe(403)
    expect((await post(otherUrl, { ...header, 'x-forwarded-for': '192.0.2.1' })).status).toBe(403)
    expect((await post(gatewayUrl, header)).status).toBe(200)
    const refused = await post(gatewayUrl, {}, 'x'.repeat(2 * 1024 * 1024))
    expect(refused.status).toBe(403)
    expect(refused.text).not.toContain('proxy')
    expect(await refusals('no_certificate')).toBeGreaterThan(0)
    await other.close()
  })

  it('the service does not start without a trusted proxy', async () => {
    await expect(createGateway({ trusted: '' })).rejects.toThrow(
      'callbacks.clientCertificate of simulator needs TRUST_PROXY',
    )
  })
})
