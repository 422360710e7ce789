import { createRequire } from 'node:module'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { canonicalJson } from './json.ts'

/** An implementation of RFC 8785 by one of its authors. Its types declare a default export that it does not have. */
const canonicalize: (value: unknown) => string = createRequire(import.meta.url)('canonicalize')

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

  it('writes the examples of RFC 8785', () => {
    const given = String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`
    expect(canonicalJson(JSON.parse(given))).toBe(
      String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
    )
    const names = ['€', '\r', '\ufb33', '1', '😀', '\u0080', 'ö']
    expect(canonicalJson(Object.fromEntries(names.map((name) => [name, 0])))).toBe(
      '{"\\r":0,"1":0,"\u0080":0,"ö":0,"€":0,"😀":0,"\ufb33":0}',
    )
  })

  it('writes the same text as canonicalize, whatever the order of the fields, and keeps the content', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        // A round trip through JSON, which has no -0.
        const plain: unknown = JSON.parse(JSON.stringify(value))
        const text = canonicalJson(plain)
        expect(text).toBe(canonicalize(plain))
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
