import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import type { AppError } from '../lib/errors.ts'
import { parseJsonBody } from './json-body.ts'
import { Metadata, WebhookUrl } from './schemas.ts'
import { createValidator } from './validate.ts'

const codesOf = (checked: { value: unknown } | { error: AppError }) =>
  'error' in checked ? checked.error.details.fields?.map(({ field, code }) => `${field} ${code}`) : []

describe('metadata', () => {
  const validate = createValidator({ checkWebhookUrl: () => null })({ schema: Type.Object({ metadata: Metadata }) })
  const errorsOf = (metadata: unknown) => codesOf(validate({ metadata }))
  const tooLarge = ['metadata too_large']
  const nested = (levels: number): unknown => (levels === 1 ? {} : { in: nested(levels - 1) })
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, index]))

  it('may have 8 levels, including arrays', () => {
    expect(errorsOf(nested(8))).toEqual([])
    expect(errorsOf(nested(9))).toEqual(tooLarge)
    expect(errorsOf({ list: [[[[[['eighth']]]]]] })).toEqual([])
    expect(errorsOf({ list: [[[[[[['ninth']]]]]]] })).toEqual([])
    expect(errorsOf({ list: [[[[[[[['tenth']]]]]]]] })).toEqual(tooLarge)
  })

  it('may have 64 keys in total at any depth, and an array has none', () => {
    expect(errorsOf(keys(64))).toEqual([])
    expect(errorsOf(keys(65))).toEqual(tooLarge)
    expect(errorsOf({ one: keys(31), two: [keys(31)] })).toEqual([])
    expect(errorsOf({ one: keys(31), two: [keys(32)] })).toEqual(tooLarge)
    expect(errorsOf({ list: Array.from({ length: 1000 }, () => 1) })).toEqual([])
  })

  it('may have 8 KiB, counted as UTF-8', () => {
    const empty = JSON.stringify({ text: '' }).length
    expect(errorsOf({ text: 'e'.repeat(8192 - empty) })).toEqual([])
    expect(errorsOf({ text: 'e'.repeat(8193 - empty) })).toEqual(tooLarge)
    expect(errorsOf({ text: 'é'.repeat((8192 - empty) / 2) })).toEqual([])
    expect(errorsOf({ text: 'é'.repeat((8192 - empty) / 2 + 1) })).toEqual(tooLarge)
  })
})

describe('text', () => {
  const validate = createValidator({ checkWebhookUrl: () => null })({ schema: Type.Object({}) })

  it('may not contain control characters or lone surrogates, in a value, a name or an array', () => {
    expect(codesOf(validate({ a: ['fine', { b: 'fine' }], 'Ação 😀': 1 }))).toEqual([])
    expect(codesOf(validate({ a: ['fine', 'not\u0000'] }))).toEqual(['a[1] invalid_text'])
    expect(codesOf(validate({ a: [{ b: '\ud800' }] }))).toEqual(['a[0].b invalid_text'])
    expect(codesOf(validate({ a: [[{ 'n\u007f': 1 }]] }))).toEqual(['a[0][0] invalid_text'])
    expect(codesOf(validate({ a: [1, Number.POSITIVE_INFINITY] }))).toEqual(['a[1] invalid_number'])
  })
})

describe('a webhook URL', () => {
  it('is parsed once if it is accepted, and every time if it is not', () => {
    const requested: string[] = []
    const checkWebhookUrl = (url: string) => {
      requested.push(url)
      return url.endsWith('bad') ? 'is bad' : null
    }
    const validate = createValidator({ checkWebhookUrl })({ schema: Type.Object({ url: WebhookUrl }) })
    for (let round = 0; round < 3; round += 1) {
      expect(codesOf(validate({ url: 'https://shop.example/good' }))).toEqual([])
      expect(codesOf(validate({ url: 'https://shop.example/bad' }))).toEqual(['url invalid_format'])
    }
    expect(requested.filter((url) => url.endsWith('good'))).toHaveLength(1)
    // And once more for the sentence that explains the error.
    expect(requested.filter((url) => url.endsWith('bad'))).toHaveLength(6)
  })
})

it('counts one item in the singular', () => {
  const list = (minItems: number) => Type.Object({ list: Type.Array(Type.Number(), { minItems }) })
  const messageOf = (minItems: number) => {
    const checked = createValidator({ checkWebhookUrl: () => null })({ schema: list(minItems) })({ list: [] })
    return 'error' in checked ? checked.error.details.fields?.[0]?.message : null
  }
  expect([messageOf(1), messageOf(2)]).toEqual(['must have at least 1 item', 'must have at least 2 items'])
})

describe('a field that may be null', () => {
  const validate = createValidator({ checkWebhookUrl: () => null })({
    schema: {
      type: 'object',
      properties: {
        stock: { type: ['integer', 'null'] },
        price: { type: ['integer', 'null'], 'x-unit': 'cents' },
        text: { type: ['string', 'null'] },
      },
    },
  })

  it('is refused with all types that it may have', () => {
    const checked = validate({ stock: 'x', price: 'x', text: 1 })
    expect('error' in checked ? checked.error.details.fields?.map(({ message }) => message) : []).toEqual([
      'must be an integer, in plain digits such as 10, or null',
      'must be an integer number of cents, in plain digits: 2590 for R$ 25.90, or null',
      'must be a string or null',
    ])
  })

  it('takes integers in plain digits only', () => {
    expect(codesOf(validate(parseJsonBody('{"stock":100,"price":null}')))).toEqual([])
    expect(codesOf(validate(parseJsonBody('{"stock":100.0,"price":1e2}')))).toEqual([
      'stock invalid_type',
      'price invalid_type',
    ])
  })
})
