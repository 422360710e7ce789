import { request } from 'undici'
import { expect } from 'vitest'
import { type Scope, scopes } from '../../src/auth/scopes.ts'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import { createMerchant } from '../../src/merchant.ts'
import { type Answer, fetchToken, type TestService } from './service.ts'

type Json = Record<string, unknown>

export type Problem = { code: string; detail: string; requestId: string; errors?: { field: string; code: string }[] }

/** A body for `POST /transaction` with every field except `idempotencyKey`. */
export function fullTransaction(): Json {
  return {
    amount: 2590,
    paymentMethod: 'PIX',
    webhookUrl: 'https://shop.example.com/hooks/pix?shop=1',
    returnUrl: 'https://shop.example.com/thanks?order=1',
    externalCode: 'order-0001',
    customer: {
      ip: '203.0.113.7',
      name: 'João d’Ávila',
      document: '529.982.247-25',
      email: 'Joao@example.com',
      landline: '(11) 3333-4444',
      mobilePhone: '(11) 98765-4321',
      birthdate: '1990-12-31',
    },
    seller: { name: 'Loja & Cia.', document: '11.222.333/0001-81' },
    isInfoProduct: false,
    address: {
      zipCode: '01310-100',
      complement: 'Apto 12',
      number: '1578',
      street: 'Avenida Paulista',
      neighborhood: 'Bela Vista',
      city: 'São Paulo',
      state: 'SP',
      country: 'Brasil',
    },
    items: [{ title: 'Café torrado', description: '500 g', unitPrice: 1295, quantity: 2 }],
    description: 'Pedido 42',
    metadata: { cart: 8812, tags: ['a', { b: null }] },
    pix: { expirationSeconds: 3600 },
  }
}

/** The body with another value at a path such as `items[0].unitPrice`. `undefined` removes the field. */
export function withMember(body: Json, path: string, value: unknown): Json {
  const copy = structuredClone(body)
  const names = path.split(/[.[\]]+/).filter(Boolean)
  const last = names.pop() ?? ''
  let parent = copy
  for (const name of names) {
    parent[name] ??= {}
    parent = parent[name] as Json
  }
  parent[last] = value
  return copy
}

/** The fields that a refusal names, each once. Fails if the answer is not a validation error. */
export function refusedFields(answer: Answer<unknown>): string[] {
  const problem = answer.body as Problem
  expect(answer.status, answer.text.slice(0, 300)).toBe(422)
  expect(answer.headers.get('content-type')).toBe('application/problem+json; charset=utf-8')
  expect(problem.code).toBe('validation_failed')
  return [...new Set((problem.errors ?? []).map((error) => error.field))]
}

export type TestClient = { clientId: string; merchantId: string; token: string }

/** A client of a new merchant of the same service. */
export async function addTestClient(service: TestService, granted: readonly Scope[] = scopes): Promise<TestClient> {
  const { key } = await loadSecretKey(service.db, null)
  const client = await service.db.transaction(
    async (tx) =>
      await createMerchant(tx, { clock: service.clock, key }, { name: 'Another shop', scopes: [...granted] }),
  )
  const { clientId, merchantId } = client
  return { clientId, merchantId, token: await fetchToken(service.baseUrl, client) }
}

/** Sends JSON without a token, as a PSP does, and returns the status of the answer. */
export async function post(url: string, body: unknown): Promise<number> {
  const headers = { 'content-type': 'application/json' }
  const answer = await request(url, { method: 'POST', body: JSON.stringify(body), headers })
  await answer.body.dump()
  return answer.statusCode
}
