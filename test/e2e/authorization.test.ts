import { createPublicKey, generateKeyPairSync, type JsonWebKey, KeyObject, randomUUID, sign } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { revokeClient } from '../../src/auth/clients.ts'
import { type Scope, scopes } from '../../src/auth/scopes.ts'
import { type ErrorCode, errors } from '../../src/lib/errors.ts'
import { decodePart, es256, hs256, keyRingOf, makeJwt, newEcKey } from '../support/forge.ts'
import { type Answer, fetchToken, smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { registerShop, requestToken, type Shop } from '../support/token.ts'

type Route = { method: string; path: string; scope: Scope }
type Problem = { code: string; detail: string; status: number; requestId: string }

/** Longer than a client is cached (`ageMaxMs` in src/auth/directory.ts). */
const cachedMs = 550

let service: TestService
/** Every route that requires a token, from the OpenAPI document: a new route is tested here automatically. */
let routes: Route[]

beforeAll(async () => {
  service = await startTestService()
  routes = await listRoutes()
})
afterAll(async () => await service.stop())
afterEach(() => {
  vi.useRealTimers()
})

async function listRoutes(): Promise<Route[]> {
  type Operation = { security?: { oauth2?: Scope[] }[] }
  const { body } = await service.call<{ paths: Record<string, Record<string, Operation>> }>('/openapi.json')
  return Object.entries(body.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { security }]) =>
      (security?.flatMap(({ oauth2 }) => oauth2 ?? []) ?? []).map((scope) => ({
        method: method.toUpperCase(),
        path,
        scope,
      })),
    ),
  )
}

async function request(
  { method, path }: Route,
  token: string | null,
  headers: Record<string, string> = {},
  id: string = randomUUID(),
): Promise<Answer<Problem>> {
  return await service.call<Problem>(path.replace(/\{\w+\}/g, id), {
    method,
    token,
    headers,
    ...(method === 'POST' && { body: {} }),
  })
}

/** Every route refuses the token in the same way, with a challenge that says why. */
async function expectRefusedEverywhere(token: string, code: ErrorCode): Promise<void> {
  for (const route of routes) expectRefusal(await request(route, token), code, `${route.method} ${route.path}`)
}

function expectRefusal(answer: Answer<Problem>, code: ErrorCode, what?: string): void {
  expect({ status: answer.status, code: answer.body.code }, what).toEqual({ status: 401, code })
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  expect(answer.headers.get('www-authenticate')).toBe(
    `Bearer realm="guiche", error="invalid_token", error_description="${errors[code].title}"`,
  )
  expect(answer.body.requestId).toBe(answer.headers.get('x-request-id'))
}

it('finds the routes that require a token in the OpenAPI document, and each declares a known scope', () => {
  const named = routes.map(({ method, path }) => `${method} ${path}`)
  for (const route of ['POST /transaction', 'GET /transaction', 'GET /transaction/{id}', 'GET /withdrawal'])
    expect(named).toContain(route)
  for (const { scope } of routes) expect(scopes).toContain(scope)
})

describe('without a valid token', () => {
  it('answers 401 without a token, with a challenge that names no error', async () => {
    for (const route of routes) {
      const answer = await request(route, null)
      expect({ status: answer.status, code: answer.body.code }).toEqual({ status: 401, code: 'missing_token' })
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="guiche"')
    }
  })

  it('answers 401 to garbage, and to other authentication schemes', async () => {
    const [header = '', claims = '', signature = ''] = service.token.split('.')
    const garbage = [
      'garbage',
      '..',
      'a.b.c',
      `${header}.${claims}`,
      `${header}.${claims}.`,
      `${header}.${claims}.${'A'.repeat(signature.length)}`,
      `${header}.${claims}.${signature}.${signature}`,
      `${claims}.${claims}.${signature}`,
      `${service.token}=`,
      service.token.toUpperCase(),
      'x'.repeat(12_000),
    ]
    for (const token of garbage) await expectRefusedEverywhere(token, 'invalid_token')
    const [route] = routes
    for (const authorization of [
      'Bearer',
      'Bearer ',
      service.token,
      `Basic ${service.token}`,
      `Token ${service.token}`,
      `Bearer ${service.token} ${service.token}`,
      `Bearer "${service.token}"`,
      `Bearer ${service.token}, Bearer ${service.token}`,
    ])
      if (route)
        expectRefusal(await request(route, null, { authorization }), 'invalid_token', authorization.slice(0, 20))
  })

  it('accepts no token in the query string or the body', async () => {
    const inQuery = await service.call<Problem>(`/transaction?access_token=${service.token}`, { token: null })
    expect(inQuery.body.code).toBe('missing_token')
    const inBody = await service.call<Problem>('/transaction', { token: null, body: { access_token: service.token } })
    expect(inBody.body.code).toBe('missing_token')
  })

  it('refuses a missing token before it checks anything else in the request', async () => {
    const answers = [
      await service.call<Problem>('/transaction', { token: null, rawBody: '{broken' }),
      await service.call<Problem>('/transaction/not-an-id', { token: null }),
      await service.call<Problem>('/transaction?nonsense=1', { token: null }),
      await service.call<Problem>('/transaction', { token: null, rawBody: 'x'.repeat(100_000) }),
      await service.call<Problem>('/transaction', { token: null, rawBody: 'x', headers: { 'content-type': 'a/b' } }),
    ]
    for (const { status, body } of answers) expect([status, body.code]).toEqual([401, 'missing_token'])
  })
})

describe('a token that this service did not issue', () => {
  const otherKey = newEcKey()
  let header: Record<string, unknown>
  let claims: Record<string, unknown>

  beforeAll(() => {
    header = decodePart(service.token, 0)
    claims = decodePart(service.token, 1)
  })

  it('is refused without a signature, whatever the case of "none"', async () => {
    for (const alg of ['none', 'None', 'NONE', '']) {
      const token = makeJwt({ ...header, alg }, claims, () => Buffer.alloc(0))
      await expectRefusedEverywhere(token, 'invalid_token')
    }
  })

  it('is refused when it is signed with the public key as a secret', async () => {
    const published = await service.call<{ keys: JsonWebKey[] }>('/.well-known/jwks.json')
    const [jwk = {}] = published.body.keys
    const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
    for (const secret of [pem, JSON.stringify(jwk), Buffer.from(jwk.x ?? '', 'base64url'), '']) {
      const token = makeJwt({ ...header, alg: 'HS256' }, claims, hs256(secret))
      await expectRefusedEverywhere(token, 'invalid_token')
    }
  })

  it('is refused when it was signed with another key, whether it names our key id, another one, none, or brings the key along', async () => {
    const jwk = otherKey.publicKey.export({ format: 'jwk' })
    const { kid: _, ...noKid } = header
    for (const other of [
      header,
      { ...header, kid: 'its-own' },
      noKid,
      { ...header, kid: 7 },
      { ...header, jwk },
      { ...noKid, jwk },
      { ...header, jku: 'http://127.0.0.1:1/jwks.json' },
      { ...header, crit: ['b64'], b64: true },
    ]) {
      await expectRefusedEverywhere(makeJwt(other, claims, es256(otherKey.privateKey)), 'invalid_token')
    }
  })

  it('is refused under another algorithm', async () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const rs256 = (text: string) => sign('sha256', Buffer.from(text), rsa.privateKey)
    await expectRefusedEverywhere(makeJwt({ ...header, alg: 'RS256' }, claims, rs256), 'invalid_token')
    await expectRefusedEverywhere(
      makeJwt({ ...header, alg: 'ES384' }, claims, es256(otherKey.privateKey)),
      'invalid_token',
    )
  })

  it('is refused when a claim was changed after it was signed', async () => {
    const [head, , signature] = service.token.split('.')
    const changed = Buffer.from(JSON.stringify({ ...claims, exp: 9_999_999_999 })).toString('base64url')
    await expectRefusedEverywhere(`${head}.${changed}.${signature}`, 'invalid_token')
  })

  it('is refused when our key signed it, but it is not an access token for this service', async () => {
    const { privateKey } = await (await keyRingOf(service)).signingKey()
    const ours = es256(KeyObject.from(privateKey))
    // Control: a token made the same way, with unchanged claims, is valid.
    const good = makeJwt(header, { ...claims, jti: 'control' }, ours)
    expect((await service.call('/transaction', { token: good })).status).toBe(200)
    const { exp: _exp, ...noExpiry } = claims
    const { iat: _iat, ...noIssue } = claims
    const { aud: _aud, ...noAudience } = claims
    const { typ: _typ, ...noType } = header
    for (const [otherHeader, otherClaims] of [
      [{ ...header, typ: 'JWT' }, claims],
      [noType, claims],
      [header, { ...claims, aud: 'another' }],
      [header, noAudience],
      [header, noExpiry],
      [header, noIssue],
      [header, { ...claims, exp: 'soon' }],
      [header, { ...claims, nbf: 9_999_999_999 }],
      [header, { ...claims, client_id: { $ne: null } }],
      [header, { ...claims, client_id: 'gc_\u0000' }],
    ] as const) {
      await expectRefusedEverywhere(makeJwt(otherHeader, otherClaims, ours), 'invalid_token')
    }
  })

  it('is refused with 403 when our key signed it for a client that does not exist', async () => {
    const { privateKey } = await (await keyRingOf(service)).signingKey()
    const token = makeJwt(header, { ...claims, client_id: 'gc_gone' }, es256(KeyObject.from(privateKey)))
    const answer = await service.call<Problem>('/transaction', { token })
    expect([answer.status, answer.body.code]).toEqual([403, 'client_not_registered'])
  })
})

describe('an expired token', () => {
  it('is reported as expired from the millisecond on which its lifetime ends, whether or not it was used before', async () => {
    const start = service.clock.now()
    const token = await fetchToken(service.baseUrl, service.sandbox)
    const fresh = await fetchToken(service.baseUrl, await registerShop(service))
    expect((await service.call('/transaction', { token })).status).toBe(200)
    service.clock.advance(899_999)
    expect((await service.call('/transaction', { token })).status).toBe(200)
    service.clock.advance(1)
    await expectRefusedEverywhere(token, 'token_expired')
    // Not used before it expired.
    await expectRefusedEverywhere(fresh, 'token_expired')
    const answer = await service.call<Problem>('/transaction', { token })
    expect(answer.body.detail).toContain('/auth/token')
    service.clock.set(start)
  })
})

describe('a scope', () => {
  it('that the token lacks gives 403 and is named in the response, on every route', async () => {
    for (const route of routes) {
      const without = scopes.filter((scope) => scope !== route.scope)
      const token = await tokenWith(service.sandbox, without)
      const answer = await request(route, token)
      expect([answer.status, answer.body.code], route.path).toEqual([403, 'insufficient_scope'])
      expect(answer.body.detail).toContain(route.scope)
      expect(answer.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${route.scope}"`)
    }
  })

  it('is sufficient alone, on every route', async () => {
    for (const route of routes) {
      const token = await tokenWith(service.sandbox, [route.scope])
      const { status } = await request(route, token)
      expect([200, 201, 404, 422], `${route.method} ${route.path}`).toContain(status)
    }
  })

  it('that was removed from the client gives no access, even with a token issued before', async () => {
    const shop = await registerShop(service)
    const token = await fetchToken(service.baseUrl, shop)
    expect((await service.call('/transaction', { token })).status).toBe(200)
    const narrowed = ['withdrawal.read']
    await service.db.pool.query('update clients set scopes = $1 where client_id = $2', [narrowed, shop.clientId])
    await sleep(cachedMs)
    expect((await service.call<Problem>('/transaction', { token })).body.code).toBe('insufficient_scope')
    expect((await service.call('/withdrawal', { token })).status).toBe(200)
  })

  it('is not added to a token already issued when the client is granted it later', async () => {
    const shop = await registerShop(service, { scopes: [] })
    const token = await fetchToken(service.baseUrl, shop)
    await service.db.pool.query('update clients set scopes = $1 where client_id = $2', [scopes, shop.clientId])
    expect((await service.call<Problem>('/transaction', { token })).body.code).toBe('insufficient_scope')
  })
})

describe("another client's record", () => {
  it('is not found: the same answer as for an unknown id', async () => {
    const own = await service.call<{ id: string }>('/transaction', { body: smallestTransaction() })
    const other = await fetchToken(service.baseUrl, await registerShop(service))
    const reads = routes.filter(({ method, path }) => method === 'GET' && /^\/transaction\/\{/.test(path))
    expect(reads.length).toBeGreaterThan(0)
    for (const route of reads) {
      expect((await request(route, service.token, {}, own.body.id)).status).toBe(200)
      const foreign = await request(route, other, {}, own.body.id)
      const none = await request(route, other)
      expect([foreign.status, foreign.body.code]).toEqual([404, 'not_found'])
      expect({ ...foreign.body, requestId: '' }).toEqual({ ...none.body, requestId: '' })
    }
    const lists = routes.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
    for (const route of lists) {
      const { status, text, body } = await service.call<{ data?: unknown[] }>(route.path, { token: other })
      expect([status, body.data ?? []], route.path).toEqual([200, []])
      expect(text).not.toContain(own.body.id)
    }
  })

  it('cannot be resent to its webhook by another client either', async () => {
    const own = await service.call<{ id: string }>('/transaction', {
      body: smallestTransaction({ webhookUrl: 'http://127.0.0.1:1/' }),
    })
    const events = await service.call<{ data: { id: string }[] }>(`/transaction/${own.body.id}/event`)
    const [event] = events.body.data
    if (!event) throw new Error('the transaction has no event')
    const other = await fetchToken(service.baseUrl, await registerShop(service))
    const changes = routes.filter(({ method, path }) => method !== 'GET' && path.includes('{eventId}'))
    expect(changes.length).toBeGreaterThan(0)
    for (const route of changes) {
      const foreign = await request(route, other, {}, event.id)
      expect([foreign.status, foreign.body.code], route.path).toEqual([404, 'not_found'])
      expect((await request(route, service.token, {}, event.id)).status, route.path).not.toBe(404)
    }
  })
})

describe('a revoked client', () => {
  it('is refused within a second: its tokens with token_revoked and its secret with invalid_client', async () => {
    const shop = await registerShop(service)
    const token = await fetchToken(service.baseUrl, shop)
    expect((await service.call('/transaction', { token })).status).toBe(200)
    await revoke(shop, { tokensOnly: false })
    await sleep(cachedMs)
    await expectRefusedEverywhere(token, 'token_revoked')
    const answer = await requestToken(service, { form: credentialsOf(shop) })
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client'])
  })

  it('is refused by a second service on the same database within a second, and others are not', async () => {
    const { db, connectionString, clock } = service
    const second = await startTestService({ database: { db, connectionString }, clock })
    const shop = await registerShop(service)
    const token = await fetchToken(service.baseUrl, shop)
    // The cache's age is measured with the process's own clock. It is stopped here, so that a busy machine does not
    // affect the test.
    vi.useFakeTimers({ toFake: ['performance'] })
    const status = async () => (await second.call('/transaction', { token })).status
    expect(await status()).toBe(200)
    await revoke(shop, { tokensOnly: false })
    vi.advanceTimersByTime(999)
    expect(await status()).toBe(401)
    vi.useRealTimers()
    expect((await second.call('/transaction', { token: service.token })).status).toBe(200)
    await second.stop()
  })

  it('that had only its tokens revoked gets a valid one within the same second', async () => {
    for (const offsetMs of [0, 1, 999]) {
      const shop = await registerShop(service)
      service.clock.set(new Date(Math.ceil(service.clock.now().getTime() / 1000) * 1000 + offsetMs))
      const before = await fetchToken(service.baseUrl, shop)
      await revoke(shop, { tokensOnly: true })
      const { body } = await requestToken(service, { form: credentialsOf(shop) })
      const notBefore = Math.floor(service.clock.now().getTime() / 1000) + 1
      expect(body).toMatchObject({ 'not-before-policy': notBefore, expires_in: notBefore + 900, expires_in_sec: 900 })
      expect((await service.call('/transaction', { token: String(body.access_token) })).status).toBe(200)
      const old = await service.call<Problem>('/transaction', { token: before })
      expect([old.status, old.body.code], `at ${offsetMs} ms`).toEqual([401, 'token_revoked'])
    }
  })
})

async function revoke(shop: Shop, { tokensOnly }: { tokensOnly: boolean }): Promise<void> {
  const by = { actor: 'cli:test' }
  const isDone = await revokeClient(service, { clientId: shop.clientId, tokensOnly, by })
  expect(isDone).toBe(true)
}

async function tokenWith(
  client: { clientId: string; clientSecret: string },
  granted: readonly Scope[],
): Promise<string> {
  const form = { ...credentialsOf(client), scope: granted.join(' ') }
  return String((await requestToken(service, { form })).body.access_token)
}

function credentialsOf({ clientId, clientSecret }: { clientId: string; clientSecret: string }): Record<string, string> {
  return { client_id: clientId, client_secret: clientSecret }
}
