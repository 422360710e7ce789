import { describe, expect, it } from 'vitest'
import { sentences, writeFieldError } from '../../dashboard/src/field-errors.ts'
import { fieldErrorCodes } from '../../src/lib/errors.ts'

describe.each(['en', 'pt'] as const)('an error of a field, in the language %s', (language) => {
  it.each(fieldErrorCodes)('has a sentence for %s', (code) => {
    const written = writeFieldError({ field: 'anything', code, limit: 10 }, language)
    expect(written).toMatch(/^[A-Z].*\.$/)
    if (code !== 'invalid') expect(written).not.toBe(sentences[language].ofCode.invalid(''))
  })

  it('has a sentence for a code that this dashboard does not know yet', () => {
    expect(writeFieldError({ field: 'anything', code: 'toString' }, language)).toBe(
      sentences[language].ofCode.invalid(''),
    )
  })
})

it('writes sentences for the same fields in both languages', () => {
  expect(Object.keys(sentences.pt.ofField)).toEqual(Object.keys(sentences.en.ofField))
})

it('writes the limit of an amount as money', () => {
  const error = { field: 'amount', code: 'too_large', limit: 2590, unit: 'cents' } as const
  expect(writeFieldError(error, 'en')).toBe('Enter at most R$25.90.')
  expect(writeFieldError(error, 'pt')).toBe('No máximo R$\u00a025,90.')
  expect(writeFieldError({ field: 'name', code: 'too_short', limit: 3 }, 'pt')).toBe('No mínimo 3 caracteres.')
})
