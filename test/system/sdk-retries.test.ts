import { getEventListeners } from 'node:events'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  AuthenticationError,
  ConnectionError,
  Guiche,
  GuicheError,
  type GuicheOptions,
  PermissionError,
  RateLimitedError,
  ServerError,
} from '../../sdk/src/index.ts'
import { type FaultyProxy, openFaultyProxy } from '../support/faulty-proxy.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let proxy: FaultyProxy
let guiche: Guiche

beforeAll(async () => {
  service = await startTestService()
})
afterAll(async () => await service.stop())
beforeEach(async () => {
  proxy = await openFaultyProxy(service.baseUrl)
  guiche = connect()
  return async () => await proxy.stop()
})

function connect(options: Partial<GuicheOptions> = {}): Guiche {
  const { clientId, clientSecret } = service.sandbox
  return new Guiche({ clientId, clientSecret, baseUrl: proxy.baseUrl, ...options } as GuicheOptions)
}

const payout = { amount: 1000, pixKey: { key: 'maria@example.com', type: 'EMAIL' } } as const
const unavailable = { status: 503, body: '<h1>Service Unavailable</h1>' }

describe('a call that is safe to repeat', () => {
  it('takes effect once, even when its answer is lost again and again', async () => {
    const body = JSON.stringify({
      code: 'acquirer_unavailable',
      detail: 'It is not known yet.',
      requestId: 'a-request',
    })
    proxy.plan('POST /transaction', 'lose-answer', { status: 500, body }, 'lose-request', unavailable)
    const externalCode = 'created-only-once'
    const { id } = await guiche.transactions.create({ amount: 1000, externalCode })
    expect(proxy.count('POST /transaction')).toBe(5)
    const all = await guiche.transactions.list({ externalCode }).all()
    expect(all.map((one) => one.id)).toEqual([id])
  })

  it('refunds and pays out only once', async () => {
    const { id, pixResponse } = await guiche.transactions.create({ amount: 50_000 })
    await guiche.sandbox.pay({ uri: pixResponse.uri })
    await expect.poll(async () => (await guiche.transactions.get(id)).status).toBe('PAID')
    proxy.plan(`POST /transaction/${id}/refund`, 'lose-answer')
    await guiche.transactions.refund(id, { amount: 100 })
    expect((await guiche.transactions.get(id)).refunds).toHaveLength(1)

    proxy.plan('POST /withdrawal', 'lose-answer', { status: 502 })
    const withdrawal = await guiche.withdrawals.create(payout)
    expect((await guiche.withdrawals.list().all()).map((one) => one.id)).toEqual([withdrawal.id])
    proxy.plan(`POST /withdrawal/${withdrawal.id}/cancel`, { status: 504 })
    const canceled = await guiche.withdrawals.cancel(withdrawal.id).catch((error: GuicheError) => error)
    // It may have been sent in the meantime; either way it was requested again.
    expect(canceled instanceof GuicheError ? canceled.code : canceled.status).toMatch(
      /withdrawal_not_possible|CANCELED/,
    )
    expect(proxy.count(`POST /withdrawal/${withdrawal.id}/cancel`)).toBe(2)
  })

  it('has its generated key in the final error, and can be repeated with that key', async () => {
    proxy.plan('POST /transaction', 'lose-answer', 'lose-answer')
    const error = await failure(guiche.transactions.create({ amount: 1000 }, { maxRetries: 1 }))
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ code: 'connection_failed', cause: expect.any(TypeError), status: undefined })
    expect(error.message).toMatch(/Repeat it with the same idempotencyKey/)
    const { idempotencyKey } = error
    expect(idempotencyKey).toMatch(/^[0-9a-f]{32}$/)
    const again = await guiche.transactions.create({ amount: 1000, idempotencyKey })
    expect(await guiche.transactions.create({ amount: 1000, idempotencyKey })).toEqual(again)
    expect(await failure(guiche.transactions.create({ amount: 1, idempotencyKey }))).toMatchObject({ idempotencyKey })
  })

  it('waits as long as the service asks', async () => {
    proxy.plan('GET /balance', { status: 429, headers: { 'retry-after': '1' } })
    const start = performance.now()
    await guiche.balance.get()
    expect(performance.now() - start).toBeGreaterThan(950)
    expect(proxy.count('GET /balance')).toBe(2)
  })

  it('does not wait for an hour: the error says how long that would be', async () => {
    proxy.plan('GET /balance', { status: 429, headers: { 'retry-after': '3600' } })
    const error = await failure(guiche.balance.get())
    expect(error).toBeInstanceOf(RateLimitedError)
    expect(error.retryAfterSeconds).toBe(3600)
    expect(proxy.count('GET /balance')).toBe(1)
  })

  it('is tried no more than the maximum', async () => {
    proxy.plan('GET /balance', ...Array(9).fill(unavailable))
    const error = await failure(guiche.balance.get({}, { maxRetries: 2 }))
    expect(error).toBeInstanceOf(ServerError)
    expect(error).toMatchObject({ code: 'unexpected_answer', status: 503 })
    expect(proxy.count('GET /balance')).toBe(3)
    expect(await failure(guiche.balance.get({}, { maxRetries: 0 }))).toMatchObject({ status: 503 })
    expect(proxy.count('GET /balance')).toBe(4)
  })

  it('times out when nothing arrives, and is tried again', async () => {
    proxy.plan('GET /balance', 'hang', 'hang')
    const error = await failure(guiche.balance.get({}, { timeoutMs: 200, maxRetries: 0 }))
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error).toMatchObject({ code: 'timeout', message: expect.stringContaining('No answer within 200 ms') })
    await guiche.balance.get({}, { timeoutMs: 3_000 })
    expect(proxy.count('GET /balance')).toBeGreaterThanOrEqual(3)
  })

  it('times out when its answer never ends', async () => {
    proxy.plan('GET /balance', { status: 200, body: '{"available":', neverEnds: true })
    expect(await failure(guiche.balance.get({}, { timeoutMs: 200, maxRetries: 0 }))).toMatchObject({ code: 'timeout' })
  })

  it('never times out with an infinite timeoutMs', async () => {
    expect(await guiche.balance.get({}, { timeoutMs: Infinity, maxRetries: 0 })).toMatchObject({ debt: 0 })
  })
})

describe('a call that is not safe to repeat', () => {
  it('is not repeated when its outcome is unknown', async () => {
    const { pixResponse } = await guiche.transactions.create({ amount: 1000 })
    proxy.plan('POST /sandbox/payment', 'lose-answer')
    const error = await failure(guiche.sandbox.pay({ uri: pixResponse.uri }))
    expect(error).toMatchObject({ code: 'connection_failed', idempotencyKey: undefined })
    expect(error.message).toMatch(/Check before you repeat it/)
    expect(proxy.count('POST /sandbox/payment')).toBe(1)
    proxy.plan('POST /webhook/delivery', { status: 503 })
    expect(await failure(guiche.deliveries.resend('an-event'))).toMatchObject({ status: 503 })
    expect(proxy.count('POST /webhook/delivery')).toBe(1)
  })

  it('is repeated when it was refused before anything was done', async () => {
    const { pixResponse } = await guiche.transactions.create({ amount: 1000 })
    proxy.plan('POST /sandbox/payment', { status: 429, headers: { 'retry-after': '0' } })
    await guiche.sandbox.pay({ uri: pixResponse.uri })
    expect(proxy.count('POST /sandbox/payment')).toBe(2)
  })

  it.each([422, 404, 403])('is not repeated when it is answered %i', async (status) => {
    proxy.plan('POST /transaction', { status, body: '{}' })
    expect(await failure(guiche.transactions.create({ amount: 1000 }))).toMatchObject({ status })
    expect(proxy.count('POST /transaction')).toBe(1)
  })

  it('is not repeated when payouts are frozen', async () => {
    const body = JSON.stringify({ code: 'payouts_stopped', detail: 'Money does not leave.', requestId: 'a-request' })
    proxy.plan('POST /withdrawal', { status: 503, body })
    expect(await failure(guiche.withdrawals.create(payout))).toMatchObject({ code: 'payouts_stopped' })
    expect(proxy.count('POST /withdrawal')).toBe(1)
  })
})

describe('an abort', () => {
  it('ends a try, with the given reason', async () => {
    proxy.plan('GET /balance', 'hang')
    const controller = new AbortController()
    const balance = guiche.balance.get({}, { signal: controller.signal })
    await expect.poll(() => proxy.count('GET /balance')).toBe(1)
    const reason = new Error('The customer left')
    controller.abort(reason)
    await expect(balance).rejects.toBe(reason)
  })

  it('ends a pause, and the wait for a token, which others still get', async () => {
    proxy.plan('GET /balance', { status: 429, headers: { 'retry-after': '30' } })
    const pausing = new AbortController()
    const paused = guiche.balance.get({}, { signal: pausing.signal })
    await expect.poll(() => proxy.count('GET /balance')).toBe(1)
    pausing.abort()
    await expect(paused).rejects.toMatchObject({ name: 'AbortError' })

    const [other, waiting] = [connect(), new AbortController()]
    proxy.plan('POST /auth/token', unavailable)
    const [left, stayed] = [other.balance.get({}, { signal: waiting.signal }), other.balance.get()]
    waiting.abort()
    await expect(left).rejects.toMatchObject({ name: 'AbortError' })
    expect((await stayed).available).toBeTypeOf('number')
  })

  it('before the call prevents the request', async () => {
    await expect(guiche.balance.get({}, { signal: AbortSignal.abort() })).rejects.toMatchObject({ name: 'AbortError' })
    expect(proxy.count('GET /balance')).toBe(0)
  })

  it('ends an export that is being read', async () => {
    const controller = new AbortController()
    const answer = await beginExport(controller)
    controller.abort()
    await expect(answer.text()).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('is listened for only by the last try', async () => {
    const controller = new AbortController()
    await beginExport(controller)
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1)
  })

  const beginExport = async ({ signal }: AbortController) => {
    const headers = { 'content-type': 'text/csv' }
    proxy.plan('GET /transaction.csv', unavailable, { status: 200, headers, body: 'id', neverEnds: true })
    return await guiche.transactions.export({}, { signal, timeoutMs: 5_000 })
  }
})

describe('tokens', () => {
  it('are fetched once for many concurrent calls, and kept', async () => {
    await Promise.all(Array.from({ length: 20 }, () => guiche.balance.get()))
    await guiche.balance.get()
    expect(proxy.count('POST /auth/token')).toBe(1)
  })

  it('are renewed before they end, by `expires_in_sec`: Guichê’s `expires_in` is a Unix time, unlike in RFC 6749', async () => {
    const token = { access_token: service.token, expires_in: 4_000_000_000, expires_in_sec: 1 }
    proxy.plan('POST /auth/token', { status: 200, body: JSON.stringify(token) })
    await guiche.balance.get()
    await new Promise((done) => setTimeout(done, 950))
    await guiche.balance.get()
    expect(proxy.count('POST /auth/token')).toBe(2)
  })

  it('are renewed when the service says that they have expired, and the call is repeated once', async () => {
    await guiche.balance.get()
    service.clock.advance(901_000)
    const { id } = await guiche.transactions.create({ amount: 1000 })
    expect(id).toBeTypeOf('string')
    expect(proxy.count('POST /auth/token')).toBe(2)
    expect(proxy.count('POST /transaction')).toBe(2)
    // Calls that are not safe to repeat are repeated too: the refused request has done nothing.
    service.clock.advance(901_000)
    const error = await failure(guiche.sandbox.pay({ uri: 'none' }))
    expect(error.code).toBe('payment_refused')
    expect(proxy.count('POST /sandbox/payment')).toBe(2)
  })

  it('are not requested repeatedly when they are refused repeatedly', async () => {
    const body = JSON.stringify({ code: 'token_revoked', detail: 'It was revoked.' })
    proxy.plan('GET /balance', ...Array(5).fill({ status: 401, body }))
    const error = await failure(guiche.balance.get())
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error.code).toBe('token_revoked')
    expect(proxy.count('GET /balance')).toBe(2)
    expect(proxy.count('POST /auth/token')).toBe(2)
  })

  it('are requested with the limits of the call, separately from calls with other limits', async () => {
    proxy.plan('POST /auth/token', 'hang', unavailable)
    const patient = guiche.balance.get()
    await expect.poll(() => proxy.count('POST /auth/token')).toBe(1)
    expect(await failure(guiche.balance.get({}, { maxRetries: 0 }))).toMatchObject({ status: 503 })
    expect(proxy.count('POST /auth/token')).toBe(2)
    proxy.plan('POST /auth/token', 'hang')
    expect(await failure(guiche.balance.get({}, { timeoutMs: 50, maxRetries: 0 }))).toMatchObject({ code: 'timeout' })
    await proxy.stop()
    expect(await failure(patient)).toBeInstanceOf(ConnectionError)
  })

  it('are requested again when the token endpoint fails briefly', async () => {
    proxy.plan('POST /auth/token', { status: 502, body: '{"error":"server_error","error_description":"Later."}' })
    await guiche.balance.get()
    expect(proxy.count('POST /auth/token')).toBe(2)
  })

  it('that cannot be renewed leave the key in the error when an earlier try of the call may have been carried out', async () => {
    const hasty = connect({ maxRetries: 1 })
    await hasty.balance.get()
    proxy.plan('POST /transaction', 'lose-answer', {
      status: 401,
      body: '{"code":"token_expired","detail":"It ended."}',
    })
    proxy.plan('POST /auth/token', 'lose-request', 'lose-request')
    const externalCode = 'known-by-its-key'
    const error = await failure(hasty.transactions.create({ amount: 1000, externalCode }))
    expect(error).toBeInstanceOf(ConnectionError)
    expect(error.cause).toBeInstanceOf(TypeError)
    const { idempotencyKey } = error
    const { id } = await guiche.transactions.create({ amount: 1000, externalCode, idempotencyKey })
    expect((await guiche.transactions.list({ externalCode }).all()).map((one) => one.id)).toEqual([id])
  })

  it('are refused for wrong credentials, with what to do', async () => {
    const wrong = connect({ clientSecret: 'a-secret-that-is-wrong' })
    const error = await failure(wrong.balance.get())
    expect(error).toBeInstanceOf(AuthenticationError)
    expect(error.message).toMatch(/client id or its secret.*\[invalid_client, HTTP 401/)
    expect(proxy.count('POST /auth/token')).toBe(1)
  })

  it('of the caller are requested again for each try', async () => {
    const given = ['not-good', await freshToken()]
    const client = new Guiche({ baseUrl: proxy.baseUrl, accessToken: async () => given.shift() ?? null })
    await client.balance.get()
    expect(proxy.count('POST /auth/token')).toBe(0)
    expect(await failure(new Guiche({ baseUrl: proxy.baseUrl, accessToken: () => null }).balance.get())).toMatchObject({
      code: 'missing_token',
    })
  })
})

describe('credentials', () => {
  it('are not sent elsewhere on a redirect', async () => {
    const elsewhere = await openFaultyProxy(service.baseUrl)
    const moved = { status: 307, headers: { location: `${elsewhere.baseUrl}/auth/token` } }
    proxy.plan('POST /auth/token', moved, moved)
    const error = await failure(guiche.balance.get())
    expect(error).toMatchObject({ code: 'unexpected_answer', status: 307, detail: expect.stringMatching(/redirect/) })
    proxy.plan('GET /balance', moved)
    expect(await failure(connect({ accessToken: () => service.token }).balance.get())).toMatchObject({ status: 307 })
    await elsewhere.stop()
    expect(elsewhere.requests).toEqual([])
  })

  it('never appear in an error or a log', async () => {
    const { inspect } = await import('node:util')
    await guiche.balance.get()
    const { clientSecret } = service.sandbox
    const shown: unknown[] = [guiche, JSON.stringify(guiche)]
    proxy.plan('POST /transaction', 'lose-answer', { status: 500 }, { status: 200, body: 'no JSON' }, { status: 302 })
    for (let left = 4; left > 0; left -= 1)
      shown.push(await failure(guiche.transactions.create({ amount: 1000 }, { maxRetries: 0 })))
    proxy.plan('POST /auth/token', 'lose-answer', { status: 307, headers: { location: 'http://127.0.0.1:1/' } })
    for (let left = 2; left > 0; left -= 1) shown.push(await failure(connect({ maxRetries: 0 }).balance.get()))
    const spoiled = new Guiche({ baseUrl: proxy.baseUrl, accessToken: () => `${clientSecret}\nand more` })
    shown.push(await spoiled.balance.get().catch((error: unknown) => error))
    for (const baseUrl of [`http://user:${clientSecret}@127.0.0.1/`, `not an address ${clientSecret}`])
      shown.push(caught(() => new Guiche({ baseUrl, clientId: 'id', clientSecret })))

    const text = shown.map((one) => inspect(one, { depth: Infinity, showHidden: true })).join('\n')
    expect(text).toMatch(/redirect/)
    const bearer = proxy.requests.map(({ headers }) => headers.authorization?.replace('Bearer ', '')).filter(Boolean)
    expect(bearer.length).toBeGreaterThan(0)
    for (const secret of [clientSecret, ...bearer]) expect(text).not.toContain(secret)
  })

  it('are checked when the client is created', () => {
    const baseUrl = proxy.baseUrl
    expect(caught(() => new Guiche({ baseUrl, clientId: '', clientSecret: '' }))).toMatchObject({
      message: expect.stringContaining('environment variable'),
    })
    expect(caught(() => new Guiche({ baseUrl: '', clientId: 'a', clientSecret: 'b' }))).toBeInstanceOf(TypeError)
  })

  it('are sent with the SDK’s version and a request id', async () => {
    const error = await failure(guiche.transactions.get('00000000-0000-4000-8000-000000000000'))
    const headers = proxy.requests.at(-1)?.headers
    expect(headers?.['x-request-id']).toBe(error.requestId)
    expect(headers?.['user-agent']).toMatch(/^guiche-sdk\/\d/)
  })

  it('without a scope lead to a PermissionError', async () => {
    const { access_token: token } = (await (
      await fetch(`${service.baseUrl}/auth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          client_id: service.sandbox.clientId,
          client_secret: service.sandbox.clientSecret,
          scope: 'transaction.read',
        }),
      })
    ).json()) as { access_token: string }
    const error = await failure(new Guiche({ baseUrl: proxy.baseUrl, accessToken: () => token }).balance.get())
    expect(error).toBeInstanceOf(PermissionError)
    expect(error.code).toBe('insufficient_scope')
  })
})

async function freshToken(): Promise<string> {
  const { clientId, clientSecret } = service.sandbox
  const body = new URLSearchParams({ client_id: clientId, client_secret: clientSecret })
  const answer = await fetch(`${service.baseUrl}/auth/token`, { method: 'POST', body })
  return ((await answer.json()) as { access_token: string }).access_token
}

async function failure(promise: Promise<unknown>): Promise<GuicheError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  if (error instanceof GuicheError) return error
  throw new Error(`No GuicheError, but ${String(error)}`)
}

function caught(make: () => unknown): unknown {
  try {
    return make()
  } catch (error) {
    return error
  }
}
