import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeClient, rotateClientSecret } from '../../src/auth/clients.ts'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import { decodePart, hs256, makeJwt } from '../support/forge.ts'
import { providerAudience, startOidcProvider, startServiceWithProvider, type TestProvider } from '../support/oidc.ts'
import { smallestTransaction, type TestService } from '../support/service.ts'
import { basic, encodeForm, expectRefusal, registerShop, requestToken, type TokenRequest } from '../support/token.ts'

/** The provider's clients: two that are registered in Guichê, and one that is not. The provider has their secrets. */
const shop = { clientId: 'shop:1', clientSecret: 'the secret of + shop:1 % & ="' }
const reader = { clientId: 'reader', clientSecret: 'reader-secret', scope: 'transaction.read transaction.write' }
const outsider = { clientId: 'outsider', clientSecret: 'outsider-secret' }

let provider: TestProvider
let service: TestService

beforeAll(async () => {
  provider = await startOidcProvider([shop, reader, outsider])
  service = await startServiceWithProvider({ AUTH_ISSUER: provider.issuer })
  await registerShop(service, { clientId: shop.clientId, scopes: ['transaction.read', 'transaction.write'] })
  await registerShop(service, { clientId: reader.clientId, scopes: ['transaction.read'] })
})
afterAll(async () => {
  await service.stop()
  await provider.stop()
})

type Credentials = { clientId: string; clientSecret: string }
type Problem = { code: string }

function formOf({ clientId, clientSecret }: Credentials, more: Record<string, string> = {}): Record<string, string> {
  return { client_id: clientId, client_secret: clientSecret, grant_type: 'client_credentials', ...more }
}

async function send(request: TokenRequest) {
  return await requestToken(service, request)
}

async function tokenOf(credentials: Credentials, more?: Record<string, string>): Promise<string> {
  const { status, body, text } = await send({ form: formOf(credentials, more) })
  expect(status, text).toBe(200)
  return String(body.access_token)
}

async function list(token: string, at = service): Promise<[number, string | undefined]> {
  const { status, body } = await at.call<Problem>('/transaction', { token })
  return [status, body.code]
}

describe('a token from an external provider', () => {
  it('has the shape of the API', async () => {
    const answer = await send({ form: formOf(shop, { scope: 'transaction.read transaction.write' }) })
    expect(answer.status).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.body).toEqual({
      access_token: expect.any(String),
      expires_in: Math.floor(service.clock.now().getTime() / 1000) + 300,
      refresh_expires_in: 0,
      token_type: 'Bearer',
      'not-before-policy': 0,
      scope: 'transaction.read,transaction.write',
      expires_in_sec: 300,
    })
    const token = String(answer.body.access_token)
    expect(decodePart(token, 0)).toMatchObject({ alg: 'RS256', typ: 'at+jwt' })
    expect(decodeJwt(token)).toMatchObject({ iss: provider.issuer, client_id: shop.clientId, aud: providerAudience })
  })

  it('is issued to POST and GET, form and Basic, and gives access to the business routes', async () => {
    const encoded = basic(encodeForm(shop.clientId), encodeForm(shop.clientSecret))
    for (const request of [
      { form: formOf(shop) },
      { method: 'GET', form: formOf(shop) },
      { headers: encoded },
      { method: 'GET', headers: encoded },
    ]) {
      const { status, body } = await send(request)
      expect(status).toBe(200)
      const created = await service.call('/transaction', {
        token: String(body.access_token),
        body: smallestTransaction(),
      })
      expect(created.status).toBe(201)
      expect(await list(String(body.access_token))).toEqual([200, undefined])
    }
  })

  it('has the scopes of the registered client when it names no known scope', async () => {
    expect(await list(await tokenOf(shop))).toEqual([200, undefined])
    const created = await service.call<Problem>('/transaction', {
      token: await tokenOf(reader),
      body: smallestTransaction(),
    })
    expect([created.status, created.body.code]).toEqual([403, 'insufficient_scope'])
  })

  it('is returned with the scopes that the client has in Guichê', async () => {
    const scopeOf = async (credentials: Credentials, scope?: string) =>
      (await send({ form: formOf(credentials, scope ? { scope } : {}) })).body.scope
    expect(await scopeOf(shop)).toBe('transaction.read,transaction.write')
    expect(await scopeOf(shop, 'transaction.read balance.read')).toBe('transaction.read')
    expect(await scopeOf(reader, 'transaction.read transaction.write')).toBe('transaction.read')
    expect(await scopeOf(outsider)).toBe('')
  })

  it('is narrowed by the scopes that it names, and never widened', async () => {
    const narrow = await tokenOf(shop, { scope: 'transaction.read' })
    expect(await list(narrow)).toEqual([200, undefined])
    const created = await service.call<Problem>('/transaction', { token: narrow, body: smallestTransaction() })
    expect([created.status, created.body.code]).toEqual([403, 'insufficient_scope'])
    // The provider would allow the reader to write; the registered client may not.
    const wide = await tokenOf(reader, { scope: 'transaction.read,transaction.write' })
    const refused = await service.call<Problem>('/transaction', { token: wide, body: smallestTransaction() })
    expect([refused.status, refused.body.code]).toEqual([403, 'insufficient_scope'])
    const withdrawals = await service.call<Problem>('/withdrawal', {
      token: await tokenOf(shop, { scope: 'withdrawal.read' }),
    })
    expect(withdrawals.body.code).toBe('insufficient_scope')
  })

  it('keeps one client apart from another', async () => {
    const own = await service.call<{ id: string }>('/transaction', {
      token: await tokenOf(shop),
      body: smallestTransaction(),
    })
    const foreign = await service.call(`/transaction/${own.body.id}`, { token: await tokenOf(reader) })
    expect(foreign.status).toBe(404)
  })

  it('gives no access to a client that is not registered in Guichê', async () => {
    expect(await list(await tokenOf(outsider))).toEqual([403, 'client_not_registered'])
  })

  it('expires with token_expired', async () => {
    const start = service.clock.now()
    const token = await tokenOf(shop)
    expect(await list(token)).toEqual([200, undefined])
    // The provider uses the machine's clock, which may be far ahead of the service's by now.
    service.clock.set(new Date(Date.now() + 301_000))
    try {
      expect(await list(token)).toEqual([401, 'token_expired'])
    } finally {
      service.clock.set(start)
    }
  })
})

describe('the provider refuses', () => {
  it('a wrong secret and an unknown client alike, with 401', async () => {
    const wrong = await send({ form: formOf({ ...shop, clientSecret: 'wrong' }) })
    const unknown = await send({ form: formOf({ clientId: 'unknown', clientSecret: 'wrong' }) })
    expectRefusal(wrong, 401, 'invalid_client')
    expect(unknown.text).toBe(wrong.text)
    expectRefusal(await send({ headers: basic('unknown', 'wrong') }), 401, 'invalid_client')
  })

  it('a scope, with 400', async () => {
    expectRefusal(await send({ form: formOf(reader, { scope: 'withdrawal.read' }) }), 400, 'invalid_scope')
  })

  it('a malformed request and another grant type, with 400', async () => {
    expectRefusal(await send({ form: { client_id: 'a' } }), 400, 'invalid_request')
    expectRefusal(await send({ form: formOf(shop, { grant_type: 'password' }) }), 400, 'unsupported_grant_type')
  })
})

describe('a token that the provider did not issue for this purpose', () => {
  const inFiveMinutes = () => Math.floor(service.clock.now().getTime() / 1000) + 300
  const claims = () => ({
    iss: provider.issuer,
    client_id: shop.clientId,
    aud: providerAudience,
    iat: inFiveMinutes() - 300,
    exp: inFiveMinutes(),
  })

  it('is refused: garbage, another issuer, another key, a symmetric signature, none at all', async () => {
    const { signJwt } = provider
    expect(await list(await signJwt(claims(), { typ: 'at+jwt' }))).toEqual([200, undefined])
    const other = await startOidcProvider([shop])
    const header = { alg: 'RS256', typ: 'at+jwt', kid: 'the-providers' }
    for (const token of [
      'garbage',
      'a.b.c',
      await signJwt({ ...claims(), iss: 'https://another.example' }),
      await signJwt({ ...claims(), iss: `${provider.issuer}/` }),
      await other.signJwt(claims()),
      makeJwt({ ...header, alg: 'HS256' }, claims(), hs256(shop.clientSecret)),
      makeJwt({ ...header, alg: 'none' }, claims(), () => Buffer.alloc(0)),
    ]) {
      expect(await list(token)).toEqual([401, 'invalid_token'])
    }
    await other.stop()
  })

  it('is refused when it is not an access token: an ID token, a logout token', async () => {
    const { signJwt } = provider
    expect(await list(await signJwt({ ...claims(), typ: 'ID' }, { typ: 'JWT' }))).toEqual([401, 'invalid_token'])
    expect(await list(await signJwt(claims(), { typ: 'logout+jwt' }))).toEqual([401, 'invalid_token'])
  })

  it('gives only the scopes that it names if it is a person’s, from a front end with the same client id', async () => {
    const { signJwt } = provider
    const person = { ...claims(), sub: '5f0b6a3e-person' }
    expect(await list(await signJwt(person))).toEqual([403, 'insufficient_scope'])
    expect(await list(await signJwt({ ...person, scope: 'openid profile email' }))).toEqual([403, 'insufficient_scope'])
    expect(await list(await signJwt({ ...person, scope: 'openid transaction.read' }))).toEqual([200, undefined])
    expect(await list(await signJwt({ ...claims(), sub: shop.clientId }))).toEqual([200, undefined])
    // Without a client_id, the subject does not name the client.
    const { client_id: _client, ...nameless } = claims()
    expect(await list(await signJwt({ ...nameless, sub: shop.clientId }))).toEqual([401, 'invalid_token'])
  })

  it('is accepted for a day at most, however long it claims to be valid', async () => {
    const start = service.clock.now()
    const token = await provider.signJwt({ ...claims(), exp: inFiveMinutes() + 100 * 365 * 86_400 })
    expect(await list(token)).toEqual([200, undefined])
    service.clock.set(new Date(start.getTime() + 86_400_000 + 1_000))
    try {
      expect(await list(token)).toEqual([401, 'token_expired'])
    } finally {
      service.clock.set(start)
    }
  })

  it('is refused without a client, an expiry or a time of issue', async () => {
    const { client_id: _client, ...noClient } = claims()
    const { exp: _exp, ...noExpiry } = claims()
    const { iat: _iat, ...noIssue } = claims()
    for (const some of [noClient, noExpiry, noIssue])
      expect(await list(await provider.signJwt(some))).toEqual([401, 'invalid_token'])
  })

  it('is refused for another audience when AUTH_AUDIENCE names ours', async () => {
    const strict = await startServiceWithProvider({ AUTH_ISSUER: provider.issuer, AUTH_AUDIENCE: providerAudience })
    await registerShop(strict, { clientId: shop.clientId })
    const { signJwt } = provider
    expect(await list(await tokenOf(shop), strict)).toEqual([200, undefined])
    expect(await list(await signJwt({ ...claims(), aud: ['other', providerAudience] }), strict)).toEqual([
      200,
      undefined,
    ])
    expect(await list(await signJwt({ ...claims(), aud: 'another-service' }), strict)).toEqual([401, 'invalid_token'])
    const { aud: _, ...noAudience } = claims()
    expect(await list(await signJwt(noAudience), strict)).toEqual([401, 'invalid_token'])
    // With AUTH_AUDIENCE=any it is not checked.
    expect(await list(await signJwt({ ...claims(), aud: 'another-service' }))).toEqual([200, undefined])
    await strict.stop()
  })
})

describe('a client that is revoked in Guichê', () => {
  it('stays revoked, whatever tokens the provider issues, until a rotation', async () => {
    const deps = { db: service.db, clock: service.clock, key: (await loadSecretKey(service.db, null)).key }
    const token = await tokenOf(reader)
    expect(await list(token)).toEqual([200, undefined])
    await revokeClient(deps, { by: { actor: 'cli:test' }, clientId: reader.clientId, tokensOnly: false })
    expectRefusal(await send({ form: formOf(reader) }), 401, 'invalid_client')
    // Longer than a process caches a client.
    await sleep(550)
    expect(await list(token)).toEqual([401, 'token_revoked'])
    const direct = await fetch(`${provider.issuer}/token`, {
      method: 'POST',
      headers: basic(reader.clientId, reader.clientSecret),
      body: new URLSearchParams({ grant_type: 'client_credentials' }),
    })
    const { access_token: fresh } = (await direct.json()) as { access_token: string }
    expect(await list(fresh)).toEqual([401, 'token_revoked'])

    await rotateClientSecret(deps, { by: { actor: 'cli:test' }, clientId: reader.clientId })
    // The same, and until the next second: a token of the second of the rotation stays revoked.
    await sleep(1_000)
    const again = await send({ form: formOf(reader) })
    expect(again.body['not-before-policy']).toBe(Math.floor(service.clock.now().getTime() / 1000) + 1)
    expect(await list(String(again.body.access_token))).toEqual([200, undefined])
  })
})

describe('when the provider is stopped', () => {
  it('no new token is issued, issued ones stay valid, and an unknown token does not change that', async () => {
    const token = await tokenOf(shop)
    expect(await list(token)).toEqual([200, undefined])
    const other = await provider.signJwt({ ...decodeJwt(token), jti: 'never-seen' }, { typ: 'at+jwt' })
    const unknown = await provider.signJwt({ ...decodeJwt(token) }, { kid: 'made-up' })
    await provider.stop()

    expectRefusal(await send({ form: formOf(shop) }), 502, 'temporarily_unavailable')
    for (let i = 0; i < 3; i += 1) expect(await list(unknown)).toEqual([401, 'invalid_token'])
    expect(await list(token)).toEqual([200, undefined])
    expect(await list(other)).toEqual([200, undefined])

    // A service that never reached the provider cannot verify tokens: that is its own failure, not the client's.
    const young = await startServiceWithProvider({ AUTH_ISSUER: provider.issuer })
    await registerShop(young, { clientId: shop.clientId })
    expect(await list(token, young)).toEqual([500, 'internal_error'])
    expect(await list('garbage', young)).toEqual([401, 'invalid_token'])
    expectRefusal(await requestToken(young, { form: formOf(shop) }), 502, 'temporarily_unavailable')
    await young.stop()
  })
})
