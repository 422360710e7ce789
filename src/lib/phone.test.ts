import fc from 'fast-check'
import parsePhoneNumber from 'libphonenumber-js/max'
import { describe, expect, it } from 'vitest'
import { isLandlinePhone, isMobilePhone, phoneDigits } from './phone.ts'

describe('isMobilePhone and isLandlinePhone', () => {
  it.each([
    '11987654321',
    '(11) 98765-4321',
    '+5511987654321',
    '+55 11 98765-4321',
    '011 98765-4321',
    '+44 7911 123456',
  ])('%s is a mobile', (text) => {
    expect([isMobilePhone(text), isLandlinePhone(text)]).toEqual([true, false])
  })

  it.each(['1133334444', '(11) 3333-4444', '+551133334444', '55 11 3333.4444', '+44 20 7946 0958'])(
    '%s is a landline',
    (text) => {
      expect([isMobilePhone(text), isLandlinePhone(text)]).toEqual([false, true])
    },
  )

  it('a number is both where the country does not distinguish them', () => {
    expect([isMobilePhone('+1 212 555 0100'), isLandlinePhone('+1 212 555 0100')]).toEqual([true, true])
  })

  it.each([
    ['an area code that does not exist', '10987654321'],
    ['a number without area code', '987654321'],
    ['a toll-free number', '0800 123 4567'],
    ['an emergency number', '190'],
    ['too many digits', '+551198765432100'],
    ['words around', 'tel: 11987654321'],
    ['an extension', '1133334444 ext. 5'],
    ['letters', '119A7654321'],
    ['digits of another script', '١١٩٨٧٦٥٤٣٢١'],
    ['a line break', '11987654321\n'],
    ['a plus in the middle', '55+11987654321'],
    ['too many spaces at the end', `11987654321${' '.repeat(60)}`],
    ['nothing', ''],
  ])('refuse %s', (_, text) => {
    expect([isMobilePhone(text), isLandlinePhone(text)]).toEqual([false, false])
  })

  it('never throw', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'0123456789+-(). x'), maxLength: 45 }), (text) => {
        isMobilePhone(text)
        isLandlinePhone(text)
      }),
    )
  })
})

describe('usual spellings of Brazilian mobile numbers', () => {
  it('get the same answer as from the library, in every area code', () => {
    const differing: string[] = []
    for (let area = 10; area < 100; area += 1) {
      for (const local of ['900000000', '912345678', '987654321', '999999999', '887654321', '9876543210', '98765432']) {
        const [head, tail] = [local.slice(0, -4), local.slice(-4)]
        for (const country of ['', '+55', '+55 ', '55', '55 ']) {
          for (const text of [
            `${country}${area}${local}`,
            `${country}(${area})${local}`,
            `${country}(${area}) ${head}-${tail}`,
            `${country}${area} ${head}-${tail}`,
            `${country}${area} ${local}`,
          ]) {
            const type = parsePhoneNumber(text, { defaultCountry: 'BR', extract: false })?.getType()
            if (isMobilePhone(text) !== (type === 'MOBILE' || type === 'FIXED_LINE_OR_MOBILE')) differing.push(text)
            if (isLandlinePhone(text) !== (type === 'FIXED_LINE' || type === 'FIXED_LINE_OR_MOBILE'))
              differing.push(text)
          }
        }
      }
    }
    expect(differing).toEqual([])
  })
})

describe('phoneDigits', () => {
  it.each([
    ['+55 (11) 98765-4321', '11987654321'],
    ['011 3333-4444', '1133334444'],
    ['+55 (011) 98765-4321', '11987654321'],
    ['+55 011 3333-4444', '1133334444'],
    ['055 11 98765-4321', '11987654321'],
    ['+55 (055) 99999-9999', '55999999999'],
    ['(055) 99999-9999', '55999999999'],
    ['(055) 3333-4444', '5533334444'],
    ['+55 55 99999-9999', '55999999999'],
    ['(55) 99999-9999', '55999999999'],
    ['(55) 3333-4444', '5533334444'],
    ['+1 212 555 0100', '12125550100'],
    ['987654321', '987654321'],
    ['', ''],
  ])('%s → %s', (text, digits) => {
    expect(phoneDigits(text)).toBe(digits)
  })

  it('is the same for every spelling of one number', () => {
    const national = fc.tuple(fc.integer({ min: 11, max: 99 }), fc.integer({ min: 20000000, max: 999999999 }))
    fc.assert(
      fc.property(national, ([area, number]) => {
        const spellings = [
          `${area}${number}`,
          `(${area}) ${number}`,
          `+55${area}${number}`,
          `55 ${area} ${number}`,
          `0${area}${number}`,
          `+55 (0${area}) ${number}`,
          `055 ${area} ${number}`,
        ]
        for (const spelling of spellings) expect(phoneDigits(spelling)).toBe(`${area}${number}`)
      }),
    )
  })
})
