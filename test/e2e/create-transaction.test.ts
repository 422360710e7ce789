import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Db, sql } from '../../src/db/sql.ts'
import { decodeBrCode } from '../../src/pix/brcode.ts'
import { fullTransaction, type Problem, refusedFields, withMember } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { transactionFields as fields } from '../support/transaction-fields.ts'

type Created = { id: string; pixResponse: { uri: string; qrCodeBase64: string; expirationDate: string } }

let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(async () => await service.stop())

const post = async (body: unknown, headers: Record<string, string> = {}) =>
  await service.call<Created>('/transaction', { body, headers })
const postRaw = async (rawBody: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  await service.call<Problem>('/transaction', { rawBody, headers })
const fetchOne = async (id: string) => await service.call(`/transaction/${id}`)

async function countTransactions(db: Db): Promise<number> {
  const rows = await db.query<{ count: number }>(sql`select count(*) as count from transactions`)
  return rows[0]?.count ?? 0
}

describe('a request', () => {
  it.each(fields.filter(({ accepted }) => accepted.length > 0))(
    'may have the valid values of $field',
    async ({ field, accepted }) => {
      for (const value of accepted) {
        const answer = await post(withMember(fullTransaction(), field, value))
        expect(answer.status, `${JSON.stringify(value)}: ${answer.text}`).toBe(201)
      }
    },
  )

  it.each(fields)('may not have invalid values of $field', async ({ field, refused }) => {
    const before = await countTransactions(service.db)
    for (const value of refused) {
      const answer = await post(withMember(fullTransaction(), field, value))
      expect(refusedFields(answer), JSON.stringify(value)).toEqual([field])
    }
    expect(await countTransactions(service.db)).toBe(before)
  })

  it('may have only the required fields', async () => {
    const { status, body } = await post(smallestTransaction())
    expect(status).toBe(201)
    expect((await fetchOne(body.id)).body).toMatchObject({ isInfoProduct: true })
  })

  it.each([
    [{ isInfoProduct: false }, ['address']],
    [{ isInfoProduct: true }, []],
    [{}, []],
  ])('with %j also needs %j', async (more, missing) => {
    const answer = await post(smallestTransaction(more))
    if (missing.length === 0) expect(answer.status).toBe(201)
    else expect(refusedFields(answer)).toEqual(missing)
  })

  it('is refused with all its errors at once', async () => {
    const answer = await post({
      amount: '10',
      isInfoProduct: false,
      customer: { name: '', document: '1', landline: 'x' },
      seller: {},
      items: [
        { title: 'Fine', unitPrice: 1 },
        { title: 'a', unitPrice: 0, quantity: 1.5 },
      ],
      pix: { expirationSeconds: 1 },
    })
    expect(refusedFields(answer).sort()).toEqual([
      'address',
      'amount',
      'customer.document',
      'customer.email',
      'customer.landline',
      'customer.name',
      'items[1].quantity',
      'items[1].title',
      'items[1].unitPrice',
      'paymentMethod',
      'pix.expirationSeconds',
      'seller.document',
      'seller.name',
    ])
  })

  it('is refused without repeating its values', async () => {
    const secret = 'Zq7-secret'
    let body = fullTransaction()
    for (const { field } of fields.filter(({ accepted }) => accepted.length > 0)) {
      if (!/^(customer|seller|items|metadata|pix|address)$/.test(field))
        body = withMember(body, field, `${secret}\u0001`)
    }
    const answers = [
      await post(body),
      await post({ ...body, metadata: { [`${secret}\u0001`]: 1, [`${secret} €`]: `${secret}\u0001` } }),
      await postRaw(`{"amount": ${secret}`),
      await service.call(`/transaction?amount=${secret}&${secret}%20=1`, { body }),
    ]
    for (const answer of answers) {
      expect(answer.status).toBe(422)
      expect(answer.text).not.toContain(secret)
    }
  })

  it('may have unknown fields, which are ignored and not stored', async () => {
    const more = { $gte: 1, unknownMember: 'kept-nowhere' }
    const full = fullTransaction()
    const customer = { ...(full.customer as object), ...more }
    const seller = { ...(full.seller as object), ...more }
    const address = { ...(full.address as object), ...more }
    const items = [{ title: 'One', unitPrice: 1, ...more }]
    const created = await post({ ...full, ...more, customer, seller, address, items, pix: more })
    expect(created.status).toBe(201)
    expect((await fetchOne(created.body.id)).text).not.toContain('unknownMember')
    const rows = await service.db.query<{ row: string }>(
      sql`select row_to_json(transactions)::text as row from transactions where id = ${created.body.id}`,
    )
    expect(rows[0]?.row).not.toContain('unknownMember')
  })

  it.each(['?dryRun=true', '?amount=1', '?__proto__=1', '?=1'])('may not have the query %s', async (query) => {
    const answer = await service.call(`/transaction${query}`, { body: smallestTransaction() })
    expect(refusedFields(answer)).toHaveLength(1)
  })
})

it('tells the PSP what is bought, from whom, and the customer', async () => {
  const detailsOf = async (more: Record<string, unknown>) => {
    const { id } = (await post(smallestTransaction(more))).body
    const [charge] = await service.db.query<{ details: object }>(
      sql`select details from simulator.charges where txid = ${id.replaceAll('-', '')}`,
    )
    return charge?.details
  }
  const { customer, items } = fullTransaction()
  expect(await detailsOf({})).toEqual({
    solicitacaoPagador: 'Sandbox',
    infoAdicionais: [{ nome: 'Loja', valor: 'Sandbox' }],
  })
  expect(await detailsOf({ customer, items })).toMatchObject({
    devedor: { cpf: '52998224725', nome: "João d'Ávila" },
    solicitacaoPagador: 'Sandbox: 2 x Café torrado',
  })
  expect(await detailsOf({ description: 'Pedido 42 ☕', items })).toMatchObject({
    solicitacaoPagador: 'Sandbox: Pedido 42',
  })
})

describe('the answer', () => {
  it('has exactly the fields of the API, and the address of the payment page', async () => {
    const created = await post(smallestTransaction({ amount: 2590, externalCode: 'order-0042' }))
    expect(created.status).toBe(201)
    expect(created.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      externalCode: 'order-0042',
      amount: 2590,
      type: 'TRANSACTION',
      status: 'PIX_QRCODE_GENERATED',
      pixResponse: {
        uri: expect.any(String),
        qrCodeBase64: expect.stringMatching(/^data:image\/png;base64,iVBORw0KGgo/),
        expirationDate: new Date(service.clock.now().getTime() + 1_800_000).toISOString(),
      },
      paymentUrl: expect.stringMatching(new RegExp(`^${service.baseUrl}/pay/[\\w-]{43}$`)),
    })
    expect(decodeBrCode(created.body.pixResponse.uri)).toMatchObject({ ok: true })
    expect(created.headers.get('idempotent-replayed')).toBeNull()
    const location = created.headers.get('location') ?? ''
    expect(location).toBe(`${service.baseUrl}/transaction/${created.body.id}`)
  })

  it('leaves out an externalCode that was not sent', async () => {
    expect(Object.keys((await post(smallestTransaction())).body)).toEqual([
      'id',
      'amount',
      'type',
      'status',
      'pixResponse',
      'paymentUrl',
    ])
  })

  it('has the requested expiry', async () => {
    const { body } = await post(smallestTransaction({ pix: { expirationSeconds: 60 } }))
    expect(body.pixResponse.expirationDate).toBe(new Date(service.clock.now().getTime() + 60_000).toISOString())
  })

  it('shows what was stored: documents without punctuation, quantity 1 by default, birthdate stored but not shown', async () => {
    const body = withMember(fullTransaction(), 'items[0].quantity', undefined)
    const { id } = (await post(body)).body
    const { customer, seller, pix: _, ...others } = body
    const { birthdate: __, document: ___, ...shown } = customer as Record<string, unknown>
    expect((await fetchOne(id)).body).toMatchObject({
      ...others,
      customer: { ...shown, document: { value: '52998224725', type: 'CPF' } },
      seller: { ...(seller as object), document: { value: '11222333000181', type: 'CNPJ' } },
      items: [{ title: 'Café torrado', description: '500 g', unitPrice: 1295, quantity: 1 }],
    })
    const rows = await service.db.query<{ birthdate: string }>(
      sql`select customer ->> 'birthdate' as birthdate from transactions where id = ${id}`,
    )
    expect(rows).toEqual([{ birthdate: '1990-12-31' }])
  })
})
