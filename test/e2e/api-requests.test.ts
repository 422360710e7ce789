import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { revokeClient } from '../../src/auth/clients.ts'
import { sql } from '../../src/db/sql.ts'
import { charge } from '../support/payments.ts'
import { fetchToken, smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'

type Logged = {
  data: {
    requestId: string
    status: number
    method: string
    route: string
    dropped: number
    recordId: string | null
    response: Record<string, unknown> | null
    request: { body?: Record<string, unknown>; query?: Record<string, unknown> } | null
    problem: { code: string; errors: { field: string; code: string }[] } | null
  }[]
  next: string | null
}

const dayMs = 24 * 60 * 60_000

let service: TestService
let developer: Browser
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  developer = await browserOf('developer', await findSandboxMerchant(service))
})
afterAll(async () => await service.stop())

async function browserOf(role: string, merchantId: string | null): Promise<Browser> {
  service.clock.advance(2 * 60_000)
  const email = await inviteUser(service, { role, merchantId })
  return await openBrowser(service, { email, password })
}

async function logged(query = '', who = developer): Promise<Logged> {
  const { status, body, text } = await who.call<Logged>(
    `/dashboard/api/api-request?clientId=${service.sandbox.clientId}${query}`,
  )
  expect(status, text).toBe(200)
  return body
}

async function untilLogged(requestId: string): Promise<Logged['data'][number]> {
  await eventually(async () => (await logged(`&requestId=${requestId}`)).data.length === 1)
  const [found] = (await logged(`&requestId=${requestId}`)).data
  if (!found) throw new Error('not logged')
  return found
}

it('shows an error with its fields and the shape of the request, and stores no value of the caller', async () => {
  // The last one is a CPF that begins with 0. As a number it has no leading 0.
  const secrets = [
    ...['Maria Segredo', 'segredo@example.com', '52998224725', '11987654321', 'Rua Secreta', 'chave-secreta'],
    '1234567890',
  ]
  const [name, email, document, phone, street, key, shortDocument] = secrets
  const { status, body } = await service.call<{ requestId: string }>('/transaction', {
    body: {
      ...smallestTransaction({ amount: 2_590 }),
      type: name,
      customer: { name, email, document, mobilePhone: phone, landline: Number(document), [name ?? '']: 1 },
      address: { street, zipCode: document },
      metadata: { [key ?? '']: name },
      description: { [email ?? '']: [document, [street]] },
      items: [
        { title: name, unitPrice: Number(document), quantity: 0 },
        { title: name, unitPrice: Number(shortDocument), quantity: 1 },
      ],
      [name ?? '']: document,
    },
  })
  expect(status).toBe(422)
  const found = await untilLogged(body.requestId)
  expect(found).toMatchObject({
    status: 422,
    method: 'POST',
    route: '/transaction',
    problem: { code: 'validation_failed' },
  })
  expect(found.problem?.errors.map(({ field }) => field)).toContain('items.0.quantity')
  expect(found.request?.body).toMatchObject({
    amount: 2_590,
    customer: { name: '[text, 13 characters]', '[unknown fields]': 1 },
    metadata: '[object, 1 fields]',
    // `type` is no field of a new transaction.
    '[unknown fields]': 2,
  })
  expect(found.response).toMatchObject({
    ...{ code: 'validation_failed', status: 422, title: 'The request is not valid' },
    detail: expect.stringMatching(/^\[text, \d+ characters\]$/),
    errors: expect.arrayContaining([
      { field: 'address.city', code: 'required', message: 'is required' },
      { field: '[unknown]', code: 'unknown_field', message: expect.stringMatching(/^\[text/) },
    ]),
  })
  expect(JSON.stringify(found.response).length).toBeLessThanOrEqual(2_000)
  await service.call(`/transaction?customerName=${encodeURIComponent(name ?? '')}&customerDocument=${document}&page=0`)
  await service.call(`/transaction/${document}`)
  await eventually(async () => (await logged('&statusClass=4')).data.length === 3)
  const stored = await service.db.query(sql`select row_to_json(api_requests)::text as row from api_requests`)
  const all = JSON.stringify(stored)
  for (const secret of secrets) expect(all).not.toContain(secret)
  // Only the signature of a token is secret, but no part of the token is stored.
  expect(all).not.toMatch(/Bearer|eyJ/)
})

it('filters by result and route, and keeps a sample of the successes', async () => {
  service.clock.advance(60_000)
  for (let count = 0; count < 10; count += 1) await charge(service)
  await eventually(async () => (await logged('&statusClass=2')).data.length >= 6)
  const successes = (await logged('&statusClass=2&route=POST%20/transaction')).data
  expect(successes).toHaveLength(6)
  expect(successes.every(({ status }) => status === 201)).toBe(true)
  expect((await logged('&statusClass=5')).data).toEqual([])
  expect((await logged('&route=/withdrawal')).data).toEqual([])
  expect((await developer.call(`/dashboard/api/api-request?clientId=x&before=1`)).status).toBe(422)
})

it('leads from a create or a fetch to its record, and keeps only id and status of the response', async () => {
  service.clock.advance(60_000)
  const created = await service.call<{ id: string }>('/transaction', { body: smallestTransaction() })
  const found = await untilLogged(created.headers.get('x-request-id') ?? '')
  expect(found).toMatchObject({ status: 201, problem: null, recordId: created.body.id })
  const response = { id: created.body.id, status: 'PIX_QRCODE_GENERATED' }
  expect(found.response).toEqual(response)
  for (const time of ['first', 'second']) {
    const { headers } = await service.call(`/transaction/${created.body.id}`)
    expect((await untilLogged(headers.get('x-request-id') ?? '')).response, time).toEqual(response)
  }
  const list = await service.call('/transaction')
  expect(await untilLogged(list.headers.get('x-request-id') ?? '')).toMatchObject({ response: null, recordId: null })
})

it('keeps the numbers of a list’s filters and pages', async () => {
  for (const [path, query] of [
    ['/transaction', { page: 0, perPage: 7, minAmount: 1_000, maxAmount: 2_590 }],
    ['/withdrawal', { page: 0, perPage: 7, minAmount: 1_000, maxAmount: 2_590 }],
    ['/event', { limit: 7, wait: 3, page: 0 }],
  ] as const) {
    const text = Object.entries(query).map(([name, value]) => `${name}=${value}`)
    const { status, body } = await service.call<{ requestId: string }>(`${path}?${text.join('&')}`)
    expect(status).toBe(422)
    expect((await untilLogged(body.requestId)).request?.query).toEqual(query)
  }
})

it('bounds the document of an error that lists very many fields', async () => {
  const items = Array.from({ length: 60 }, () => ({ title: 1, unitPrice: -1, quantity: 0 }))
  const { body } = await service.call<{ requestId: string }>('/transaction', { body: { amount: 1, items } })
  const { response, problem } = await untilLogged(body.requestId)
  expect(problem?.errors.length).toBeGreaterThan(10)
  expect(JSON.stringify(response).length).toBeLessThanOrEqual(2_000)
})

it('counts what a client sends above its quota, and reports it in the next entry', async () => {
  service.clock.advance(60_000)
  for (let count = 0; count < 305; count += 1) await service.call('/transaction/not-an-id')
  service.clock.advance(60_000)
  const { body } = await service.call<{ requestId: string }>('/transaction/not-an-id')
  expect(await untilLogged(body.requestId)).toMatchObject({ dropped: 5 })
  const metrics = await fetch(`${service.baseUrl}/metrics`)
  expect(await metrics.text()).toMatch(/guiche_api_requests_dropped_total 5/)
  const first = await logged()
  expect(first.data).toHaveLength(50)
  const second = await logged(`&before=${first.next}`)
  expect(second.data).toHaveLength(50)
  expect(new Set([...first.data, ...second.data].map(({ requestId }) => requestId)).size).toBe(100)
})

it('shows another merchant nothing, and the operator everything', async () => {
  const admin = await browserOf('admin', null)
  expect((await logged('', admin)).data.length).toBeGreaterThan(0)
  const { clientId } = (
    await admin.call('/dashboard/api/client', { body: { name: 'Another shop', scopes: ['webhook.read'] } })
  ).body
  const [row] = await service.db.query<{ id: string }>(
    sql`select merchant_id as id from clients where client_id = ${String(clientId)}`,
  )
  const outsider = await browserOf('owner', row?.id ?? '')
  expect((await logged('', outsider)).data).toEqual([])
  const finance = await browserOf('finance', await findSandboxMerchant(service))
  expect((await finance.call(`/dashboard/api/api-request?clientId=x`)).status).toBe(403)
})

describe('a refused token', () => {
  it('is logged for its client when it lacks a scope, has expired or was revoked', async () => {
    const admin = await browserOf('admin', null)
    const { body: shop } = await admin.call('/dashboard/api/client', {
      body: { name: 'Reader', scopes: ['transaction.read'] },
    })
    const clientId = String(shop.clientId)
    const client = { clientId, clientSecret: String(shop.clientSecret) }
    const token = await fetchToken(service.baseUrl, client)
    let reader = admin
    const ofShop = async () =>
      (await reader.call<Logged>(`/dashboard/api/api-request?clientId=${clientId}&statusClass=4`)).body.data
    // No record of the address is looked up for a token that is refused.
    const [id, body] = [randomUUID(), smallestTransaction()]
    expect((await service.call(`/transaction/${id}/refund`, { token, body })).status).toBe(403)
    await eventually(async () => (await ofShop()).length === 1)
    expect((await ofShop())[0]).toMatchObject({
      ...{ status: 403, route: '/transaction/:id/refund', recordId: null, request: { body: '[not read]' } },
      response: { code: 'insufficient_scope', detail: expect.stringContaining('refund.write') },
    })
    service.clock.advance(dayMs)
    // Their sessions have ended too.
    reader = await browserOf('admin', null)
    developer = await browserOf('developer', await findSandboxMerchant(service))
    expect((await service.call('/transaction', { token })).status).toBe(401)
    await eventually(async () => (await ofShop()).length === 2)
    const renewed = await fetchToken(service.baseUrl, client)
    service.clock.advance(2_000)
    await revokeClient(service, { clientId, tokensOnly: true, by: { actor: 'cli:test' } })
    await eventually(async () => (await service.call('/transaction', { token: renewed })).status === 401)
    await eventually(async () => (await ofShop()).length === 3)
    const codes = (await ofShop()).map(({ response }) => response?.code)
    expect(codes).toEqual(['token_revoked', 'token_expired', 'insufficient_scope'])
  })

  it('is attributed to nobody if it is missing, is no token or has a signature that is not ours', async () => {
    const count = async () =>
      (await service.db.query<{ count: number }>(sql`select count(*) as count from api_requests`))[0]?.count
    const token = await fetchToken(service.baseUrl, service.sandbox)
    const [header, payload, signature = ''] = token.split('.')
    const expired = Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(payload ?? '', 'base64url').toString()), exp: 1 }),
    ).toString('base64url')
    const forged = [header, expired, signature].join('.')
    const before = await count()
    for (const one of [forged, 'no-token', null]) {
      expect((await service.call('/transaction', { token: one })).status).toBe(401)
    }
    // Rows are written in the order of the requests.
    const { body } = await service.call<{ requestId: string }>('/transaction/not-an-id', { token })
    await eventually(async () => {
      const rows = await service.db.query(sql`select 1 from api_requests where request_id = ${body.requestId}`)
      return rows.length === 1
    })
    expect(await count()).toBe(Number(before) + 1)
  })
})

it('forgets requests after seven days, not before', async () => {
  const requestNow = async () => {
    const token = await fetchToken(service.baseUrl, service.sandbox)
    const { body } = await service.call<{ requestId: string }>('/transaction/not-an-id', { token })
    await eventually(async () => (await listIds()).includes(body.requestId))
    return body.requestId
  }
  const listIds = async () => {
    const rows = await service.db.query<{ id: string }>(sql`select request_id as id from api_requests`)
    return rows.map(({ id }) => id)
  }
  const old = await requestNow()
  service.clock.advance(7 * dayMs - 60_000)
  const recent = await requestNow()
  await service.runJob('retention.forget')
  expect(await listIds()).toContain(old)
  service.clock.advance(2 * 60_000)
  await service.runJob('retention.forget')
  expect(await listIds()).toEqual([recent])
})
