import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasForbiddenCharacters, isInternationalName, toSearchText } from './text.ts'

describe('isInternationalName', () => {
  it.each([
    'João da Silva',
    'Joa\u0303o',
    "D'Ávila & Filhos, Ltda.",
    'Loja 24/7 (Centro)',
    'Ana-Clara O’Neill',
    '1º Cartório',
    '株式会社',
    'عمر',
    'हिन्दी',
    '7',
  ])('accepts %s', (name) => {
    expect(isInternationalName(name)).toBe(true)
  })

  it.each([
    '',
    ' ',
    '-.,&/()',
    'ºª',
    'a\tb',
    'a\nb',
    'a\u00a0b',
    '<b>',
    'a@b',
    'a_b',
    'a"b',
    '😀',
    'a\ud800',
    'a\u0000',
  ])('refuses %j', (name) => {
    expect(isInternationalName(name)).toBe(false)
  })

  it('never accepts a control character or a lone surrogate', () => {
    // Not fast-check's `unit: 'binary'`: it builds a table of all of Unicode, which takes seconds.
    const unit = fc.oneof(
      fc.integer({ min: 0, max: 0xff }),
      fc.integer({ min: 0xd800, max: 0xdfff }),
      fc.integer({ min: 0, max: 0x10ffff }),
    )
    fc.assert(
      fc.property(fc.string({ unit: unit.map((code) => String.fromCodePoint(code)) }), (text) => {
        if (isInternationalName(text)) expect(hasForbiddenCharacters(text)).toBe(false)
      }),
    )
  })
})

describe('hasForbiddenCharacters', () => {
  it.each(['\u0000', 'a\u0007', 'a\nb', '\u007f', '\u0085', 'a\ud800b', '\udc00'])('finds %j', (text) => {
    expect(hasForbiddenCharacters(text)).toBe(true)
  })

  it.each(['', 'plain', 'é', '😀', '\u200d', '\u2028'])('lets %j pass', (text) => {
    expect(hasForbiddenCharacters(text)).toBe(false)
  })

  it('accepts only text that survives UTF-8', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((c) => String.fromCharCode(c)) }),
        (text) => {
          if (!hasForbiddenCharacters(text)) expect(Buffer.from(text, 'utf8').toString('utf8')).toBe(text)
        },
      ),
    )
  })
})

describe('toSearchText', () => {
  it.each([
    ['JOSÉ', 'jose'],
    ['Conceição', 'conceicao'],
    ['Joa\u0303o', 'joao'],
    ['STRASSE', 'strasse'],
    ['Straße', 'strasse'],
    ['STRAẞE', 'strasse'],
    ['ΟΔΟΣ', 'οδοσ'],
    ['İstanbul ısı', 'istanbul isi'],
    ['ﬁm', 'fim'],
    ['1º', '1o'],
  ])('folds %s to %s', (text, folded) => {
    expect(toSearchText(text)).toBe(folded)
  })

  it('does not depend on case or Unicode normal form', () => {
    const letters = fc.string({ unit: fc.constantFrom(...'aãáçéêíóõúüñABCÃÇÉß '), maxLength: 30 })
    fc.assert(
      fc.property(letters, (text) => {
        const folded = toSearchText(text)
        expect(toSearchText(folded)).toBe(folded)
        for (const other of [text.toUpperCase(), text.toLowerCase(), text.normalize('NFD')])
          expect(toSearchText(other)).toBe(folded)
      }),
    )
  })

  // Text of Latin-1 characters alone takes a fast path. `漢` forces the slow one, which must give the same.
  it('folds each letter the same, whatever its neighbours', () => {
    const latin = Array.from({ length: 0xe0 }, (_, unit) => String.fromCharCode(0x20 + unit)).filter(
      (letter) => !/\p{Cc}/u.test(letter),
    )
    for (const letter of latin) expect(toSearchText(`${letter}漢`), letter).toBe(`${toSearchText(letter)}漢`)
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...latin), maxLength: 60 }), (text) => {
        expect(toSearchText(`${text}漢`)).toBe(`${toSearchText(text)}漢`)
        expect(toSearchText(text)).toBe([...text].map(toSearchText).join(''))
        expect(hasForbiddenCharacters(text)).toBe(false)
      }),
    )
  })

  it('changes nothing when applied twice', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(toSearchText(toSearchText(text))).toBe(toSearchText(text))
      }),
    )
  })
})
