import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountHolder, historyColumns, insertRow, transactionHistories, updateRow } from '../support/records.ts'
import { addTestClient, fullTransaction, type Problem, refusedFields } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(async () => await service.stop())

type StatusEntry = { status: string; date: string; durationInMilliseconds: number | null }
type Transaction = Record<string, unknown> & { status: string; statusHistory: StatusEntry[] }

async function create(body: Record<string, unknown> = smallestTransaction()): Promise<string> {
  return (await service.call<{ id: string }>('/transaction', { body })).body.id
}

const fetchOne = async <Body = Transaction>(id: string) => await service.call<Body>(`/transaction/${id}`)
const isoDate = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)

/** Fields of every transaction, with their types. */
const always = {
  id: expect.stringMatching(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/),
  acquirer: 'simulator',
  amount: 1000,
  paymentMethod: 'PIX',
  isInfoProduct: true,
  createdAt: isoDate,
  status: expect.any(String),
  statusHistory: expect.any(Array),
  updatedAt: isoDate,
  // Fields that may be null by the API are always present.
  infractionDate: null,
  errorMessage: null,
}
const withCode = {
  pixResponse: {
    uri: expect.stringMatching(/^000201.*6304[0-9A-F]{4}$/),
    qrCodeBase64: expect.stringMatching(/^data:image\/png;base64,[\w+/]+=*$/),
    expirationDate: isoDate,
  },
}
const withoutCode = { pixResponse: { uri: null, qrCodeBase64: null, expirationDate: null } }
const refused = { ...withoutCode, errorMessage: 'No', failureCode: 'refused' }
const paid = {
  amountPaid: 1000,
  amountRefunded: 0,
  amountReturned: 0,
  disputes: [],
  returns: [],
  refunds: [],
  paymentDate: isoDate,
  endToEnd: expect.stringMatching(/^E\d{8}/),
  payer: accountHolder,
  receiver: accountHolder,
  feeAmount: 7,
}

describe('a transaction', () => {
  it.each<[string, object, object]>([
    ['PENDING', { pix_uri: null, pix_expires_at: null }, withoutCode],
    ['PIX_QRCODE_GENERATED', {}, withCode],
    ['PAID', {}, { ...withCode, ...paid }],
    ['PROCESSING_REFUND', {}, { ...withCode, ...paid }],
    ['REFUNDED', {}, { ...withCode, ...paid }],
    ['BLOCKED', { infraction_date: new Date() }, { ...withCode, ...paid, infractionDate: isoDate }],
    ['PROCESSING_INFRACTION', { infraction_date: new Date() }, { ...withCode, ...paid, infractionDate: isoDate }],
    ['INFRACTION', { infraction_date: new Date() }, { ...withCode, ...paid, infractionDate: isoDate }],
    ['FAILED', { pix_uri: null, pix_expires_at: null, error_message: 'No' }, refused],
  ])('that is %s has exactly the fields of the API', async (status, columns, members) => {
    const id = await create()
    const history = transactionHistories[status] ?? []
    const isPaid = history.includes('PAID')
    await updateRow(service.db, 'transactions', id, {
      ...historyColumns(service.clock.now(), history),
      ...columns,
      ...(isPaid && {
        amount_paid: 1000,
        payment_date: service.clock.now(),
        end_to_end: `E12345678202603021500${id.slice(0, 11).replace('-', 'x')}`,
        payer: accountHolder,
        receiver: accountHolder,
        fee_amount: 7,
      }),
    })
    const { status: answered, body } = await fetchOne(id)
    expect(answered).toBe(200)
    expect((await fetchOne(id)).body).toEqual(body)
    expect(body).toEqual({ ...always, ...members })
    expect(body).toMatchObject({ id, status })
    expect(body.statusHistory.map((entry) => entry.status)).toEqual(history)
    expect(body.statusHistory.map((entry) => entry.durationInMilliseconds)).toEqual([
      ...history.slice(1).map(() => 1001),
      null,
    ])
    expect(body.createdAt).toBe(body.statusHistory[0]?.date)
    expect(body.updatedAt).toBe(body.statusHistory.at(-1)?.date)
  })

  it('with every field has them all except the birthdate, in the form of the API', async () => {
    const id = await create(fullTransaction())
    const { customer, seller, address, items, description, metadata, webhookUrl, returnUrl, externalCode } =
      fullTransaction()
    const { birthdate: _, ...shown } = customer as Record<string, unknown>
    expect((await fetchOne(id)).body).toEqual({
      ...always,
      ...withCode,
      amount: 2590,
      isInfoProduct: false,
      customer: { ...shown, document: { value: '52998224725', type: 'CPF' } },
      seller: { ...(seller as object), document: { value: '11222333000181', type: 'CNPJ' } },
      address,
      items,
      description,
      metadata,
      webhookUrl,
      returnUrl,
      externalCode,
    })
  })

  it('with only the required fields of a customer and an item shows no others', async () => {
    const customer = { name: 'Ana', document: '12abc34501de35', email: 'a@b.co' }
    const id = await create(smallestTransaction({ customer, items: [{ title: 'One', unitPrice: 1 }] }))
    expect((await fetchOne(id)).body).toMatchObject({
      customer: { name: 'Ana', document: { value: '12ABC34501DE35', type: 'CNPJ' }, email: 'a@b.co' },
      items: [{ title: 'One', unitPrice: 1, quantity: 1 }],
    })
    const { body } = await fetchOne<{ customer: object; items: object[] }>(id)
    expect(Object.keys(body.customer).sort()).toEqual(['document', 'email', 'name'])
    expect(Object.keys(body.items[0] ?? {})).toEqual(['title', 'unitPrice', 'quantity'])
  })

  it('is found by its id in either case', async () => {
    const id = await create()
    const { status, body } = await fetchOne(id.toUpperCase())
    expect([status, body.id]).toEqual([200, id])
  })
})

describe('a transaction that was fetched before', () => {
  const update = async (id: string, columns: object) => await updateRow(service.db, 'transactions', id, { ...columns })

  it('shows each change at once, also one that is not in its status', async () => {
    const id = await create(fullTransaction())
    const { body } = await fetchOne(id)
    expect(body).toMatchObject({ customer: { name: expect.any(String) }, ...withCode })
    const sooner = new Date(service.clock.now().getTime() + 60_000)
    await update(id, { pix_expires_at: sooner })
    const pixResponse = { ...(body.pixResponse as object), expirationDate: sooner.toISOString() }
    expect((await fetchOne(id)).body).toEqual({ ...body, pixResponse })
    await update(id, { customer: null })
    const { customer: _, ...rest } = body
    expect((await fetchOne(id)).body).toEqual({ ...rest, pixResponse })
  })

  it('shows the refunds of a payment, whose row does not change with them', async () => {
    const id = await create()
    await fetchOne(id)
    await update(id, {
      ...historyColumns(service.clock.now(), transactionHistories.PAID ?? []),
      ...{ amount_paid: 1000, payment_date: service.clock.now(), end_to_end: `E1234567820260302150${id.slice(0, 12)}` },
    })
    expect((await fetchOne(id)).body).toMatchObject({ status: 'PAID', refunds: [], amountRefunded: 0 })
    const { rows } = await service.db.pool.query('select merchant_id from transactions where id = $1', [id])
    await insertRow(service.db, 'refunds', {
      ...{ merchant_id: rows[0].merchant_id, id: randomUUID(), transaction_id: id, amount: 300 },
      ...{ status: 'REFUNDED', created_at: service.clock.now() },
    })
    expect((await fetchOne(id)).body).toMatchObject({ refunds: [{ amount: 300 }], amountRefunded: 300 })
  })
})

describe('a request for a transaction', () => {
  it('is answered 404 for an unknown id, of any UUID version', async () => {
    for (const id of [randomUUID(), '00000000-0000-0000-0000-000000000000', '018f6b1e-7c3a-7abc-8def-0123456789ab']) {
      const answer = await fetchOne<Problem>(id)
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found'])
    }
  })

  it('of another client gets the same answer as for an unknown id', async () => {
    const id = await create()
    // From here on the service caches its JSON, for its own merchant.
    await fetchOne(id)
    const another = await addTestClient(service)
    const [theirs, none] = await Promise.all(
      [id, randomUUID()].map(
        async (one) => await service.call<Problem>(`/transaction/${one}`, { token: another.token }),
      ),
    )
    expect(theirs?.status).toBe(404)
    expect({ ...theirs?.body, requestId: '' }).toEqual({ ...none?.body, requestId: '' })
  })

  it.each([
    '1',
    'x'.repeat(200),
    '%00',
    `${randomUUID()}%0a`,
    `{${randomUUID()}}`,
    randomUUID().replaceAll('-', ''),
    "'%20or%201=1--",
    '..%2f..',
  ])('is refused with an id like %s', async (id) => {
    expect(refusedFields(await fetchOne(id))).toEqual(['id'])
  })

  it('is refused with a query', async () => {
    expect(refusedFields(await fetchOne(`${await create()}?expand=payer`))).toEqual(['expand'])
  })

  it('is refused without a token or the scope', async () => {
    const id = await create()
    const writer = await addTestClient(service, ['transaction.write'])
    expect((await service.call(`/transaction/${id}`, { token: null })).status).toBe(401)
    expect((await service.call(`/transaction/${id}`, { token: writer.token })).status).toBe(403)
  })
})
