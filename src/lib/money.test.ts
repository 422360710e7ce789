import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cents, fromReais, toReais } from './money.ts'

describe('cents', () => {
  it.each([0, 1, 10_000_000, Number.MAX_SAFE_INTEGER])('is %d itself', (value) => {
    expect(cents(value)).toBe(value)
  })

  it.each([-1, 0.1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])('refuses %d', (value) => {
    expect(() => cents(value)).toThrow(RangeError)
  })
})

describe('toReais and fromReais', () => {
  it.each([
    [0, '0.00'],
    [1, '0.01'],
    [10, '0.10'],
    [100, '1.00'],
    [1234, '12.34'],
    [10_000_000, '100000.00'],
    [999_999_999_999, '9999999999.99'],
  ])('%d is written %s', (value, text) => {
    expect(toReais(cents(value))).toBe(text)
    expect(fromReais(text)).toBe(value)
  })

  it.each([
    '',
    '1',
    '1.',
    '1.0',
    '.10',
    '1.000',
    '1,00',
    '-1.00',
    '+1.00',
    ' 1.00',
    '1.00\n',
    '1e2.00',
    '12345678901.00',
    '١.٠٠',
  ])('%j is not an amount', (text) => {
    expect(fromReais(text)).toBeNull()
  })

  it('round-trip every amount, in the format of the standard', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 999_999_999_999 }), (value) => {
        const text = toReais(cents(value))
        expect(text).toMatch(/^\d{1,10}\.\d{2}$/)
        expect(fromReais(text)).toBe(value)
      }),
    )
  })

  it('accept no other format', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789.,-e '), maxLength: 15 }), (text) => {
        expect(fromReais(text) !== null).toBe(/^\d{1,10}\.\d\d$/.test(text))
      }),
    )
  })
})
