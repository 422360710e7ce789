import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { scopes } from '../../src/auth/scopes.ts'
import { type FakeProvider, json, startFakeProvider, startServiceWithProvider } from '../support/oidc.ts'
import type { TestService } from '../support/service.ts'
import { expectRefusal, registerShop, requestToken } from '../support/token.ts'

// No real provider can be made to do these things, so this one is a fake: an HTTP server with fixed answers. The last
// group imitates Keycloak, as its documentation and its answers show it.

const form = { client_id: 'shop', client_secret: 'the-shops-secret', grant_type: 'client_credentials' }
const configurationPath = '/.well-known/openid-configuration'

let provider: FakeProvider
let service: TestService
let keys: { kid: string; privateKey: CryptoKey; jwk: JWK }[]

beforeAll(async () => {
  provider = await startFakeProvider()
  keys = await Promise.all(['first', 'second'].map(makeKey))
})
afterAll(async () => await provider.stop())

beforeEach(async () => {
  provider.answers.clear()
  provider.answers.set(configurationPath, json(200, configuration()))
  provider.answers.set('/jwks', json(200, { keys: [keys[0]?.jwk] }))
  provider.answers.set('/token', json(200, { access_token: 'a', token_type: 'Bearer', expires_in: 60 }))
  // A new service has cached nothing of the provider. It caches successful reads, but no failures.
  service = await startServiceWithProvider({ AUTH_ISSUER: provider.issuer })
  await registerShop(service, { clientId: 'shop' })
})
afterEach(async () => await service.stop())

function configuration(more: Record<string, unknown> = {}): Record<string, unknown> {
  const { issuer } = provider
  return { issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks`, ...more }
}

async function makeKey(kid: string) {
  const { privateKey, publicKey } = await generateKeyPair('RS256')
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' } }
}

async function makeToken(index: 0 | 1, claims: JWTPayload = {}, lifetimeSeconds = 300): Promise<string> {
  const key = keys[index]
  if (!key) throw new Error('there is no such key')
  const now = Math.floor(service.clock.now().getTime() / 1000)
  return await new SignJWT({ iss: provider.issuer, azp: 'shop', iat: now, exp: now + lifetimeSeconds, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: key.kid, typ: 'JWT' })
    .sign(key.privateKey)
}

async function list(token: string): Promise<[number, string | undefined]> {
  const { status, body } = await service.call<{ code?: string }>('/transaction', { token })
  return [status, body.code]
}

const send =
  (status: number, type: string, body: string): Parameters<FakeProvider['answers']['set']>[1] =>
  (_, response) =>
    response.writeHead(status, { 'content-type': type }).end(body)

describe('502 is answered at the token endpoint, and 500 at a business route,', () => {
  it('for a configuration that cannot be read or that names another issuer', async () => {
    const answers = [
      send(200, 'text/html', '<html>Welcome</html>'),
      send(200, 'application/json', '{"issuer":'),
      send(500, 'application/json', JSON.stringify(configuration())),
      json(200, []),
      json(200, null),
      json(200, {}),
      json(200, configuration({ issuer: 'https://another.example' })),
      json(200, configuration({ issuer: undefined })),
      json(200, configuration({ token_endpoint: '/token' })),
      json(200, configuration({ token_endpoint: 'file:///etc/passwd' })),
      json(200, configuration({ jwks_uri: 7 })),
      json(200, configuration({ more: 'x'.repeat(300_000) })),
    ]
    for (const [index, answer] of answers.entries()) {
      provider.answers.set(configurationPath, answer)
      expectRefusal(await requestToken(service, { form }), 502, 'temporarily_unavailable')
      expect(await list(await makeToken(0)), `answer ${index}`).toEqual([500, 'internal_error'])
    }
    // It was the provider's failure: once that is over, no restart is needed.
    provider.answers.set(configurationPath, json(200, configuration()))
    expect((await requestToken(service, { form })).status).toBe(200)
    expect(await list(await makeToken(0))).toEqual([200, undefined])
  })

  it('for keys that cannot be read', async () => {
    for (const answer of [
      send(200, 'text/html', '<html>'),
      json(503, { keys: [] }),
      json(200, {}),
      json(200, { keys: 'none' }),
      json(200, { keys: [null] }),
      json(200, { keys: [], more: 'x'.repeat(300_000) }),
    ]) {
      provider.answers.set('/jwks', answer)
      expect(await list(await makeToken(0))).toEqual([500, 'internal_error'])
    }
  })

  it('for an answer that is neither a token nor a refusal', async () => {
    const grant = { access_token: 'a', token_type: 'Bearer', expires_in: 60 }
    const { access_token: _token, ...noToken } = grant
    const { expires_in: _lifetime, ...noLifetime } = grant
    for (const [index, answer] of [
      send(200, 'text/html', '<html>Log in</html>'),
      send(200, 'application/json', '{"access_token":'),
      send(200, 'application/json', ''),
      json(200, noToken),
      json(200, noLifetime),
      json(200, { ...grant, expires_in: 0 }),
      json(200, { ...grant, expires_in: -5 }),
      json(200, { ...grant, expires_in: 1e300 }),
      json(200, { ...grant, expires_in: 'soon' }),
      json(200, { ...grant, access_token: { a: 1 } }),
      json(200, { ...grant, more: 'x'.repeat(300_000) }),
      json(404, { error: 'Realm does not exist' }),
      json(500, { error: 'server_error' }),
      json(503, { error: 'temporarily_unavailable' }),
      send(401, 'text/html', '<html>A proxy says no</html>'),
    ].entries()) {
      provider.answers.set('/token', answer)
      const refused = await requestToken(service, { form })
      expect(refused.status, `answer ${index}`).toBe(502)
      expectRefusal(refused, 502, 'temporarily_unavailable')
      expect(refused.body.error_description).toMatch(/did not answer, or its answer cannot be used/)
    }
  })

  it('for an endless answer, without storing all of it', async () => {
    let sentBytes = 0
    provider.answers.set('/token', (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(16_384))) sentBytes += 16_384
      }
      response.on('drain', more)
      more()
    })
    expectRefusal(await requestToken(service, { form }), 502, 'temporarily_unavailable')
    expect(sentBytes).toBeLessThan(20_000_000)
  })

  it('for a redirect, which is not followed: the secret is only for the configured address', async () => {
    const elsewhere = await startFakeProvider()
    for (const status of [301, 302, 307, 308]) {
      provider.answers.set(
        '/token',
        json(status, { access_token: 'a', expires_in: 60 }, { location: `${elsewhere.issuer}/token` }),
      )
      expectRefusal(await requestToken(service, { form }), 502, 'temporarily_unavailable')
    }
    expect(elsewhere.requests).toEqual([])
    await elsewhere.stop()
  })

  it('for a provider that hangs, while other requests are served', async () => {
    expect(await list(await makeToken(0))).toEqual([200, undefined])
    provider.answers.set('/token', () => {})
    const hanging = requestToken(service, { form })
    expect(await list(await makeToken(0))).toEqual([200, undefined])
    expectRefusal(await hanging, 502, 'temporarily_unavailable')
  })
})

describe('a refusal by the provider', () => {
  it('is passed on as an OAuth error, whatever else it contains', async () => {
    for (const [status, error, expectedStatus, expected] of [
      [400, 'invalid_client', 401, 'invalid_client'],
      [401, 'unauthorized_client', 401, 'invalid_client'],
      [400, 'unauthorized_client', 401, 'invalid_client'],
      [401, 'invalid_client', 401, 'invalid_client'],
      [400, 'invalid_scope', 400, 'invalid_scope'],
      [403, 'access_denied', 400, 'access_denied'],
      [400, '<script>', 400, 'invalid_request'],
      [400, undefined, 400, 'invalid_request'],
      [429, 'slow_down', 429, 'slow_down'],
    ] as const) {
      provider.answers.set('/token', json(status, { error, error_description: 'inner "words" of the provider' }))
      const answer = await requestToken(service, { form })
      expectRefusal(answer, expectedStatus, expected)
      expect(answer.text).not.toContain('inner')
      expect(answer.headers['retry-after']).toBe(status === 429 ? '10' : undefined)
    }
  })
})

describe("the provider's keys", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('may change: a token with a new key is valid within five seconds, an old one until its key is withdrawn', async () => {
    expect(await list(await makeToken(0))).toEqual([200, undefined])
    expect(await list(await makeToken(1))).toEqual([401, 'invalid_token'])
    provider.answers.set('/jwks', json(200, { keys: keys.map(({ jwk }) => jwk) }))
    vi.advanceTimersByTime(5_001)
    expect(await list(await makeToken(1))).toEqual([200, undefined])
    expect(await list(await makeToken(0))).toEqual([200, undefined])

    // Withdrawn also for a token that was used before and claims to be valid for years.
    const old = await makeToken(0, {}, 1e9)
    expect(await list(old)).toEqual([200, undefined])
    provider.answers.set('/jwks', json(200, { keys: [keys[1]?.jwk] }))
    vi.advanceTimersByTime(10 * 60_000 + 1)
    expect(await list(old)).toEqual([401, 'invalid_token'])
  })

  it('are not fetched again for each token with a made-up key id', async () => {
    expect(await list(await makeToken(0))).toEqual([200, undefined])
    const before = provider.requests.length
    for (let i = 0; i < 20; i += 1) expect(await list(await makeToken(1))).toEqual([401, 'invalid_token'])
    expect(provider.requests.length - before).toBeLessThanOrEqual(1)
  })
})

describe('Keycloak', () => {
  it('is supported: its grant, its client in azp, its token type in typ, its service account', async () => {
    const keycloakClaims = {
      aud: 'account',
      sub: '0b1c7c1e-6d1f-4f8e-9c55-2f1e1a7a7e11',
      typ: 'Bearer',
      azp: 'shop',
      acr: '1',
      clientHost: '127.0.0.1',
      preferred_username: 'service-account-shop',
      nbf: Math.floor(service.clock.now().getTime() / 1000) + 2,
    }
    const grant = (access_token: string, scope: string) =>
      json(200, {
        access_token,
        expires_in: 300,
        refresh_expires_in: 0,
        token_type: 'Bearer',
        'not-before-policy': 1_700_000_000,
        scope,
      })
    const token = await makeToken(0, keycloakClaims)
    provider.answers.set('/token', grant(token, ''))
    const { status, body } = await requestToken(service, { form })
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: token,
      expires_in: Math.floor(service.clock.now().getTime() / 1000) + 300,
      refresh_expires_in: 0,
      token_type: 'Bearer',
      'not-before-policy': 1_700_000_000,
      scope: scopes.join(','),
      expires_in_sec: 300,
    })
    // Its clock is a little ahead of the service's: nbf.
    expect(await list(token)).toEqual([200, undefined])
    expect(await list(await makeToken(0, { typ: 'ID', azp: 'shop' }))).toEqual([401, 'invalid_token'])

    // Its default scopes are unknown here: such a token gives no access, and the answer says so.
    const foreign = await makeToken(0, { ...keycloakClaims, scope: 'profile email' })
    provider.answers.set('/token', grant(foreign, 'profile email'))
    expect((await requestToken(service, { form })).body.scope).toBe('')
    expect(await list(foreign)).toEqual([403, 'insufficient_scope'])
  })

  it('limits a token to the scopes in scope or scp, in a text or a list', async () => {
    expect(await list(await makeToken(0, { scope: 'profile transaction.read' }))).toEqual([200, undefined])
    for (const claims of [{ scope: 'profile balance.read' }, { scp: ['balance.read'] }, { scp: 'balance.read' }])
      expect(await list(await makeToken(0, claims))).toEqual([403, 'insufficient_scope'])
  })
})
