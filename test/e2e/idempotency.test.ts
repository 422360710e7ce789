import { request } from 'undici'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Db, sql } from '../../src/db/sql.ts'
import { addTestClient, fullTransaction, type Problem, refusedFields, withMember } from '../support/requests.ts'
import { type Answer, smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'

type Created = Problem & { id: string; transactionId: string; status: string; pixResponse: { uri: string } }

let service: TestService
/** Another process of the same service. */
let other: TestService

beforeAll(async () => {
  service = await startTestService()
  // As processes of one installation: the link to the payment page begins with BASE_URL.
  const environment = { BASE_URL: service.baseUrl }
  other = await startTestService({ database: service, clock: service.clock, environment })
})
afterAll(async () => {
  await other.stop()
  await service.stop()
})

let keys = 0
const newKey = () => `order-key-${++keys}`
const post = async (body: unknown, headers: Record<string, string> = {}) =>
  await service.call<Created>('/transaction', { body, headers })
const keyed = (idempotencyKey: string, more: Record<string, unknown> = {}) =>
  smallestTransaction({ idempotencyKey, ...more })
const isReplay = (answer: Answer<unknown>) => answer.headers.get('idempotent-replayed') === 'true'

/** The effects of requests: transactions, charges at the acquirer, events. */
async function count(db: Db) {
  const rows = await db.query<{ transactions: number; charges: number; events: number }>(sql`
    select (select count(*) from transactions) as transactions, (select count(*) from simulator.charges) as charges,
      (select count(*) from events) as events`)
  return rows[0] ?? { transactions: 0, charges: 0, events: 0 }
}

async function countNew(work: () => Promise<void>) {
  const before = await count(service.db)
  await work()
  const after = await count(service.db)
  return {
    transactions: after.transactions - before.transactions,
    charges: after.charges - before.charges,
    events: after.events - before.events,
  }
}

/** Asserts that a second request gets the first answer, byte for byte. */
function expectReplay(first: Answer<Created>, second: Answer<Created>): void {
  expect([first.status, second.status]).toEqual([201, 201])
  expect([isReplay(first), isReplay(second)]).toEqual([false, true])
  expect(second.text).toBe(first.text)
}

/** The fields that the refusal of a reused key names. */
function differingFields(answer: Answer<Created>): string[] {
  expect([answer.status, answer.body.code], answer.text.slice(0, 300)).toEqual([422, 'idempotency_key_reused'])
  return (answer.body.errors ?? []).map((error) => error.field).sort()
}

describe('the same key and content', () => {
  it('give the first answer again and have no further effect', async () => {
    const body = { ...fullTransaction(), idempotencyKey: newKey() }
    const made = await countNew(async () => {
      const first = await post(body)
      service.clock.advance(1_000)
      expectReplay(first, await post(body))
      expectReplay(first, await other.call<Created>('/transaction', { body, token: service.token }))
    })
    expect(made).toEqual({ transactions: 1, charges: 1, events: 1 })
  })

  it('give it again after the transaction was paid', async () => {
    const body = keyed(newKey())
    const first = await post(body)
    await service.call('/sandbox/payment', { body: { uri: first.body.pixResponse.uri } })
    await eventually(async () => (await service.call(`/transaction/${first.body.id}`)).body.status === 'PAID')
    expectReplay(first, await post(body))
  })

  it('give it again after the code has expired', async () => {
    const body = keyed(newKey(), { pix: { expirationSeconds: 60 } })
    const first = await post(body)
    service.clock.advance(6 * 60_000)
    await service.runJob('transactions.check')
    await eventually(async () => (await service.call(`/transaction/${first.body.id}`)).body.status === 'FAILED')
    expectReplay(first, await post(body))
  })

  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'a document formatted and bare',
      { seller: { name: 'Loja', document: '11.222.333/0001-81' } },
      { seller: { name: 'Loja', document: '11222333000181' } },
    ],
    [
      'an alphanumeric CNPJ in either case',
      { seller: { name: 'Loja', document: '12abc34501de35' } },
      { seller: { name: 'Loja', document: '12.ABC.345/01DE-35' } },
    ],
    [
      'a quantity of 1 and none',
      { items: [{ title: 'One', unitPrice: 1, quantity: 1 }] },
      { items: [{ title: 'One', unitPrice: 1 }] },
    ],
    [
      'a postal code and phones spelt otherwise',
      { customer: customerWith('(11) 3333-4444', '+55 11 98765-4321'), address: addressAt('01310-100') },
      { customer: customerWith('1133334444', '11987654321'), address: addressAt('01310100') },
    ],
    ['isInfoProduct true and none', { isInfoProduct: true }, {}],
    ['an expiry of 1800 and none', { pix: { expirationSeconds: 1800 } }, {}],
    [
      'metadata in another order',
      { metadata: { a: 1, b: [{ c: 2, d: 3 }] } },
      { metadata: { b: [{ d: 3, c: 2 }], a: 1 } },
    ],
    ['a member that is not known and none', { unknown: 1 }, {}],
  ])('are the same with %s', async (_, one, same) => {
    const idempotencyKey = newKey()
    expectReplay(await post(keyed(idempotencyKey, one)), await post(keyed(idempotencyKey, same)))
  })

  it('are the same with a number written otherwise', async () => {
    const text = JSON.stringify(keyed(newKey(), { metadata: { a: 1500, b: 0 } }))
    const headers = { 'content-type': 'application/json' }
    const send = async (rawBody: string) => await service.call<Created>('/transaction', { rawBody, headers })
    expectReplay(await send(text), await send(text.replace('1500', '1.5e3').replace('"b":0', '"b":-0')))
  })

  it('mean the same in the header and in the body', async () => {
    const key = newKey()
    const first = await post(smallestTransaction(), { 'idempotency-key': key })
    expectReplay(first, await post(keyed(key)))
    expectReplay(first, await post(keyed(key), { 'Idempotency-Key': key }))
    expectReplay(first, await post(smallestTransaction(), { 'idempotency-key': key }))
    // A structured string, as in the IETF draft.
    expectReplay(first, await post(smallestTransaction(), { 'idempotency-key': `"${key}"` }))
    expectReplay(first, await post(keyed(key), { 'idempotency-key': `"${key}"` }))
    const quoted = await post(keyed('a "quoted" \\ key'))
    expectReplay(quoted, await post(smallestTransaction(), { 'idempotency-key': '"a \\"quoted\\" \\\\ key"' }))
    const longest = await post(keyed('"'.repeat(255)))
    expectReplay(longest, await post(smallestTransaction(), { 'idempotency-key': `"${'\\"'.repeat(255)}"` }))
  })

  it.each([
    ['is not that of the body', 'order-key-of-another', 'order-key-of-this', 'Idempotency-Key'],
    ['differs in its case', 'ORDER-KEY-CASE', 'order-key-case', 'Idempotency-Key'],
    ['is not ASCII', 'order-key-é', undefined, 'Idempotency-Key'],
    ['has a tab', 'order-key\tof-this', undefined, 'Idempotency-Key'],
    ['is too short', '1234567', undefined, 'idempotencyKey'],
    ['is too long', 'x'.repeat(256), undefined, 'idempotencyKey'],
    ['is too long in quotes', `"${'\\"'.repeat(256)}"`, undefined, 'idempotencyKey'],
    ['is empty', '', undefined, 'idempotencyKey'],
  ])('are refused when the header %s', async (_, header, idempotencyKey, field) => {
    const answer = await post(smallestTransaction({ idempotencyKey }), { 'idempotency-key': header })
    expect(refusedFields(answer)).toEqual([field])
  })

  it.each([
    ['the same key', ['order-key-sent-twice', 'order-key-sent-twice']],
    ['two keys', ['order-key-first', 'order-key-second']],
  ])('are refused when the header is sent twice, with %s', async (_, sent) => {
    const made = await countNew(async () => {
      const answer = await request(`${service.baseUrl}/transaction`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${service.token}`,
          'content-type': 'application/json',
          'idempotency-key': sent,
        },
        body: JSON.stringify(smallestTransaction()),
      })
      expect(answer.statusCode).toBe(422)
      expect(await answer.body.json()).toMatchObject({
        code: 'validation_failed',
        errors: [{ field: 'Idempotency-Key', code: 'duplicate' }],
      })
    })
    expect(made).toEqual({ transactions: 0, charges: 0, events: 0 })
  })

  it('are refused together with all errors of body and query', async () => {
    const answer = await service.call('/transaction?page=1', {
      body: smallestTransaction({ amount: 0 }),
      headers: { 'idempotency-key': '1234567' },
    })
    expect(refusedFields(answer).sort()).toEqual(['amount', 'idempotencyKey', 'page'])
  })

  it('may be as long as the API allows, in any script', async () => {
    for (const key of ['12345678', 'x'.repeat(255), '🔑'.repeat(255), 'chave única ção']) {
      expectReplay(await post(keyed(key)), await post(keyed(key)))
    }
  })

  it('are separate requests when the keys differ only in case, a space or a letter of another alphabet', async () => {
    const made = await countNew(async () => {
      for (const key of ['Byte-For-Byte', 'byte-for-byte', 'byte-for-byte ', 'bytе-for-byte']) {
        const answer = await post(keyed(key))
        expect([answer.status, isReplay(answer)]).toEqual([201, false])
      }
    })
    expect(made).toEqual({ transactions: 4, charges: 4, events: 4 })
  })

  it('are two requests for two clients', async () => {
    const body = keyed(newKey())
    const another = await addTestClient(service)
    const [mine, theirs] = [
      await post(body),
      await service.call<Created>('/transaction', { body, token: another.token }),
    ]
    expect([mine.status, theirs.status, isReplay(theirs)]).toEqual([201, 201, false])
    expect(theirs.body.id).not.toBe(mine.body.id)
    expect((await service.call(`/transaction/${mine.body.id}`, { token: another.token })).status).toBe(404)
  })
})

it('two equal requests without a key create two transactions', async () => {
  const made = await countNew(async () => {
    for (let sent = 0; sent < 2; sent++) expect(isReplay(await post(smallestTransaction()))).toBe(false)
  })
  expect(made).toEqual({ transactions: 2, charges: 2, events: 2 })
})

describe('the same key and different content', () => {
  it.each<[string, unknown, string[]]>([
    ['amount', 2591, ['amount']],
    ['webhookUrl', undefined, ['webhookUrl']],
    ['externalCode', 'order-0002', ['externalCode']],
    ['customer', undefined, ['customer']],
    ['customer.email', 'joana@example.com', ['customer.email']],
    ['customer.document', '12345678909', ['customer.document']],
    ['customer.birthdate', '1991-12-31', ['customer.birthdate']],
    ['customer.landline', undefined, ['customer.landline']],
    ['seller.document', '52998224725', ['seller.document']],
    ['isInfoProduct', undefined, ['isInfoProduct']],
    ['address.complement', undefined, ['address.complement']],
    ['items[0].unitPrice', 1296, ['items']],
    ['items', [], ['items']],
    ['metadata.cart', '8812', ['metadata.cart']],
    ['metadata', undefined, ['metadata']],
    ['pix.expirationSeconds', undefined, ['pix.expirationSeconds']],
  ])('is refused when %s becomes %j', async (path, value, fields) => {
    const body = { ...fullTransaction(), idempotencyKey: newKey() }
    expect((await post(body)).status).toBe(201)
    const made = await countNew(async () => {
      expect(differingFields(await post(withMember(body, path, value)))).toEqual(fields)
      expect(isReplay(await post(body))).toBe(true)
    })
    // The charge of the refused request is never shown to anyone.
    expect(made).toEqual({ transactions: 0, charges: 1, events: 0 })
  })

  it('is refused with the names of all differing fields, without the stored values', async () => {
    const idempotencyKey = newKey()
    const body = { ...fullTransaction(), idempotencyKey }
    await post(body)
    const answer = await post(keyed(idempotencyKey, { amount: 1, externalCode: 'order-0002' }))
    expect(differingFields(answer)).toEqual([
      'address',
      'amount',
      'customer',
      'description',
      'externalCode',
      'isInfoProduct',
      'items',
      'metadata',
      'pix.expirationSeconds',
      'returnUrl',
      'seller',
      'webhookUrl',
    ])
    for (const stored of ['2590', 'order-000', '52998224725', 'joao', 'João', 'Paulista', '8812', 'example.com']) {
      expect(answer.text).not.toContain(stored)
    }
  })
})

describe('many concurrent requests over two processes', () => {
  const send = async (index: number, body: unknown) =>
    await (index % 2 ? service : other).call<Created>('/transaction', { body, token: service.token })

  it('are one transaction, one charge, one event and one answer', async () => {
    const body = { ...fullTransaction(), idempotencyKey: newKey() }
    let answers: Answer<Created>[] = []
    const made = await countNew(async () => {
      answers = await Promise.all(Array.from({ length: 200 }, async (_, index) => await send(index, body)))
    })
    expect(made).toEqual({ transactions: 1, charges: 1, events: 1 })
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(201)
    expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1)
  })

  it('with two contents: one wins, and all answers agree which', async () => {
    const idempotencyKey = newKey()
    const amounts = [1000, 2000]
    let answers: Answer<Created>[] = []
    const made = await countNew(async () => {
      answers = await Promise.all(
        Array.from(
          { length: 100 },
          async (_, index) => await send(index >> 1, keyed(idempotencyKey, { amount: amounts[index % 2] })),
        ),
      )
    })
    expect(made).toEqual({ transactions: 1, charges: 2, events: 1 })
    const won = answers.filter(({ status }) => status === 201)
    expect(new Set(won.map(({ text }) => text)).size).toBe(1)
    expect(won).toHaveLength(50)
    for (const lost of answers.filter(({ status }) => status !== 201)) expect(differingFields(lost)).toEqual(['amount'])
  })

  it('with different keys are separate', async () => {
    const bodies = Array.from({ length: 20 }, () => keyed(newKey()))
    const made = await countNew(async () => {
      const answers = await Promise.all(
        Array.from({ length: 100 }, async (_, index) => await send(index, bodies[index % 20])),
      )
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(20)
    })
    expect(made).toEqual({ transactions: 20, charges: 20, events: 20 })
  })
})

describe('an acquirer', () => {
  // Faults that the simulator injects by amount.
  const refused = 4_220_422
  const late = 5_040_504

  it('that refuses leaves a FAILED transaction, and the key can be used again', async () => {
    const idempotencyKey = newKey()
    const body = keyed(idempotencyKey, { amount: refused })
    const ids: string[] = []
    for (let sent = 0; sent < 2; sent++) {
      const answer = await post(body)
      expect([answer.status, answer.body.code]).toEqual([422, 'acquirer_refused'])
      const { transactionId } = answer.body
      ids.push(transactionId)
      expect((await service.call(`/transaction/${transactionId}`)).body).toMatchObject({
        status: 'FAILED',
        errorMessage: expect.stringMatching(/simulador/),
        pixResponse: { uri: null, qrCodeBase64: null, expirationDate: null },
        statusHistory: [{ status: 'PENDING' }, { status: 'FAILED', durationInMilliseconds: null }],
      })
    }
    expect(new Set(ids).size).toBe(2)
    const created = await post(keyed(idempotencyKey, { amount: 1 }))
    expect([created.status, isReplay(created)]).toEqual([201, false])
  })

  it('that does not answer leaves a PENDING transaction, which a later query settles', {
    timeout: 300_000,
  }, async () => {
    const body = keyed(newKey(), { amount: late })
    const made = await countNew(async () => {
      const unknown = await post(body)
      expect([unknown.status, unknown.body.code]).toEqual([500, 'acquirer_unavailable'])
      const id = unknown.body.transactionId
      const pending = await service.call(`/transaction/${id}`)
      expect(pending.body).toMatchObject({ status: 'PENDING', statusHistory: [{ status: 'PENDING' }] })
      expect(pending.body.pixResponse).toEqual({ uri: null, qrCodeBase64: null, expirationDate: null })
      expect((await service.call<{ data: unknown[] }>('/transaction?status=PENDING')).body.data).toEqual([pending.body])

      // Requested again before it is settled, it is still the same transaction.
      const again = await post(body)
      expect([again.status, again.body.transactionId]).toEqual([500, id])
      expect(differingFields(await post({ ...body, amount: 1 }))).toEqual(['amount'])

      service.clock.advance(6_000)
      await service.runJob('transactions.check')
      await eventually(async () => (await service.call(`/transaction/${id}`)).body.status === 'PIX_QRCODE_GENERATED')
      const created = await post(body)
      expect([created.status, created.body.id, isReplay(created)]).toEqual([201, id, true])
      const paid = await service.call('/sandbox/payment', { body: { uri: created.body.pixResponse.uri } })
      expect(paid.status).toBe(200)
      await eventually(async () => (await service.call(`/transaction/${id}`)).body.status === 'PAID')
      expect((await post(body)).text).toBe(created.text)
    })
    // The charge of amount 1 was never shown to anyone.
    expect(made).toEqual({ transactions: 1, charges: 2, events: 2 })
  })
})

function customerWith(landline: string, mobilePhone: string) {
  return { name: 'Maria', document: '52998224725', email: 'maria@example.com', landline, mobilePhone }
}

function addressAt(zipCode: string) {
  const place = { neighborhood: 'Bela Vista', city: 'São Paulo', state: 'SP', country: 'Brasil' }
  return { zipCode, street: 'Avenida Paulista', number: '1000', ...place }
}
