import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeClient } from '../../src/auth/clients.ts'
import { scopes } from '../../src/auth/scopes.ts'
import { startTestService, type TestService } from '../support/service.ts'
import {
  basic,
  encodeForm,
  expectRefusal,
  registerShop,
  requestToken,
  type Shop,
  type TokenAnswer,
  type TokenRequest,
} from '../support/token.ts'

let service: TestService
/** A client with only two scopes. */
let shop: Shop

beforeAll(async () => {
  service = await startTestService()
  shop = await registerShop(service, { scopes: ['transaction.read', 'transaction.write'] })
})
afterAll(async () => await service.stop())

const send = async (request: TokenRequest) => await requestToken(service, request)

function credentials(more: Record<string, string> = {}): Record<string, string> {
  return { client_id: shop.clientId, client_secret: shop.clientSecret, grant_type: 'client_credentials', ...more }
}

describe('a token is issued', () => {
  it('with every field of the API, and nothing else', async () => {
    const answer = await send({ form: credentials() })
    expect(answer.status).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers.pragma).toBe('no-cache')
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.body).toEqual({
      access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      expires_in: service.clock.now().getTime() / 1000 + 900,
      refresh_expires_in: 0,
      token_type: 'Bearer',
      'not-before-policy': 0,
      scope: 'transaction.read,transaction.write',
      expires_in_sec: 900,
    })
  })

  it('to POST and to GET, with the form in the body', async () => {
    for (const method of ['POST', 'GET']) expect((await send({ method, form: credentials() })).status).toBe(200)
  })

  it('for credentials in HTTP Basic, by POST with and without a form, and by GET without a body', async () => {
    const headers = basic(shop.clientId, shop.clientSecret)
    expect((await send({ headers, form: { grant_type: 'client_credentials' } })).status).toBe(200)
    expect((await send({ headers })).status).toBe(200)
    expect((await send({ headers, method: 'GET' })).status).toBe(200)
    expect((await send({ headers, form: { client_id: shop.clientId } })).status).toBe(200)
  })

  it('for credentials of unusual characters, which HTTP Basic has form-encoded', async () => {
    const odd = await registerShop(service, { clientId: 'shop: 100%+é@example.com/ü' })
    expect((await send({ headers: basic(encodeForm(odd.clientId), encodeForm(odd.clientSecret)) })).status).toBe(200)
    expect(
      (
        await send({
          form: { client_id: odd.clientId, client_secret: odd.clientSecret, grant_type: 'client_credentials' },
        })
      ).status,
    ).toBe(200)
  })

  it('without a grant_type, and with a charset on the media type', async () => {
    const { grant_type: _, ...form } = credentials()
    expect((await send({ form })).status).toBe(200)
    for (const type of ['application/x-www-form-urlencoded; charset=UTF-8', 'Application/X-WWW-Form-URLEncoded'])
      for (const method of ['POST', 'GET'])
        expect((await send({ method, form, headers: { 'content-type': type } })).status).toBe(200)
  })

  it('with all scopes of the client for an empty scope', async () => {
    for (const scope of ['', ' ', ',', ' , '])
      expect((await send({ form: credentials({ scope }) })).body.scope).toBe('transaction.read,transaction.write')
  })

  it('with the scopes that are requested, separated by spaces or commas, and each once', async () => {
    const scopeOf = async (scope: string) => (await send({ form: credentials({ scope }) })).body.scope
    expect(await scopeOf('transaction.read')).toBe('transaction.read')
    expect(await scopeOf('transaction.write transaction.read')).toBe('transaction.write,transaction.read')
    expect(await scopeOf('transaction.write,transaction.read')).toBe('transaction.write,transaction.read')
    expect(await scopeOf(' transaction.read, transaction.read ')).toBe('transaction.read')
  })

  it('that is valid for the configured time', async () => {
    const short = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '60' } })
    const { clientId, clientSecret } = short.sandbox
    const { body } = await requestToken(short, { form: { client_id: clientId, client_secret: clientSecret } })
    expect(body).toMatchObject({ expires_in_sec: 60, expires_in: short.clock.now().getTime() / 1000 + 60 })
    expect(body.scope).toBe(scopes.join(','))
    await short.stop()
  })
})

describe('the token', () => {
  it('is a JWT as in RFC 9068, verified with the published keys', async () => {
    const { body } = await send({ form: credentials({ scope: 'transaction.read' }) })
    const token = String(body.access_token)
    const keys = createRemoteJWKSet(new URL(`${service.baseUrl}/.well-known/jwks.json`))
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      algorithms: ['ES256'],
      typ: 'at+jwt',
      issuer: service.baseUrl,
      audience: 'guiche',
      subject: shop.clientId,
      currentDate: service.clock.now(),
    })
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
    const now = service.clock.now().getTime() / 1000
    expect(payload).toEqual({
      iss: service.baseUrl,
      sub: shop.clientId,
      aud: 'guiche',
      client_id: shop.clientId,
      scope: 'transaction.read',
      iat: now,
      exp: now + 900,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
  })

  it('differs at each request', async () => {
    const [one, other] = await Promise.all([send({ form: credentials() }), send({ form: credentials() })])
    expect(one.body.access_token).not.toBe(other.body.access_token)
  })

  it('is signed with a key of which only the public half is published', async () => {
    const { body, headers } = await send({ method: 'GET', path: '/.well-known/jwks.json' })
    expect(headers['cache-control']).toBe('public, max-age=60')
    const { keys } = body as { keys: Record<string, string>[] }
    expect(keys).toHaveLength(1)
    expect(Object.keys(keys[0] ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    expect(keys[0]).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
    expect(keys[0]?.kid).toBe(decodeProtectedHeader(service.token).kid)
  })

  it('is refused after each revocation, also a second one in the same second, or by a machine whose clock is behind', async () => {
    const { db, clock } = service
    const behind = { db, clock: { now: () => new Date(clock.now().getTime() - 10_000) } }
    const { clientId, clientSecret } = await registerShop(service)
    for (const deps of [service, service, behind]) {
      const { body } = await send({ form: { client_id: clientId, client_secret: clientSecret } })
      const list = async () => await service.call('/transaction', { token: String(body.access_token) })
      expect((await list()).status).toBe(200)
      await revokeClient(deps, { clientId, tokensOnly: true, by: { actor: 'cli:test' } })
      // Longer than a process caches a client.
      await sleep(550)
      expect(await list()).toMatchObject({ status: 401, body: { code: 'token_revoked' } })
    }
  })
})

describe('400 is answered', () => {
  it('to a field that is missing or empty, and says which', async () => {
    const { client_id: _id, ...noId } = credentials()
    const { client_secret: _secret, ...noSecret } = credentials()
    for (const [form, missing] of [
      [noId, 'client_id'],
      [noSecret, 'client_secret'],
      [credentials({ client_secret: '' }), 'client_secret'],
      [{ grant_type: 'client_credentials' }, 'client_id, client_secret'],
      ['', 'client_id, client_secret'],
    ] as const) {
      for (const method of ['POST', 'GET']) {
        const answer = await send({ method, form })
        expectRefusal(answer, 400, 'invalid_request')
        expect(answer.body.error_description).toBe(`Missing: ${missing}.`)
      }
    }
    expectRefusal(await send({}), 400, 'invalid_request')
    expectRefusal(await send({ method: 'GET' }), 400, 'invalid_request')
  })

  it('to a field that is repeated, even with the same value', async () => {
    const form = new URLSearchParams(credentials()).toString()
    for (const name of ['client_id', 'client_secret', 'grant_type']) {
      const answer = await send({ form: `${form}&${name}=${encodeURIComponent(credentials()[name] ?? '')}` })
      expectRefusal(answer, 400, 'invalid_request')
      expect(answer.body.error_description).toContain(name)
    }
    const named = await send({ form: `${form}&<script>=1&<script>=2` })
    expectRefusal(named, 400, 'invalid_request')
    expect(named.text).not.toContain('<')
  })

  it('to another grant_type', async () => {
    for (const grant_type of ['password', 'authorization_code', 'refresh_token', 'CLIENT_CREDENTIALS', ''])
      expectRefusal(await send({ form: credentials({ grant_type }) }), 400, 'unsupported_grant_type')
  })

  it('to a scope that is unknown or not granted', async () => {
    for (const scope of ['withdrawal.write', 'transaction.read withdrawal.read', 'admin', 'TRANSACTION.READ', '*'])
      expectRefusal(await send({ form: credentials({ scope }) }), 400, 'invalid_scope')
  })

  it('to another media type, and to none', async () => {
    const form = JSON.stringify(credentials())
    for (const method of ['POST', 'GET']) {
      for (const type of ['application/json', 'text/plain', 'multipart/form-data; boundary=x', 'nonsense', ';', '']) {
        expectRefusal(await send({ method, form, headers: { 'content-type': type } }), 400, 'invalid_request')
      }
    }
    expectRefusal(
      await sendRaw(`POST /auth/token HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\na=b`),
      400,
      'invalid_request',
    )
  })

  it('to credentials in the URL, even valid ones, since logs may already have them', async () => {
    const query = new URLSearchParams(credentials()).toString()
    for (const method of ['POST', 'GET']) {
      const answer = await send({ method, path: `/auth/token?${query}` })
      expectRefusal(answer, 400, 'invalid_request')
      expect(answer.text).not.toContain(shop.clientSecret)
      expectRefusal(
        await send({ method, path: '/auth/token?client_id=x', form: credentials() }),
        400,
        'invalid_request',
      )
    }
  })

  it('to HTTP Basic together with credentials in the form, and to two identifiers', async () => {
    const headers = basic(shop.clientId, shop.clientSecret)
    expectRefusal(await send({ headers, form: credentials() }), 400, 'invalid_request')
    expectRefusal(await send({ headers, form: { client_id: 'another' } }), 400, 'invalid_request')
  })

  it('to an Authorization header that is not valid HTTP Basic', async () => {
    for (const authorization of [
      'Bearer x',
      'Basic',
      'Basic !!!',
      'Basic ====',
      `Basic ${Buffer.from('no colon').toString('base64')}`,
      `Basic ${Buffer.from('stray:%percent').toString('base64')}`,
      `Basic ${Buffer.from('%ff:x').toString('base64')}`,
      `Basic ${Buffer.from(':').toString('base64')}`,
      `Basic ${Buffer.from('a:').toString('base64')}`,
      `Basic ${Buffer.from('a\0b:c').toString('base64')}`,
    ])
      expectRefusal(await send({ headers: { authorization } }), 400, 'invalid_request')
  })

  it('to a form that is not well-formed', async () => {
    for (const form of [
      'client_id=%ZZ&client_secret=%E0%A4%A',
      'client_id=a&client_secret=%',
      'client_id=%ff&client_secret=a',
    ]) {
      for (const method of ['POST', 'GET']) expectRefusal(await send({ method, form }), 400, 'invalid_request')
    }
  })

  it('to credentials that no client could have', async () => {
    for (const odd of ['a\0b', 'a\nb', '\u009f', 'x'.repeat(513)]) {
      expectRefusal(await send({ form: credentials({ client_id: odd }) }), 400, 'invalid_request')
      expectRefusal(await send({ form: credentials({ client_secret: odd }) }), 400, 'invalid_request')
    }
  })
})

describe('401 is answered', () => {
  it('in the same way to an unknown client and to a wrong secret', async () => {
    const unknown = await send({ form: credentials({ client_id: 'gc_000000000000000000000000' }) })
    const wrong = await send({ form: credentials({ client_secret: 'a'.repeat(43) }) })
    expectRefusal(unknown, 401, 'invalid_client')
    expect(wrong.text).toBe(unknown.text)
    expect(wrong.headers['www-authenticate']).toBeUndefined()
    const withoutChanging = ({ date: _date, 'x-request-id': _id, ...headers }: TokenAnswer['headers']) => headers
    expect(withoutChanging(wrong.headers)).toEqual(withoutChanging(unknown.headers))
  })

  it('with a challenge to HTTP Basic', async () => {
    for (const headers of [basic('gc_unknown', 'x'), basic(shop.clientId, 'x')]) {
      const answer = await send({ headers })
      expectRefusal(answer, 401, 'invalid_client')
      expect(answer.headers['www-authenticate']).toBe('Basic realm="guiche", charset="UTF-8"')
    }
  })

  it("to another client's secret, to a part of the secret, and to a longer one", async () => {
    const { clientSecret } = shop
    for (const client_secret of [
      service.sandbox.clientSecret,
      clientSecret.slice(0, -1),
      `${clientSecret}x`,
      ` ${clientSecret}`,
    ])
      expectRefusal(await send({ form: credentials({ client_secret }) }), 401, 'invalid_client')
  })
})

describe('405 and 413', () => {
  it('names the allowed methods when another one is used', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']) {
      const answer = await send({ method })
      expect(answer.status).toBe(405)
      expect(answer.headers.allow?.split(', ').sort()).toEqual(['GET', 'POST'])
    }
  })

  it('refuses a form of more than 8 KiB before all of it has arrived', async () => {
    for (const method of ['POST', 'GET']) {
      expectRefusal(await send({ method, form: `client_id=${'x'.repeat(8 * 1024)}` }), 413, 'invalid_request')
      expectRefusal(await send({ method, form: `client_id=${'x'.repeat(60 * 1024)}` }), 413, 'invalid_request')
    }
    const head = 'Host: x\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked'
    const chunk = `${(9000).toString(16)}\r\n${'x'.repeat(9000)}\r\n`
    for (const method of ['POST', 'GET'])
      expectRefusal(await sendRaw(`${method} /auth/token HTTP/1.1\r\n${head}\r\n\r\n${chunk}`), 413, 'invalid_request')
  })
})

describe('malicious input', () => {
  it('is never answered with 5xx', async () => {
    const forms = [
      '&'.repeat(8000),
      'a&'.repeat(2000),
      Array.from({ length: 1500 }, (_, index) => `${index.toString(36)}=`).join('&'),
      '%',
      '%00=%00&client_id=%00&client_secret=%00',
      'client_id=%ff%fe&client_secret=%c0%80',
      'client_id[]=a&client_secret[$ne]=b',
      `client_id=' or 1=1 --&client_secret=x`,
      'client_id=__proto__&client_secret=constructor',
      'client_id=%F0%9F%92%B8&client_secret=%ED%A0%80',
      `client_id=${shop.clientId}&client_secret=${shop.clientSecret}&scope=${'transaction.read,'.repeat(400)}`,
      `client_id=${shop.clientId}&client_secret=${shop.clientSecret}&scope=%00`,
      '\u0000\u0001\u0002',
      '=',
      '===&&&===',
    ]
    for (const form of forms) {
      for (const method of ['POST', 'GET']) {
        const answer = await send({ method, form })
        expect(answer.status, `${method} ${form.slice(0, 40)}`).toBeLessThan(500)
        expect(answer.headers['cache-control']).toBe('no-store')
      }
    }
  })

  it('affects no other client when it disconnects', async () => {
    const head = 'Host: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 500'
    for (const method of ['POST', 'GET']) await breakOff(`${method} /auth/token HTTP/1.1\r\n${head}\r\n\r\nclient_id=`)
    expect((await send({ form: credentials() })).status).toBe(200)
  })
})

/** Sends bytes and reads the answer to them. */
async function sendRaw(bytes: string): Promise<TokenAnswer> {
  const { hostname, port } = new URL(service.baseUrl)
  const text = await new Promise<string>((resolve, reject) => {
    let received = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.on('error', reject)
    socket.on('close', () => resolve(received))
    socket.on('data', (chunk) => {
      received += chunk.toString('utf8')
      if (/\r\n\r\n\{.*\}$/s.test(received)) socket.destroy()
    })
  })
  const [head = '', body = '{}'] = text.split('\r\n\r\n')
  const headers = Object.fromEntries(
    head
      .split('\r\n')
      .slice(1)
      .map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  )
  return { status: Number(head.split(' ')[1]), headers, text: body, body: JSON.parse(body) }
}

/** Sends bytes and disconnects. */
async function breakOff(bytes: string): Promise<void> {
  const { hostname, port } = new URL(service.baseUrl)
  await new Promise<void>((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(bytes)
      setTimeout(() => socket.resetAndDestroy(), 50)
    })
    socket.on('error', reject)
    socket.on('close', () => setTimeout(resolve, 50))
  })
}
