import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Problem, refusedFields } from '../support/requests.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { text } from '../support/transaction-fields.ts'

type Created = { id: string }

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

describe('metadata', () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { a: nested(levels - 1) })
  const listed = (levels: number): unknown => (levels === 0 ? 1 : [listed(levels - 1)])
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]))

  it.each([
    ['8 KiB', { a: text(8192 - 8) }],
    ['8 KiB of other scripts', { a: 'é'.repeat((8192 - 8) / 2) }],
    ['64 keys', keys(64)],
    ['64 keys at several levels', { a: keys(31), b: [keys(31)] }],
    ['8 levels', nested(8)],
    ['8 levels of lists', { a: listed(7) }],
  ])('may have %s', async (_, metadata) => {
    const created = await post(smallestTransaction({ metadata }))
    expect(created.status).toBe(201)
    expect((await fetchOne(created.body.id)).body.metadata).toEqual(metadata)
  })

  it.each([
    ['a byte more', { a: text(8193 - 8) }],
    ['a character more in another script', { a: 'é'.repeat((8192 - 8) / 2 + 1) }],
    ['65 keys', keys(65)],
    ['65 keys at several levels', { a: keys(31), b: [keys(32)] }],
    ['9 levels', nested(9)],
    ['9 levels of lists', { a: listed(8) }],
  ])('may not have %s', async (_, metadata) => {
    expect(refusedFields(await post(smallestTransaction({ metadata })))).toEqual(['metadata'])
  })

  it('is returned unchanged, in its order, whatever its names are', async () => {
    const metadata = {
      z: 1,
      a: [1.5, -0.1, 1e21, null, false],
      'x.y/z~': {},
      'line\u2028paragraph\u2029': 'a\u2028b',
      '': 'empty',
      é: '😀',
    }
    const created = await post(smallestTransaction({ metadata }))
    expect(created.status).toBe(201)
    const fetched = await fetchOne(created.body.id)
    expect(JSON.stringify(fetched.body.metadata)).toBe(JSON.stringify(metadata))
  })

  it('may hold no number that cannot be given back', async () => {
    const answer = await postRaw('{"amount":1,"paymentMethod":"PIX","pix":{},"metadata":{"a":[1e999]}}')
    expect(refusedFields(answer)).toEqual(['metadata.a[0]'])
  })

  it.each(['9007199254740993', '12345678901234567890', '-9007199254740993', '0.12345678901234567890', '1e-400'])(
    'may not hold %s, which would come back as another number',
    async (number) => {
      const answer = await postRaw(`{"amount":1,"paymentMethod":"PIX","pix":{},"metadata":{"ids":[1,${number}]}}`)
      expect(refusedFields(answer)).toEqual(['metadata.ids[1]'])
    },
  )

  it('may contain the largest numbers that keep their value', async () => {
    const metadata = '{"a":9007199254740992,"b":-9007199254740991,"c":1e21,"d":1.50,"e":100.0}'
    const created = await service.call<Created>('/transaction', {
      rawBody: `{"amount":1,"paymentMethod":"PIX","pix":{},"metadata":${metadata}}`,
    })
    expect(created.status).toBe(201)
    expect((await fetchOne(created.body.id)).body.metadata).toEqual(JSON.parse(metadata))
  })

  it('may have fields named like properties of every object', async () => {
    const metadata = '{"__proto__":{"amount":7},"constructor":{"prototype":{"polluted":true}},"toString":1}'
    const key = '"idempotencyKey":"prototype-0001"'
    const rawBody = `{"amount":1,"paymentMethod":"PIX","pix":{},${key},"metadata":${metadata}}`
    const created = await service.call<Created>('/transaction', { rawBody })
    expect(created.status).toBe(201)
    const fetched = await fetchOne(created.body.id)
    expect(fetched.text).toContain(`"metadata":${metadata}`)
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    expect((await service.call('/transaction', { rawBody })).headers.get('idempotent-replayed')).toBe('true')
    for (const other of ['"__proto__":{"amount":7},', '"toString":1']) {
      const changed = rawBody.replace(other, '').replace(',}', '}')
      expect(((await postRaw(changed)).body as Problem).code, changed).toBe('idempotency_key_reused')
    }
  })
})

describe('a field', () => {
  const raw = (fields: string) => `{"amount":1,"paymentMethod":"PIX","pix":{},${fields}}`

  it.each([
    ['amount', raw('"amount":2')],
    ['externalCode', raw('"externalCode":"first-0001","external\\u0043ode":"second-001"')],
    [
      'pix.expirationSeconds',
      '{"amount":1,"paymentMethod":"PIX","pix":{"expirationSeconds":60,"expirationSeconds":60}}',
    ],
    ['items[0].unitPrice', raw('"items":[{"title":"abc","unitPrice":1,"unitPrice":2}]')],
    ['metadata.a', raw('"metadata":{"a":1,"a":2}')],
    ['metadata', raw('"metadata":{"not a name":1,"not a name":2}')],
    ['unknown', raw('"unknown":1,"unknown":1')],
  ])('may not appear twice: %s', async (field, rawBody) => {
    const answer = await postRaw(rawBody)
    expect(refusedFields(answer)).toContain(field)
    expect(answer.body.errors).toContainEqual(expect.objectContaining({ field, code: 'duplicate' }))
  })

  it.each(['100.0', '1e2', '1E+2', '100.00', '25.90', '"100"', '"25,90"'])('of cents may not be %s', async (number) => {
    const answer = await postRaw(`{"amount":${number},"paymentMethod":"PIX","pix":{}}`)
    expect(refusedFields(answer)).toEqual(['amount'])
    expect(answer.body.detail).toBe('amount must be an integer number of cents, in plain digits: 2590 for R$ 25.90.')
  })

  it('that is unknown may have any number', async () => {
    expect((await postRaw(raw('"unknown":1.50,"other":{"deep":12345678901234567890}'))).status).toBe(201)
  })

  it('that is optional may be null, which means the same as leaving it out', async () => {
    const key = { idempotencyKey: 'null-is-absent-1' }
    const address = {
      zipCode: '01310-100',
      number: '1',
      street: 'Rua',
      neighborhood: 'Centro',
      city: 'Sé',
      state: 'SP',
    }
    const absent = await post(smallestTransaction({ ...key, items: [{ title: 'Livro', unitPrice: 1 }] }))
    const nulls = {
      webhookUrl: null,
      externalCode: null,
      customer: null,
      seller: null,
      isInfoProduct: null,
      address: null,
    }
    const item = { title: 'Livro', unitPrice: 1, description: null, quantity: null }
    const body = smallestTransaction({
      ...key,
      ...nulls,
      metadata: null,
      items: [item],
      pix: { expirationSeconds: null },
    })
    const present = await post(body)
    expect([absent.status, present.status]).toEqual([201, 201])
    expect([present.text, present.headers.get('idempotent-replayed')]).toEqual([absent.text, 'true'])
    const inHeader = await post({ ...body, idempotencyKey: null }, { 'idempotency-key': key.idempotencyKey })
    expect(inHeader.text).toBe(absent.text)

    // A required field may not be null, and in free-form data null is a value.
    const needed = { amount: null, pix: null, address: { ...address, country: null } }
    expect(refusedFields(await post(smallestTransaction(needed)))).toEqual(['amount', 'address.country', 'pix'])
    const kept = await post(smallestTransaction({ metadata: { a: null } }))
    expect((await fetchOne(kept.body.id)).body.metadata).toEqual({ a: null })
  })

  it('that is unknown is named with the intended field when the body is refused anyway', async () => {
    const body = {
      ammount: 100,
      paymentMethod: 'PIX',
      webhook_url: 'x',
      customer: { nome: 'Maria' },
      pix: {},
      zzzzzzz: 1,
    }
    const answer = await postRaw(JSON.stringify(body))
    const errors = answer.body.errors as { field: string; code: string; message: string }[]
    expect(errors.filter(({ code }) => code === 'unknown_field')).toEqual([
      { field: 'ammount', code: 'unknown_field', message: 'is not known here: did you mean amount?' },
      { field: 'webhook_url', code: 'unknown_field', message: 'is not known here: did you mean webhookUrl?' },
      { field: 'customer.nome', code: 'unknown_field', message: 'is not known here: did you mean name?' },
      { field: 'zzzzzzz', code: 'unknown_field', message: 'is not known here' },
    ])
    expect(errors[0]).toMatchObject({ field: 'amount', code: 'required' })
  })

  it('that must be an object is refused with the object’s fields', async () => {
    const answer = await service.call<Problem>('/withdrawal', {
      body: { amount: 100, method: 'PIX', pixKey: 'a@b.co' },
    })
    expect(answer.body.errors).toContainEqual({
      field: 'pixKey',
      code: 'invalid_type',
      message: 'must be an object with key and type',
    })
  })
})

describe('a body', () => {
  const json = JSON.stringify(smallestTransaction())
  const bytes = (...parts: (string | number[])[]) =>
    new Uint8Array(Buffer.concat(parts.map((part) => Buffer.from(part as string))))
  const withCode = (broken: number[]) => bytes(`${json.slice(0, -1)},"externalCode":"abcdefgh`, broken, '"}')

  it.each([
    ['nothing', ''],
    ['only space', ' \n'],
    ['no JSON', '{"amount":'],
    ['JSON and more', `${json}{}`],
    ['a comment', `{/* */${json.slice(1)}`],
    ['a raw line break in a text', '{"externalCode":"a\nb"}'],
    ['half of a UTF-8 character', withCode([0xc3])],
    ['an overlong NUL', withCode([0xc0, 0x80])],
    ['a surrogate as bytes', withCode([0xed, 0xa0, 0x80])],
    ['UTF-16', bytes([...Buffer.from(json, 'utf16le')])],
  ])('of %s is malformed JSON', async (_, rawBody) => {
    const answer = await postRaw(rawBody)
    expect([answer.status, answer.body.code]).toEqual([422, 'malformed_json'])
  })

  it('that is malformed is refused with the position', async () => {
    const answer = await postRaw('{\n  "amount": 100,\n  paymentMethod: "PIX"\n}')
    expect(answer.body.detail).toBe(
      'The body is not valid JSON at line 3, column 3: the name of a field is expected, in double quotes.',
    )
  })

  it('may have unknown fields named like properties of every object', async () => {
    const answer = await postRaw(`{"__proto__":{"amount":"x"},"constructor":{"prototype":{"a":1}},${json.slice(1)}`)
    expect(answer.status).toBe(201)
    expect(refusedFields(await postRaw('{"__proto__":{"amount":1,"paymentMethod":"PIX","pix":{}}}'))).toContain(
      'amount',
    )
  })

  it.each(['null', '[]', '"text"', '7', 'true'])('of %s is no request', async (rawBody) => {
    expect(refusedFields(await postRaw(rawBody))).toEqual([''])
  })

  it('that was not sent is not a request', async () => {
    expect(refusedFields(await service.call('/transaction', { method: 'POST' }))).toEqual([''])
  })

  it.each([
    ['objects', '{"a":', '}'],
    ['lists', '[', ']'],
  ])('may not nest %s without end', async (_, open, close) => {
    const most = Math.floor(60_000 / (open.length + close.length))
    for (const [member, depth, status] of [
      ['metadata', 2_000, 422],
      ['unknown', 2_000, 422],
      ['items', 2_000, 422],
      ['metadata', most, 413],
    ] as const) {
      const answer = await postRaw(`${json.slice(0, -1)},"${member}":${open.repeat(depth)}1${close.repeat(depth)}}`)
      expect(answer.status, answer.text.slice(0, 200)).toBe(status)
      expect(answer.text.length).toBeLessThan(10_000)
    }
  })

  it('with more items than allowed is refused after only the first were checked', async () => {
    const answer = await postRaw(`{"items":[${Array(2_000).fill('{}').join()}]}`)
    const errors = answer.body.errors ?? []
    expect(errors).toContainEqual(expect.objectContaining({ field: 'items', code: 'too_many' }))
    expect(errors).toContainEqual(expect.objectContaining({ field: 'items[0].title', code: 'required' }))
    expect(errors.some(({ field }) => field.startsWith('items[101]'))).toBe(false)
  })

  it.each([
    ['broken texts under a long name', `{"${text(20_000)}":[${Array(4_500).fill('"\\ud800"').join()}]}`],
    ['items of nothing', `{"items":[${Array(2_000).fill('{}').join()}]}`],
  ])('with %s gets an answer of bounded size', async (_, rawBody) => {
    const answer = await postRaw(rawBody)
    expect(answer.status).toBe(422)
    expect(answer.text.length).toBeLessThan(100_000)
  })

  it('with more values than any valid request has is refused before it is parsed', async () => {
    const answer = await postRaw(`{"items":[${Array(20_000).fill('{}').join()}]}`)
    expect([answer.status, answer.body.code]).toEqual([413, 'body_too_large'])
    expect(answer.body.detail).toContain('5000 values at most')
  })

  it('may have 64 KiB and not a byte more', async () => {
    const largest = `${json.slice(0, -1)},"unknown":"${text(65_536 - json.length - 13)}"}`
    expect(largest).toHaveLength(65_536)
    expect((await postRaw(largest)).status).toBe(201)
    const answer = await postRaw(`${largest} `)
    expect([answer.status, answer.body.code]).toEqual([413, 'body_too_large'])
  })

  it.each(['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON'])(
    'may come as %s',
    async (type) => {
      expect((await postRaw(json, { 'content-type': type })).status).toBe(201)
    },
  )

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/xml',
    'application/json-patch+json',
    'json',
    ';',
  ])('may not come as %s', async (type) => {
    const answer = await postRaw(json, { 'content-type': type })
    expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media_type'])
  })
})
