import { createRemoteJWKSet, jwtVerify } from 'jose'
import jsQR from 'jsqr'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { PNG } from 'pngjs'
import { type AccessToken, ClientCredentials } from 'simple-oauth2'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import { rotateWebhookSecret } from '../../src/webhooks/secrets.ts'
import { manualClock } from '../support/clock.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { registerShop, type Shop } from '../support/token.ts'
import { type Received, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'

// Third-party libraries from the registry. They use the real time, so the service begins with it.

let service: TestService
let shop: Shop
let issuer: oauth.AuthorizationServer

beforeAll(async () => {
  service = await startTestService({ clock: manualClock(new Date()) })
  shop = await registerShop(service)
  // From the metadata at /.well-known/oauth-authorization-server.
  const identifier = new URL(service.baseUrl)
  const answer = await oauth.discoveryRequest(identifier, { algorithm: 'oauth2', [oauth.allowInsecureRequests]: true })
  issuer = await oauth.processDiscoveryResponse(identifier, answer)
})
afterAll(async () => await service.stop())

async function expectGood(token: string): Promise<void> {
  expect((await service.call('/transaction', { token })).status).toBe(200)
}

describe('oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true }

  it('gets a token with client_secret_post and client_secret_basic, and uses it', async () => {
    const client = { client_id: shop.clientId }
    for (const authentication of [oauth.ClientSecretPost, oauth.ClientSecretBasic]) {
      const response = await oauth.clientCredentialsGrantRequest(
        issuer,
        client,
        authentication(shop.clientSecret),
        new URLSearchParams({ scope: 'transaction.read withdrawal.read' }),
        insecure,
      )
      const granted = await oauth.processClientCredentialsResponse(issuer, client, response)
      expect(granted).toMatchObject({ token_type: 'bearer', scope: 'transaction.read,withdrawal.read' })
      const url = new URL(`${service.baseUrl}/transaction`)
      const used = await oauth.protectedResourceRequest(granted.access_token, 'GET', url, undefined, null, insecure)
      expect(used.status).toBe(200)
    }
  })

  it('understands a refusal at the token endpoint and at a business route', async () => {
    const client = { client_id: shop.clientId }
    const send = async (authentication: oauth.ClientAuth, parameters: Record<string, string>) =>
      await oauth.processClientCredentialsResponse(
        issuer,
        client,
        await oauth.clientCredentialsGrantRequest(issuer, client, authentication, parameters, insecure),
      )
    await expect(send(oauth.ClientSecretPost('wrong'), {})).rejects.toMatchObject({
      error: 'invalid_client',
      status: 401,
    })
    const basic = send(oauth.ClientSecretBasic('wrong'), {})
    await expect(basic).rejects.toMatchObject({ code: oauth.WWW_AUTHENTICATE_CHALLENGE })
    const scope = send(oauth.ClientSecretPost(shop.clientSecret), { scope: 'nonsense' })
    await expect(scope).rejects.toMatchObject({ error: 'invalid_scope', status: 400 })

    const url = new URL(`${service.baseUrl}/transaction`)
    const used = oauth.protectedResourceRequest('garbage', 'GET', url, undefined, null, insecure)
    await expect(used).rejects.toMatchObject({
      code: oauth.WWW_AUTHENTICATE_CHALLENGE,
      cause: [{ scheme: 'bearer', parameters: { error: 'invalid_token' } }],
    })
  })

  it('accepts the token as one of RFC 9068', async () => {
    const request = new Request(`${service.baseUrl}/transaction`, {
      headers: { authorization: `Bearer ${service.token}` },
    })
    const claims = await oauth.validateJwtAccessToken(issuer, request, 'guiche', insecure)
    expect(claims).toMatchObject({ client_id: service.sandbox.clientId, iss: service.baseUrl })
  })
})

describe('openid-client', () => {
  it('gets a token with client_secret_post and client_secret_basic, and uses it', async () => {
    for (const authentication of [openid.ClientSecretPost, openid.ClientSecretBasic]) {
      const configuration = new openid.Configuration(issuer, shop.clientId, {}, authentication(shop.clientSecret))
      openid.allowInsecureRequests(configuration)
      const granted = await openid.clientCredentialsGrant(configuration, { scope: 'transaction.read' })
      expect(granted.scope).toBe('transaction.read')
      const url = new URL(`${service.baseUrl}/transaction`)
      expect((await openid.fetchProtectedResource(configuration, granted.access_token, url, 'GET')).status).toBe(200)
    }
  })
})

describe('simple-oauth2', () => {
  it('gets a token from the body and from the header, and uses it', async () => {
    for (const authorizationMethod of ['body', 'header'] as const) {
      const client = new ClientCredentials({
        client: { id: shop.clientId, secret: shop.clientSecret },
        auth: { tokenHost: service.baseUrl, tokenPath: '/auth/token' },
        options: { authorizationMethod },
      })
      const granted: AccessToken = await client.getToken({ scope: ['transaction.read', 'withdrawal.read'] })
      expect(granted.token).toMatchObject({ token_type: 'Bearer', scope: 'transaction.read,withdrawal.read' })
      await expectGood(String(granted.token.access_token))
    }
  })

  it('reads expires_in as a lifetime and does not renew in time, and then gets token_expired', async () => {
    const client = new ClientCredentials({
      client: { id: shop.clientId, secret: shop.clientSecret },
      auth: { tokenHost: service.baseUrl, tokenPath: '/auth/token' },
    })
    const granted = await client.getToken({})
    const start = service.clock.now()
    service.clock.advance(901_000)
    expect(granted.expired()).toBe(false)
    const answer = await service.call<{ code: string }>('/transaction', { token: String(granted.token.access_token) })
    expect([answer.status, answer.body.code]).toEqual([401, 'token_expired'])
    service.clock.set(start)
  })
})

describe('jose', () => {
  it('verifies a token by the published keys', async () => {
    const keys = createRemoteJWKSet(new URL(`${service.baseUrl}/.well-known/jwks.json`))
    const { payload } = await jwtVerify(service.token, keys, {
      issuer: service.baseUrl,
      audience: 'guiche',
      typ: 'at+jwt',
      algorithms: ['ES256'],
    })
    expect(payload.client_id).toBe(service.sandbox.clientId)
  })
})

describe('jsQR and pngjs', () => {
  it('read the image of a transaction back to exactly its copy-and-paste code', async () => {
    for (let i = 0; i < 5; i += 1) {
      const { body } = await service.call<{ pixResponse: { uri: string; qrCodeBase64: string } }>('/transaction', {
        body: smallestTransaction({ amount: 1 + i * 999_999 }),
      })
      const { uri, qrCodeBase64 } = body.pixResponse
      expect(qrCodeBase64).toMatch(/^data:image\/png;base64,[A-Za-z0-9+/]+=*$/)
      const { data, width, height } = PNG.sync.read(Buffer.from(qrCodeBase64.split(',')[1] ?? '', 'base64'))
      const read = jsQR.default(new Uint8ClampedArray(data), width, height)
      expect(read?.data).toBe(uri)
    }
  })
})

describe('standardwebhooks', () => {
  let receiver: TestReceiver

  beforeAll(async () => {
    receiver = await startTestReceiver()
  })
  afterAll(async () => await receiver.stop())

  it('verifies a delivery, also during a rotation of the secret, with the former one and with the new one', async () => {
    const { webhookSecret } = service.sandbox
    expect(verifiers(await deliver(), { webhookSecret })).toEqual(['webhookSecret'])

    service.clock.advance(1000)
    const next = await rotate(webhookSecret)
    expect(verifiers(await deliver(), { webhookSecret, next })).toEqual(['webhookSecret', 'next'])

    service.clock.advance(24 * 60 * 60 * 1000)
    expect(verifiers(await deliver(), { webhookSecret, next })).toEqual(['next'])
  })

  it('refuses a delivery that was changed', async () => {
    const delivery = await deliver()
    const key = service.sandbox.webhookSecret
    expect(verifiers({ ...delivery, body: `${delivery.body} ` }, { key })).toEqual([])
  })

  /** Creates a transaction and waits for its webhook. */
  async function deliver(): Promise<Received> {
    const before = receiver.received.length
    const token = await freshToken()
    const created = await service.call('/transaction', {
      token,
      body: smallestTransaction({ webhookUrl: receiver.url }),
    })
    expect(created.status).toBe(201)
    await receiver.until(before + 1)
    const last = receiver.received.at(-1)
    if (!last) throw new Error('nothing was received')
    return last
  }

  async function freshToken(): Promise<string> {
    const form = { client_id: service.sandbox.clientId, client_secret: service.sandbox.clientSecret }
    const answer = await fetch(`${service.baseUrl}/auth/token`, { method: 'POST', body: new URLSearchParams(form) })
    return ((await answer.json()) as { access_token: string }).access_token
  }

  async function rotate(former: string): Promise<string> {
    const { key } = await loadSecretKey(service.db, null)
    const { rows } = await service.db.pool.query('select merchant_id from clients where client_id = $1', [
      service.sandbox.clientId,
    ])
    const { secret: next } = await rotateWebhookSecret(service.db, {
      by: { actor: 'cli:test' },
      key,
      merchantId: rows[0].merchant_id,
      now: service.clock.now(),
    })
    expect(next).not.toBe(former)
    return next
  }

  /** The names of the secrets with which the signature of the delivery is valid, at the time of the service's clock. */
  function verifiers({ headers, body }: Received, secrets: Record<string, string>): string[] {
    const clock = vi.spyOn(Date, 'now').mockReturnValue(service.clock.now().getTime())
    const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    try {
      return Object.keys(secrets).filter((name) => accepts(secrets[name] ?? '', body, flat))
    } finally {
      clock.mockRestore()
    }
  }

  function accepts(secret: string, body: string, headers: Record<string, string>): boolean {
    try {
      return Boolean(new Webhook(secret).verify(body, headers))
    } catch {
      return false
    }
  }
})
