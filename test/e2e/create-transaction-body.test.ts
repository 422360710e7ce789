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

  it('comes back as it came, in its order, whatever its names are', async () => {
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
    ['a member that poisons prototypes', '{"__proto__":{"amount":1}}'],
    ['half of a UTF-8 character', withCode([0xc3])],
    ['an overlong NUL', withCode([0xc0, 0x80])],
    ['a surrogate as bytes', withCode([0xed, 0xa0, 0x80])],
    ['UTF-16', bytes([...Buffer.from(json, 'utf16le')])],
  ])('of %s is malformed JSON', async (_, rawBody) => {
    const answer = await postRaw(rawBody)
    expect([answer.status, answer.body.code]).toEqual([422, 'malformed_json'])
  })

  it.each(['null', '[]', '"text"', '7', 'true'])('of %s is no request', async (rawBody) => {
    expect(refusedFields(await postRaw(rawBody))).toEqual([''])
  })

  it('that was not sent at all is no request', async () => {
    expect(refusedFields(await service.call('/transaction', { method: 'POST' }))).toEqual([''])
  })

  it.each([
    ['objects', '{"a":', '}'],
    ['lists', '[', ']'],
  ])('may not nest %s without end', async (_, open, close) => {
    const depth = Math.floor(60_000 / (open.length + close.length))
    const deep = `${open.repeat(depth)}1${close.repeat(depth)}`
    for (const member of ['metadata', 'unknown', 'items']) {
      const answer = await postRaw(`${json.slice(0, -1)},"${member}":${deep}}`)
      expect(answer.status, answer.text.slice(0, 200)).toBe(422)
      expect(answer.text.length).toBeLessThan(10_000)
    }
  })

  it.each([
    ['broken texts under a long name', `{"${text(20_000)}":[${Array(4_500).fill('"\\ud800"').join()}]}`],
    ['items of nothing', `{"items":[${Array(20_000).fill('{}').join()}]}`],
  ])('with %s gets an answer of bounded size', async (_, rawBody) => {
    const answer = await postRaw(rawBody)
    expect(answer.status).toBe(422)
    expect(answer.text.length).toBeLessThan(100_000)
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
