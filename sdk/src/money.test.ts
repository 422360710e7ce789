import { expect, it } from 'vitest'
import { formatBRL, toCents } from './money.ts'

it('formats cents as people in Brazil read them', () => {
  const shown = { 0: 'R$ 0,00', 5: 'R$ 0,05', 2590: 'R$ 25,90', 123456789: 'R$ 1.234.567,89', '-150': '-R$ 1,50' }
  for (const [cents, text] of Object.entries(shown)) expect(formatBRL(Number(cents))).toBe(text)
  for (const wrong of [25.9, Number.NaN, 2 ** 53]) expect(() => formatBRL(wrong)).toThrow(RangeError)
})

it('converts reais to cents, and refuses fractions of a cent', () => {
  const each = Array.from({ length: 200_000 }, (_, cents) => cents)
  expect(each.filter((cents) => toCents(cents / 100) !== cents)).toEqual([])
  expect(toCents(19.99)).toBe(1999)
  expect(toCents(100_000)).toBe(10_000_000)
  for (const wrong of [0.001, 19.999, Number.NaN, Number.POSITIVE_INFINITY])
    expect(() => toCents(wrong)).toThrow(RangeError)
})
