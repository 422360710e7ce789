import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { addTestClient, type Problem, refusedFields } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { text } from '../support/transaction-fields.ts'

let service: TestService
/** Another service on the same database, with rate limits and without private webhook addresses. */
let strictService: TestService

beforeAll(async () => {
  service = await startTestService()
  strictService = await startTestService({
    database: service,
    environment: {
      WEBHOOK_ALLOW_PRIVATE: 'false',
      RATE_LIMIT_CREATE: '2',
      RATE_LIMIT_CREATE_BURST: '3',
      RATE_LIMIT_READ: '2',
    },
  })
})
afterAll(async () => {
  await strictService.stop()
  await service.stop()
})

const post = async (body: unknown, headers: Record<string, string> = {}) =>
  await service.call<Problem>('/transaction', { body, headers })

/** Sends text over a plain connection and returns the whole answer. */
async function exchange(baseUrl: string, sent: string): Promise<string> {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(sent)
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

describe('webhookUrl', () => {
  const urls = [
    'http://127.0.0.1:4000/hook',
    'https://localhost/hook',
    'http://receiver.internal/hook',
    'https://10.0.0.1/hook',
    'https://[::1]/hook',
    'https://shop/hook',
    // An IP address has no top-level domain, even when it is public.
    'https://8.8.8.8/hook',
    'https://[2606:4700:4700::1111]/hook',
    'https://shop.example.com:22/hook',
  ]

  it.each(urls)('may be %s only if private addresses are allowed', async (webhookUrl) => {
    const body = smallestTransaction({ webhookUrl })
    expect((await post(body)).status).toBe(201)
    expect(refusedFields(await callStrictly(body))).toEqual(['webhookUrl'])
  })

  it('may be a public https address everywhere', async () => {
    const answer = await callStrictly(smallestTransaction({ webhookUrl: 'https://shop.example.com/hook' }))
    expect(answer).toEqual(expect.objectContaining({ status: 201 }))
  })

  /** Creates as a new client, which has not reached any limit. */
  async function callStrictly(body: unknown) {
    return await strictService.call<Problem>('/transaction', { body, token: (await addTestClient(service)).token })
  }
})

describe('routing and limits', () => {
  it.each([
    ['DELETE', '/transaction', 'GET, HEAD, POST'],
    ['PUT', '/transaction', 'GET, HEAD, POST'],
    ['OPTIONS', '/transaction', 'GET, HEAD, POST'],
    ['POST', `/transaction/${randomUUID()}`, 'GET, HEAD'],
    ['PATCH', `/transaction/${randomUUID()}`, 'GET, HEAD'],
    ['POST', '/balance', 'GET, HEAD'],
  ])('answers %s %s with 405 and what is allowed', async (method, path, allow) => {
    const answer = await service.call(path, { method })
    expect([answer.status, answer.headers.get('allow')?.split(', ').sort().join(', ')]).toEqual([405, allow])
  })

  it('answers HEAD as GET, without the body', async () => {
    for (const path of ['/transaction', '/health/live', '/openapi.json']) {
      const answer = await service.call(path, { method: 'HEAD' })
      expect([answer.status, answer.text], path).toEqual([200, ''])
    }
  })

  it('answers a browser at its root with a page that links to the documentation', async () => {
    const answer = await service.call('/', { token: null })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(answer.text).toContain('href="guide/reference/"')
  })

  it.each([
    ['GET', '/transactions'],
    ['POST', '/transaction/'],
    ['GET', '/transaction/a/b'],
    ['GET', '/%'],
    ['GET', '/transaction/%ff'],
    ['GET', '/TRANSACTION'],
    ['GET', '/docs/nothing.js'],
  ])('answers %s %s with 404', async (method, path) => {
    const answer = await service.call<Problem>(path, { method })
    expect([answer.status, answer.body.code]).toEqual([404, 'not_found'])
    expect(answer.body.requestId).toBe(answer.headers.get('x-request-id'))
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
    )
  })

  it.each([
    ['GET', '/transactions', 'did you mean /transaction?'],
    ['GET', `/transactions/${randomUUID()}`, 'did you mean /transaction/{id}?'],
    ['POST', `/transaction/${randomUUID()}/refunds`, 'did you mean /transaction/{id}/refund?'],
    ['GET', '/Balance', 'did you mean /balance?'],
    ['POST', '/transaction/', 'leave out the slash at the end, as in /transaction.'],
    ['GET', '/health', 'there is /health/live, /health/ready.'],
    ['GET', '/wp-login.php', 'There is nothing at this address. /docs lists all addresses.'],
  ])('suggests the intended route for %s %s', async (method, path, suggestion) => {
    const answer = await service.call<Problem>(path, { method })
    expect(answer.status).toBe(404)
    expect(answer.body.detail).toContain(suggestion)
  })

  it('says that an id is missing', async () => {
    const answer = await service.call<Problem>('/transaction/')
    expect(refusedFields(answer)).toEqual(['id'])
    expect(answer.body.detail).toBe('id is empty: add one, or leave out the slash at the end.')
  })

  it.each([
    '/dashboard/assets/..%5c..%5cpackage.json',
    '/docs/static/%2e%2e/%2e%2e/package.json',
    '/dashboard/assets/%00',
    '/docs/static/%00',
    '/guide/%00',
    '/guide/..%2f..%2fpackage.json',
  ])('answers %s with 404 or 400, and not as a server error', async (path) => {
    const { hostname, port } = new URL(service.baseUrl)
    const answer = await exchange(
      service.baseUrl,
      `GET ${path} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: close\r\n\r\n`,
    )
    expect(answer).toMatch(/^HTTP\/1.1 40[04] /)
    expect(answer).not.toContain('"dependencies"')
  })

  it('answers a request without Host with 400 and an id', async () => {
    const answer = await exchange(
      service.baseUrl,
      'GET /health/live HTTP/1.1\r\nX-Request-Id: no-host-1\r\nConnection: close\r\n\r\n',
    )
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(answer).toContain('x-request-id: no-host-1')
    expect(answer).toContain('"detail":"Send the header Host')
    // HTTP/1.0 has no Host header.
    expect(await exchange(service.baseUrl, 'GET /health/live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200 /)
  })

  it.each(['/', '/transaction', '/health/live', '/docs', '/dashboard', '/guide/', '/nowhere'])(
    'does not accept TRACE at %s',
    async (path) => {
      const sent = `TRACE ${path} HTTP/1.1\r\nHost: a\r\nX-Echo: mine\r\nConnection: close\r\n\r\n`
      const answer = await exchange(service.baseUrl, sent)
      expect(answer).toMatch(/^HTTP\/1.1 40[45] /)
      expect(answer).not.toContain('mine')
    },
  )

  it.each(['gzip', 'GZIP', 'br', 'identity, gzip'])('refuses a body with Content-Encoding: %s', async (encoding) => {
    const answer = await post(smallestTransaction(), { 'content-encoding': encoding })
    expect([answer.status, (answer.body as Problem).code]).toEqual([415, 'unsupported_media_type'])
    expect([answer.headers.get('accept-encoding'), (answer.body as Problem).detail]).toEqual([
      'identity',
      'Send the body uncompressed, without Content-Encoding.',
    ])
    expect((await post(smallestTransaction(), { 'content-encoding': 'identity' })).status).toBe(201)
  })

  it('takes an empty body of any media type where none is expected, and no other', async () => {
    const { body } = await service.call<{ id: string }>('/transaction', { body: smallestTransaction() })
    const path = `/transaction/${body.id}/cancel`
    const cancel = async (rawBody: string) =>
      await service.call(path, {
        ...{ method: 'POST', rawBody },
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
    expect((await cancel('a=1')).status).toBe(415)
    expect((await cancel('')).status).toBe(200)
  })

  it.each(['{', '<xml/>', '{"__proto__":1}'])(
    'answers 404 at an unknown address whatever the body: %s',
    async (rawBody) => {
      for (const type of ['application/json', 'text/xml', ';']) {
        expect((await service.call('/nowhere', { rawBody, headers: { 'content-type': type } })).status).toBe(404)
      }
    },
  )

  it.each([
    ['what is no HTTP', 'nonsense\r\n\r\n', 400, 'bad_request'],
    ['a method that nobody knows', 'CHARGE /transaction HTTP/1.1\r\nHost: a\r\n\r\n', 400, 'bad_request'],
    ['headers that are too large', `GET / HTTP/1.1\r\nHost: a\r\nA: ${text(20_000)}\r\n\r\n`, 431, 'headers_too_large'],
  ])('answers %s with a problem too', async (_, sent, status, code) => {
    const [head = '', body = ''] = (await exchange(service.baseUrl, sent)).split('\r\n\r\n')
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(head).toContain('application/problem+json')
    const problem: Problem = JSON.parse(body)
    expect(problem.code).toBe(code)
    expect(head).toContain(`X-Request-Id: ${problem.requestId}`)
    expect(head).toContain('cache-control: no-store')
    expect(head).toContain(
      "content-security-policy: default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
    )
    expect(head).toContain('x-content-type-options: nosniff')
  })

  it('keeps the X-Request-Id of a request', async () => {
    for (const status of [201, 422]) {
      const answer = await post(smallestTransaction(status === 201 ? {} : { amount: 0 }), {
        'x-request-id': 'shop/42:a.b',
      })
      expect([answer.status, answer.headers.get('x-request-id')]).toEqual([status, 'shop/42:a.b'])
    }
  })

  it.each([text(65), 'a b', '"quoted"', 'é', ''])('replaces an X-Request-Id that is %j', async (id) => {
    const answer = await post(smallestTransaction({ amount: 0 }), { 'x-request-id': id })
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect((answer.body as unknown as Problem).requestId).toBe(answer.headers.get('x-request-id'))
  })

  it.each([
    ['no token', null, 401, 'missing_token'],
    ['a token that is none', 'nonsense', 401, 'invalid_token'],
  ])('refuses requests with %s', async (_, token, status, code) => {
    const answer = await service.call<Problem>('/transaction', { body: smallestTransaction(), token })
    expect([answer.status, answer.body.code]).toEqual([status, code])
    expect(answer.headers.get('www-authenticate')).toMatch(/^Bearer /)
  })

  it.each([
    [(token: string) => token, 'must begin with "Bearer "'],
    [() => 'Bearer', 'There is no access token after "Bearer"'],
    [() => `Basic ${btoa('id:secret')}`, 'HTTP Basic is for /auth/token'],
    [() => 'Bearer "quoted"', 'contains characters that no token has'],
  ])('says what is wrong with the header, case %#', async (write, expected) => {
    const headers = { authorization: write(service.token) }
    const answer = await service.call<Problem>('/transaction', { token: null, headers })
    expect([answer.status, answer.body.code]).toEqual([401, 'invalid_token'])
    expect(answer.body.detail).toContain(expected)
    expect(answer.headers.get('www-authenticate')).toContain('error_description="The access token is not valid"')
  })

  it('refuses a token without the scope', async () => {
    const reader = await addTestClient(service, ['transaction.read'])
    const answer = await service.call<Problem>('/transaction', { body: smallestTransaction(), token: reader.token })
    expect([answer.status, answer.body.code]).toEqual([403, 'insufficient_scope'])
  })
})

describe('the query', () => {
  it.each([
    ['stauts=PAID', 'is not known here: did you mean status? Known are startDate, endDate, status,'],
    ['limit=10', 'is not known here. Known are startDate, endDate, status,'],
    ['status[]=PAID', 'is not known here: for several values repeat status, as in status=…&status=…'],
    ['perPage=10&perPage=20', 'may be sent only once'],
  ])('%s is refused with the known parameters', async (query, message) => {
    const answer = await service.call<Problem & { errors: { message: string }[] }>(`/transaction?${query}`)
    expect(answer.status).toBe(422)
    expect(answer.body.errors).toHaveLength(1)
    expect(answer.body.errors[0]?.message).toContain(message)
  })

  it('names some of many unknown parameters', async () => {
    const query = Array.from({ length: 1_000 }, (_, index) => `p${index}=1`).join('&')
    expect(refusedFields(await service.call(`/transaction?${query}`))).toHaveLength(20)
  })
})

describe('the rate limit', () => {
  const call = async (body: unknown, token: string) =>
    await strictService.call<Problem>('/transaction', { body, token })

  it('allows a burst, then says when to retry', async () => {
    const client = await addTestClient(service)
    const remaining: (string | null)[] = []
    for (let taken = 0; taken < 3; taken++) {
      // A refused request counts too.
      const answer = await call(smallestTransaction(taken === 1 ? { amount: 0 } : {}), client.token)
      expect(answer.status).toBe(taken === 1 ? 422 : 201)
      expect(answer.headers.get('ratelimit-policy')).toBe('"create";q=3;w=2')
      remaining.push(answer.headers.get('ratelimit'))
    }
    expect(remaining).toEqual(['"create";r=2;t=0', '"create";r=1;t=0', '"create";r=0;t=1'])
    const refused = await call(smallestTransaction(), client.token)
    expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited'])
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('ratelimit')).toBe('"create";r=0;t=1')

    const another = await addTestClient(service)
    expect((await call(smallestTransaction(), another.token)).status).toBe(201)
    strictService.clock.advance(500)
    expect((await call(smallestTransaction(), client.token)).status).toBe(201)
    expect((await call(smallestTransaction(), client.token)).status).toBe(429)
  })

  it('counts a merchant’s reads separately from creates, over all routes', async () => {
    const client = await addTestClient(service)
    const read = async (path: string) => await strictService.call<Problem>(path, { token: client.token })
    for (const path of ['/transaction', '/withdrawal', '/balance', '/event']) {
      const answer = await read(path)
      expect([answer.status, answer.headers.get('ratelimit-policy')]).toEqual([200, '"read";q=4;w=2'])
    }
    const refused = await read('/transaction')
    expect([refused.status, refused.body.code, refused.headers.get('retry-after')]).toEqual([429, 'rate_limited', '1'])
    expect((await call(smallestTransaction(), client.token)).status).toBe(201)
    expect((await strictService.call('/transaction', { token: (await addTestClient(service)).token })).status).toBe(200)
    strictService.clock.advance(500)
    expect((await read('/transaction')).status).toBe(200)
  })

  it('sends no headers without a limit', async () => {
    expect((await post(smallestTransaction())).headers.get('ratelimit')).toBeNull()
  })
})

it('does not use up the idempotency key of a refused request', async () => {
  const idempotencyKey = 'order-refused-1'
  const body = smallestTransaction({ idempotencyKey })
  const reader = await addTestClient(service, ['transaction.read'])
  const client = await addTestClient(service)
  const limited = async (more = {}) =>
    (await strictService.call('/transaction', { body: { ...body, ...more }, token: client.token })).status
  for (let taken = 0; taken < 3; taken++) expect(await limited({ amount: 0 })).toBe(422)
  expect(await limited({ amount: 1 })).toBe(429)
  expect((await service.call('/transaction', { body: { ...body, amount: 2 }, token: null })).status).toBe(401)
  expect((await service.call('/transaction', { body: { ...body, amount: 3 }, token: reader.token })).status).toBe(403)
  expect(
    (
      await service.call('/transaction', {
        rawBody: '{',
        token: client.token,
        headers: { 'idempotency-key': idempotencyKey },
      })
    ).status,
  ).toBe(422)
  const created = await service.call('/transaction', { body, token: client.token })
  expect([created.status, created.headers.get('idempotent-replayed')]).toEqual([201, null])
})

it('a create gets a database connection however many lists of another merchant wait', async () => {
  const another = await addTestClient(service)
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let started = () => {}
  const isLocked = new Promise<void>((resolve) => {
    started = resolve
  })
  // Every list of transactions reads this table, and no create does.
  const holding = service.db.transaction(async (tx) => {
    await tx.query(sql`lock table refunds in access exclusive mode`)
    started()
    await released
  })
  await isLocked
  // 33 lists of one merchant may run or wait. One more is refused.
  const lists = Array.from(
    { length: 34 },
    async () => (await service.call('/transaction', { token: another.token })).status,
  )
  expect(await Promise.race(lists)).toBe(429)
  expect((await post(smallestTransaction())).status).toBe(201)
  release()
  await holding
  expect((await Promise.all(lists)).sort()).toEqual([...Array(33).fill(200), 429])
})
