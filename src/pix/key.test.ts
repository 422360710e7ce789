import { generateCnpj, generateCpf } from '@brazilian-utils/brazilian-utils'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { detectPixKey, normalizePixKey, type PixKey } from './key.ts'

describe('normalizePixKey', () => {
  it.each<[PixKey['type'], string, string]>([
    ['CPF', '529.982.247-25', '52998224725'],
    ['CNPJ', '11.222.333/0001-81', '11222333000181'],
    ['CNPJ', '12.abc.345/01de-35', '12ABC34501DE35'],
    ['EMAIL', 'Fulano.De-Tal+pix@Example.COM.br', 'fulano.de-tal+pix@example.com.br'],
    ['PHONE', '(11) 98765-4321', '+5511987654321'],
    ['PHONE', '+55 11 98765-4321', '+5511987654321'],
    ['PHONE', '5511987654321', '+5511987654321'],
    ['PHONE', '1133334444', '+551133334444'],
    ['PHONE', '55999999999', '+5555999999999'],
    ['PHONE', '+5510998765432', '+5510998765432'],
    ['EVP', '123E4567-E12B-12D1-A456-426655440000', '123e4567-e12b-12d1-a456-426655440000'],
  ])('%s %s → %s', (type, key, normal) => {
    expect(normalizePixKey({ key, type })).toEqual({ key: normal, type })
  })

  it.each<[PixKey['type'], string]>([
    ['CPF', '52998224724'],
    ['CPF', '11222333000181'],
    ['CNPJ', '52998224725'],
    ['CNPJ', '12.ABC.345/01DE-36'],
    ['EMAIL', 'fulano'],
    ['EMAIL', 'fulano@localhost'],
    ['EMAIL', 'fulano@example..com'],
    ['EMAIL', 'ful ano@example.com'],
    ['EMAIL', 'fulano@exämple.com'],
    ['EMAIL', `${'a'.repeat(66)}@example.com`],
    ['PHONE', '+1 212 555 0100'],
    ['PHONE', '+5501987654321'],
    ['PHONE', '987654321'],
    ['PHONE', '+5511887654321'],
    ['PHONE', '52998224724'],
    ['PHONE', '20987654321'],
    ['EVP', '123e4567e12b12d1a456426655440000'],
    ['EVP', '123e4567-e12b-12d1-a456-42665544000g'],
    ['EVP', ''],
  ])('refuses %s %s', (type, key) => {
    expect(normalizePixKey({ key, type })).toBeNull()
  })

  it('accepts an e-mail of 77 characters', () => {
    const key = `${'a'.repeat(65)}@example.com`
    expect(key).toHaveLength(77)
    expect(normalizePixKey({ key, type: 'EMAIL' })).toEqual({ key, type: 'EMAIL' })
  })
})

describe('detectPixKey', () => {
  it.each<[string, PixKey['type'], string]>([
    ['52998224725', 'CPF', '52998224725'],
    ['+5552998224725', 'PHONE', '+5552998224725'],
    ['11987654321', 'PHONE', '+5511987654321'],
    ['(11) 98765-4321', 'PHONE', '+5511987654321'],
    ['5511987654321', 'PHONE', '+5511987654321'],
    ['11222333000181', 'CNPJ', '11222333000181'],
    ['12ABC34501DE35', 'CNPJ', '12ABC34501DE35'],
    ['A@B.CO', 'EMAIL', 'a@b.co'],
    ['123e4567-e12b-12d1-a456-426655440000', 'EVP', '123e4567-e12b-12d1-a456-426655440000'],
  ])('%s is of type %s', (text, type, key) => {
    expect(detectPixKey(text)).toEqual({ key, type })
  })

  it('returns null for eleven digits that are neither a CPF nor a mobile number with an existing area code', () => {
    for (const text of ['52998224724', '12345678900', '20987654321', '11887654321'])
      expect(detectPixKey(text)).toBeNull()
    for (const text of ['11987654321', '99999999999', '+5552998224724']) expect(detectPixKey(text)?.type).toBe('PHONE')
  })

  it('reads eleven digits that are both as a CPF', () => {
    // A valid CPF that is also a valid mobile number of São Paulo.
    expect(detectPixKey('11900000083')).toEqual({ key: '11900000083', type: 'CPF' })
    expect(detectPixKey('+5511900000083')).toEqual({ key: '+5511900000083', type: 'PHONE' })
  })

  it.each(['', ' ', '12345678900', '119.876.543-21', '11222333000182', 'fulano', '+1 212 555 0100'])(
    'refuses %j',
    (text) => {
      expect(detectPixKey(text)).toBeNull()
    },
  )

  it('detects every normalized key again, whatever its type', () => {
    fc.assert(
      fc.property(anyKey, (key) => {
        expect(normalizePixKey(key)).toEqual(key)
        expect(detectPixKey(key.key)).toEqual(key)
      }),
    )
  })
})

const anyKey: fc.Arbitrary<PixKey> = fc.oneof(
  fc.integer().map((): PixKey => ({ key: generateCpf(), type: 'CPF' })),
  fc.constantFrom<1 | 2>(1, 2).map((version): PixKey => ({ key: generateCnpj(version), type: 'CNPJ' })),
  fc.stringMatching(/^[a-z0-9]{1,20}@[a-z0-9]{1,20}\.com$/).map((key): PixKey => ({ key, type: 'EMAIL' })),
  fc.stringMatching(/^\+55[1-9][0-9]9[0-9]{8}$/).map((key): PixKey => ({ key, type: 'PHONE' })),
  fc.uuid().map((key): PixKey => ({ key, type: 'EVP' })),
)
