import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from './json.ts'

describe('canonicalJson', () => {
  it.each([
    [{ b: 1, a: [{ d: null, c: 'x' }] }, '{"a":[{"c":"x","d":null}],"b":1}'],
    [{ a: undefined, b: 2 }, '{"b":2}'],
    [{ a: undefined }, '{}'],
    [[undefined, null, []], '[null,null,[]]'],
    [{ 9: 'a', 10: 'b', 'ç"': '"' }, '{"10":"b","9":"a","ç\\"":"\\""}'],
    ['text', '"text"'],
    [null, 'null'],
  ])('writes %j in one order', (value, text) => {
    expect(canonicalJson(value)).toBe(text)
  })

  it('does not depend on the order of the fields, and keeps the content', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        // A round trip through JSON, which has no -0.
        const plain: unknown = JSON.parse(JSON.stringify(value))
        const text = canonicalJson(plain)
        expect(canonicalJson(turned(plain))).toBe(text)
        expect(JSON.parse(text)).toEqual(plain)
      }),
    )
  })
})

function turned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(turned)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, turned(member)]),
  )
}
