import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../../simulator/receiver-account.ts'
import { refusedReturnAmount, rejectedReturnAmount, slowReturnAmount } from '../../../simulator/returns.ts'
import { hasBacenOpenApi, loadBacenOpenApi, type OpenApi } from '../../../test/support/bacen-openapi.ts'
import { createEmptyDatabase, type TestDatabase } from '../../../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../../../test/support/simulator.ts'
import { cents } from '../../lib/money.ts'
import type { Acquirer } from '../acquirer.ts'
import { createBacenAcquirer } from './adapter.ts'
import type { HttpRequest, HttpResponse } from './http.ts'

// The Central Bank's OpenAPI document is next to the repository, not in it.
describe.skipIf(!hasBacenOpenApi)('against the Central Bank’s OpenAPI', () => {
  let database: TestDatabase
  let simulator: TestSimulator
  let acquirer: Acquirer
  let openApi: OpenApi
  const exchanges: { request: HttpRequest; answer: HttpResponse }[] = []
  const payloads: unknown[] = []

  beforeAll(async () => {
    openApi = loadBacenOpenApi()
    database = await createEmptyDatabase()
    simulator = await testSimulator(database.db.pool)
    acquirer = createBacenAcquirer({
      name: 'simulator',
      send: async (request) => {
        const answer = await simulator.handle(request)
        exchanges.push({ request, answer })
        return answer
      },
      credentials: simulatorCredentials,
      chave: receiverKey,
      receiver: receiverAccount,
      isRemote: false,
    })
    await everyOperation()
  })
  afterAll(async () => {
    await simulator.close()
    await database.drop()
  })

  async function everyOperation() {
    await acquirer.registerCallback('https://shop.example/callbacks/secret')
    // The request fits the document, and only its address is refused. Then the adapter reads the registered address.
    await expect(acquirer.registerCallback('ftp://shop.example')).rejects.toThrow()
    for (const [index, amount] of [1, 10, 999, 10_000_000].entries()) {
      const payer = {
        name: 'Padaria São João Ltda.',
        document:
          index % 2
            ? ({ value: '52998224725', type: 'CPF' } as const)
            : ({ value: '12ABC34501DE35', type: 'CNPJ' } as const),
      }
      const items = Array.from({ length: 60 }, () => ({ title: 'Pão “francês” ☕', quantity: 3 }))
      const texts = { merchantName: 'Loja & Cia.', sellerName: 'Torrefação', description: null, items, payer }
      const input = { txid: txidOf(index + 1), amount: cents(amount), expiresInSeconds: 60 + index, texts }
      const created = await acquirer.createCharge(input)
      await acquirer.createCharge(input)
      if (created.outcome !== 'created') throw new Error(created.reason)
      const paid = await simulator.pay({ uri: created.charge.uri })
      if (!paid.ok) throw new Error(paid.message)
      await acquirer.findPayment(paid.endToEndId)
      const refund = { endToEndId: paid.endToEndId, refundId: txidOf(100 + index), amount: cents(1) }
      await acquirer.refund(refund)
      await acquirer.findRefund(refund)
      await acquirer.refund({ ...refund, refundId: txidOf(200 + index), amount: cents(amount) })
      await simulator.returnUnannounced({ endToEndId: paid.endToEndId, ...(amount > 1 && { amount: cents(1) }) })
      await acquirer.findPayment(paid.endToEndId)
      await acquirer.findCharge(input.txid)
    }
    await refundsThatEndBadly()
    await acquirer.createCharge({ txid: txidOf(1), amount: cents(2), expiresInSeconds: 60 })
    await acquirer.createCharge({ txid: txidOf(9), amount: cents(4_220_422), expiresInSeconds: 60 })
    await acquirer.createCharge({ txid: txidOf(10), amount: cents(2), expiresInSeconds: 60 })
    for (const txid of [txidOf(10), txidOf(10), txidOf(8)]) await acquirer.removeCharge(txid)
    await acquirer.findCharge(txidOf(10))
    await acquirer.findCharge(txidOf(8))
    await acquirer.findPayment(`E${'0'.repeat(31)}`)
    const to = simulator.clock.now()
    for await (const payment of acquirer.listPayments({ from: new Date(to.getTime() - 1234), to }))
      payloads.push(payment)
    for await (const _ of acquirer.listPayments({ from: new Date(to.getTime() - 1234), to, withReturns: true }));
  }

  async function refundsThatEndBadly() {
    const created = await acquirer.createCharge({ txid: txidOf(300), amount: cents(5_000_000), expiresInSeconds: 60 })
    if (created.outcome !== 'created') throw new Error(created.reason)
    const paid = await simulator.pay({ uri: created.charge.uri })
    if (!paid.ok) throw new Error(paid.message)
    for (const [index, amount] of [rejectedReturnAmount, slowReturnAmount, refusedReturnAmount].entries()) {
      const refund = { endToEndId: paid.endToEndId, refundId: txidOf(301 + index), amount }
      await acquirer.refund(refund)
      await acquirer.findRefund(refund)
    }
    await acquirer.findPayment(paid.endToEndId)
  }

  const pathOf = (request: HttpRequest) =>
    request.path
      .replace(/^\/pix\/[^/]+\/devolucao\/.*/, '/pix/{e2eid}/devolucao/{id}')
      .replace(/^\/(cob|pix|webhook)\/[^{].*/, (_, name) => templates[name] ?? '')
  const templates: Record<string, string> = { cob: '/cob/{txid}', pix: '/pix/{e2eid}', webhook: '/webhook/{chave}' }
  const typed = (name: string, value: string) => {
    if (name === 'devolucaoPresente') return value === 'true'
    return name.startsWith('paginacao.') ? Number(value) : value
  }

  it('every request that the adapter sends fits', () => {
    const requests = exchanges.filter(({ request }) => !request.isToken).map(({ request }) => request)
    expect(new Set(requests.map((request) => `${request.method} ${pathOf(request)}`))).toEqual(
      new Set([
        'PUT /webhook/{chave}',
        'GET /webhook/{chave}',
        'PUT /cob/{txid}',
        'PATCH /cob/{txid}',
        'GET /cob/{txid}',
        'GET /pix/{e2eid}',
        'GET /pix',
        'PUT /pix/{e2eid}/devolucao/{id}',
        'GET /pix/{e2eid}/devolucao/{id}',
      ]),
    )
    for (const request of requests) {
      const path = pathOf(request)
      const method = request.method.toLowerCase()
      const parameters = openApi.parameters(method, path)
      const inPath = path
        .split('/')
        .flatMap((part, index) => (part.startsWith('{') ? [[part.slice(1, -1), index] as const] : []))
      const given = {
        ...request.query,
        ...Object.fromEntries(
          inPath.map(([name, index]) => [name, decodeURIComponent(request.path.split('/')[index] ?? '')]),
        ),
      }
      for (const [name, value] of Object.entries(given)) {
        const validate = parameters[name]
        expect(validate, `${name} is a parameter of ${path}`).toBeDefined()
        validate?.(typed(name, value))
        expect(validate?.errors ?? [], `${name}=${value}`).toEqual([])
      }
      const validateBody = openApi.requestBody(method, path)
      expect(request.body !== undefined).toBe(validateBody !== null)
      if (!validateBody || request.body === undefined) continue
      expect(request.headers['content-type']).toBe('application/json')
      validateBody(JSON.parse(request.body))
      expect(validateBody.errors ?? [], request.body).toEqual([])
    }
  })

  it('every answer of the simulator fits', async () => {
    // Five payments, their returns, and one that was not carried out; the slow one has no callback yet.
    await expect.poll(() => simulator.callbacks).toHaveLength(5 + 7 + 1)
    expect(payloads).toHaveLength(5)
    const schemas: Record<string, string> = {
      'PUT /cob/{txid}': 'CobGerada',
      'PATCH /cob/{txid}': 'CobGerada',
      'GET /cob/{txid}': 'CobCompleta',
      'GET /pix/{e2eid}': 'Pix',
      'GET /pix': 'PixConsultados',
      'PUT /pix/{e2eid}/devolucao/{id}': 'Devolucao',
      'GET /pix/{e2eid}/devolucao/{id}': 'Devolucao',
    }
    for (const { request, answer } of exchanges) {
      const name = answer.status >= 400 ? 'Problema' : schemas[`${request.method} ${pathOf(request)}`]
      if (!name) continue
      const validate = openApi.schema(name)
      validate(JSON.parse(answer.body))
      expect(validate.errors ?? [], answer.body).toEqual([])
    }
    const validate = openApi.requestBody('put', '/webhook/{chave}')
    validate?.({ webhookUrl: 'not an address' })
    expect(validate?.errors, 'a fault is seen').toHaveLength(1)
    const pix = openApi.schema('Pix')
    const entries = simulator.callbacks.flatMap(({ body }) => Object(body).pix)
    for (const entry of entries) expect(pix(entry)).toBe(true)
  })
})
