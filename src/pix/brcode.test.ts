import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { crc16, createDynamicEncoder, decodeBrCode, encodeDynamicBrCode, locationMax } from './brcode.ts'

const merchant = { merchantName: 'Loja do Zé', merchantCity: 'São Paulo' }
const location = 'pix.example.com/qr/v2/93598be0-1bd0-4997-8318-81776a1d8a99'

describe('encodeDynamicBrCode', () => {
  it('writes the code of the manual’s example', () => {
    expect(encodeDynamicBrCode({ location, ...merchant })).toBe(
      '00020101021226800014br.gov.bcb.pix2558pix.example.com/qr/v2/93598be0-1bd0-4997-8318-81776a1d8a99' +
        '5204000053039865802BR5910Loja do Ze6009Sao Paulo62070503***6304A474',
    )
  })

  it('writes the same codes with one encoder for many locations as with a new one for each', () => {
    const encode = createDynamicEncoder(merchant)
    const locations = fc.array(fc.stringMatching(/^(https:\/\/)?[a-z0-9./-]{1,69}$/), { minLength: 2 })
    fc.assert(
      fc.property(locations, (locations) => {
        const codes = locations.map(encode)
        expect(codes).toEqual(locations.map((location) => encodeDynamicBrCode({ location, ...merchant })))
        expect(codes.every((code) => decodeBrCode(code).ok)).toBe(true)
      }),
    )
    expect(() => encode('pix.example.com/a b')).toThrow('location')
    expect(() => encode('a'.repeat(locationMax + 1))).toThrow('has at most 77 characters')
  })

  it('leaves out the scheme of the location', () => {
    const code = encodeDynamicBrCode({ location, ...merchant })
    expect(encodeDynamicBrCode({ location: `https://${location}`, ...merchant })).toBe(code)
  })

  it.each([
    ['Açaí & Cia’s', "Acai & Cia's"],
    ['  Dois   espaços ', 'Dois espacos'],
    ['Um nome que passa de vinte e cinco letras', 'Um nome que passa de vint'],
    ['1º Ofício\nde Notas', '1o Oficio de Notas'],
  ])('folds the name %j', (merchantName, folded) => {
    const decoded = decodeBrCode(encodeDynamicBrCode({ location, merchantCity: 'Rio', merchantName }))
    expect(decoded).toMatchObject({ ok: true, code: { merchantName: folded } })
  })

  it('accepts the longest location, and says why a longer one does not fit', () => {
    const longest = 'a'.repeat(locationMax)
    const code = encodeDynamicBrCode({ location: longest, ...merchant })
    expect(code).toContain(`26990014br.gov.bcb.pix25${locationMax}${longest}52`)
    expect(() => encodeDynamicBrCode({ location: `${longest}a`, ...merchant })).toThrow(
      'The location of a BR Code has at most 77 characters, this one has 78',
    )
  })

  it.each(['', 'https://', 'pix.example.com/a b', 'pix.exämple.com', 'a\n'])('refuses the location %j', (location) => {
    expect(() => encodeDynamicBrCode({ location, ...merchant })).toThrow('location')
  })

  it('refuses a name without any character that a code can have', () => {
    expect(() => encodeDynamicBrCode({ location, merchantName: '株式会社', merchantCity: 'Rio' })).toThrow(
      'merchant name',
    )
  })
})

describe('decodeBrCode', () => {
  it('reads what we write, whatever the merchant’s name', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 40 }).map((rest) => `A${rest}`)
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z0-9./-]{1,77}$/), text, text, (location, merchantName, merchantCity) => {
        const decoded = decodeBrCode(encodeDynamicBrCode({ location, merchantName, merchantCity }))
        expect(decoded).toMatchObject({ ok: true, code: { kind: 'dynamic', location, txid: '***' } })
        if (!decoded.ok) return
        expect(decoded.code.amount).toBeUndefined()
        expect(decoded.code.merchantName).toMatch(/^A[\x20-\x7e]{0,24}$/)
        expect(decoded.code.merchantCity).toMatch(/^A[\x20-\x7e]{0,14}$/)
      }),
    )
  })

  it('notices every single changed character', () => {
    const code = encodeDynamicBrCode({ location, ...merchant })
    const unnoticed: string[] = []
    for (let at = 0; at < code.length; at += 1) {
      for (let unit = 0x21; unit <= 0x7e; unit += 1) {
        const changed = code.slice(0, at) + String.fromCharCode(unit) + code.slice(at + 1)
        if (changed !== code && decodeBrCode(changed).ok) unnoticed.push(changed)
      }
    }
    // Only the CRC may be in either case.
    expect(unnoticed).toEqual([code.replace(/A474$/, 'a474')])
  })

  it('returns a result for any text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((rest) => withCrc(`000201${rest}`)),
        ),
        (text) => {
          expect(decodeBrCode(text)).toHaveProperty('ok')
        },
      ),
    )
  })

  it('ignores space around the code, and the case of the CRC', () => {
    const code = encodeDynamicBrCode({ location, ...merchant })
    expect(decodeBrCode(` ${code.slice(0, -4)}${code.slice(-4).toLowerCase()}\r\n`)).toEqual(decodeBrCode(code))
  })

  it.each([
    ['characters', 'Açaí', '04'],
    ['bytes', 'Açaí', '06'],
  ])('reads a name with accents whose length is given in %s', (_, name, length) => {
    const code = withCrc(`00020126330014br.gov.bcb.pix0111529982247255204000053039865802BR59${length}${name}6003Rio`)
    expect(decodeBrCode(code)).toMatchObject({ ok: true, code: { merchantName: name, merchantCity: 'Rio' } })
  })

  it('finds the Pix template after that of another payment system', () => {
    const code = withCrc('00020126110007com.foo27330014BR.GOV.BCB.PIX0111529982247255303986540510.005802BR5901A6003Rio')
    expect(decodeBrCode(code)).toMatchObject({
      ok: true,
      code: { kind: 'static', key: '52998224725', amount: '10.00' },
    })
  })

  const account = '26330014br.gov.bcb.pix011152998224725'
  const rest = '5303986' + '5802BR' + '5901A' + '6003Rio'
  it.each([
    ['malformed', 'nothing', ''],
    ['malformed', 'another text', 'https://example.com'],
    ['malformed', 'a length past the end', withCrc(`000201${account}${rest}6299`)],
    ['malformed', 'a tag that comes twice', withCrc(`000201${account}${rest}5901B`)],
    ['malformed', 'a key and a location', withCrc(`00020126420014br.gov.bcb.pix0111529982247252505a.com${rest}`)],
    ['malformed', 'neither key nor location', withCrc(`00020126180014br.gov.bcb.pix${rest}`)],
    ['malformed', 'another currency', withCrc(`000201${account}${rest.replace('986', '840')}`)],
    ['malformed', 'no merchant name', withCrc(`000201${account}${rest.replace('5901A', '')}`)],
    ['malformed', 'an amount that is not a number', withCrc(`000201${account}54041e99${rest}`)],
    ['malformed', 'a CRC inside another field', withCrc(`000201${account}${rest}6208`)],
    ['not_pix', 'another payment system', withCrc(`00020126110007com.foo${rest}`)],
    ['crc_mismatch', 'a wrong CRC', `000201${account}${rest}63040000`],
    ['too_long', '513 characters', withCrc(`000201${account}${rest}`).padEnd(513, '0')],
  ])('answers %s to %s', (reason, _, text) => {
    expect(decodeBrCode(text)).toEqual({ ok: false, reason })
  })
})

// Codes that real institutions print, with the fields that a reader has to find by the manual. They are kept outside the
// project.
const vectorsPath = resolve('../shared/data/brcode-vectors.json')

describe.skipIf(!existsSync(vectorsPath))('decodeBrCode on real codes (../shared/data/brcode-vectors.json)', () => {
  type Parsed = { key?: string; url?: string; txid: string; amount?: string; name: string; city: string }
  type Vector = { brcode: string; kind: string; parsed: Parsed & { rec?: { 80: { 25: string } } } }
  const vectors: Vector[] = existsSync(vectorsPath) ? JSON.parse(readFileSync(vectorsPath, 'utf8')) : []

  it.each(vectors.map((vector) => [vector.brcode, vector] as const))('reads %s', (_, { brcode, kind, parsed }) => {
    expect(decodeBrCode(brcode)).toEqual({
      ok: true,
      code: {
        kind: kind.split(/[+-]/)[0],
        location: parsed.url?.replace('https://', ''),
        key: parsed.key,
        txid: parsed.txid,
        amount: parsed.amount,
        merchantName: parsed.name,
        merchantCity: parsed.city,
        recurrenceLocation: parsed.rec?.[80][25],
      },
    })
  })
})

describe('crc16', () => {
  it.each([
    ['123456789', '29B1'],
    ['', 'FFFF'],
    ['Açaí 🙂', 'DD48'],
    ['a16', '00F6'],
  ])('of %j is %s', (text, crc) => {
    expect(crc16(text)).toBe(crc)
  })
})

function withCrc(body: string): string {
  return `${body}6304${crc16(`${body}6304`)}`
}
