import { generateCnpj, generateCpf } from '@brazilian-utils/brazilian-utils'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDocument } from './document.ts'

const cpf = fc.integer().map(() => generateCpf())
const cnpj = fc.constantFrom(1, 2).map((version) => generateCnpj(version === 1 ? 1 : 2))

describe('parseDocument', () => {
  it.each([
    ['52998224725', '52998224725', 'CPF'],
    ['529.982.247-25', '52998224725', 'CPF'],
    ['529982247-25', '52998224725', 'CPF'],
    ['11222333000181', '11222333000181', 'CNPJ'],
    ['11.222.333/0001-81', '11222333000181', 'CNPJ'],
    ['12.ABC.345/01DE-35', '12ABC34501DE35', 'CNPJ'],
    ['12abc34501de35', '12ABC34501DE35', 'CNPJ'],
  ])('reads %s', (text, value, type) => {
    expect(parseDocument(text)).toEqual({ value, type })
  })

  it.each([
    ['a wrong check digit', '52998224724'],
    ['a wrong check digit of a CNPJ', '12.ABC.345/01DE-36'],
    ['a CPF of one digit repeated', '111.111.111-11'],
    ['a CNPJ of one digit repeated', '00000000000000'],
    ['letters as check digits', '12ABC34501DEAB'],
    ['a leading space', ' 52998224725'],
    ['a trailing line break', '52998224725\n'],
    ['marks in the wrong place', '5299.822.47-25'],
    ['another mark', '529 982 247 25'],
    ['digits among letters', '5a2b9c9d8e2f2g4h7i2j5'],
    ['digits of another script', '٥٢٩٩٨٢٢٤٧٢٥'],
    ['a letter that becomes ASCII in upper case', '12ıBC34501DE35'],
    ['too few digits', '5299822472'],
    ['nothing', ''],
  ])('refuses %s', (_, text) => {
    expect(parseDocument(text)).toBeNull()
  })

  it('gives the same for bare, formatted and lower-case spellings', () => {
    fc.assert(
      fc.property(fc.oneof(cpf, cnpj), (value) => {
        const parsed = parseDocument(value)
        expect(parsed).toEqual({ value, type: value.length === 11 ? 'CPF' : 'CNPJ' })
        expect(parseDocument(punctuate(value))).toEqual(parsed)
        expect(parseDocument(punctuate(value).toLowerCase())).toEqual(parsed)
      }),
    )
  })

  // This CPF, not every CPF: a check digit 0 represents two remainders modulo 11, so one typo in a few thousand goes
  // undetected.
  it('refuses every single mistyped digit of this CPF', () => {
    const right = '52998224725'
    for (let at = 0; at < right.length; at += 1) {
      for (let by = 1; by < 10; by += 1) {
        const wrong = right.slice(0, at) + ((Number(right[at]) + by) % 10) + right.slice(at + 1)
        expect(parseDocument(wrong), wrong).toBeNull()
      }
    }
  })
})

function punctuate(value: string): string {
  return value.length === 11
    ? value.replace(/^(...)(...)(...)(..)$/, '$1.$2.$3-$4')
    : value.replace(/^(..)(...)(...)(....)(..)$/, '$1.$2.$3/$4-$5')
}
