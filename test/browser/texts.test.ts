import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { errorTexts, writeError } from '../../dashboard/src/error-texts.ts'
import { sentences, writeFieldError } from '../../dashboard/src/field-errors.ts'
import { writeReasonSentence } from '../../dashboard/src/reason-texts.ts'
import { toReason } from '../../src/explain/sentences.ts'
import { AppError, errors, fieldErrorCodes, refusal } from '../../src/lib/errors.ts'

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

describe('a reason that is stored in English', () => {
  it('has words in Portuguese, whatever the acquirer did', () => {
    const source = readdirSync('src/acquirers', { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .map((file) => readFileSync(`src/acquirers/${file}`, 'utf8'))
      .join('')
    const thrown = [...source.matchAll(/new AcquirerUnavailable\(\s*['`]([^'`]*)['`]/g)].map(([, text = '']) => text)
    expect(thrown.length).toBeGreaterThan(15)
    for (const template of thrown) {
      const text = template.replace('${status}', '503').replaceAll(/\$\{[^}]*\}+/g, ': recusado')
      const reason = toReason(text)
      expect(reason?.code, text).not.toBeNull()
      expect(reason && writeReasonSentence(reason, 'pt'), text).toMatch(/^\p{Lu}.*\.$/u)
      expect(reason && writeReasonSentence(reason, 'en'), text).toContain(text)
    }
  })

  it('keeps the words of the PSP', () => {
    const refused = toReason('The acquirer refused to list pix: período inválido')
    expect(refused && writeReasonSentence(refused, 'pt')).toBe('O PSP recusou a consulta: período inválido.')
    const own = toReason('Conta encerrada')
    expect(own && writeReasonSentence(own, 'pt')).toBe('Conta encerrada.')
    const gone = toReason('The acquirer efi is not configured any more: configure it again.')
    expect(gone && writeReasonSentence(gone, 'pt')).toBe('O PSP não está mais configurado: configure-o de novo.')
  })
})

describe('a refusal', () => {
  const write = (error: AppError, language: 'en' | 'pt') => {
    const { code, message: sentence, details } = error
    return writeError({ code, sentence, fields: details.fields ?? [] }, language)
  }

  it.each(Object.keys(errors) as (keyof typeof errors)[])('has a sentence in both languages for %s', (code) => {
    expect(errorTexts.en[code]).toMatch(/^[A-Z].*[.:]$/)
    expect(errorTexts.pt[code]).toMatch(/^[A-Z].*[.:]$/)
    expect(errorTexts.pt[code]).not.toBe(errorTexts.en[code])
  })

  it('has a reason for each refusal by a state, or does not compile', () => {
    // @ts-expect-error A detail is in English only.
    void new AppError('refund_not_possible', { detail: 'No.' })
  })

  it('gives its reason in the chosen language, and shows nothing of the service’s sentence', () => {
    const error = refusal('refund_not_possible', 'refund_in_progress', 'A refund is in progress.')
    expect(write(error, 'pt')).toEqual({
      sentence:
        'Não é possível devolver esta transação. Uma devolução desta transação está em andamento. Tente de novo quando terminar.',
      list: [],
    })
  })

  it('names the fields of an invalid request, and the records that are in the way', () => {
    const field = { field: 'amount', code: 'required', message: 'is required' } as const
    expect(write(new AppError('validation_failed', { fields: [field] }), 'en').list).toEqual([
      ['amount', 'Fill in this field.'],
    ])
    const record = { field: 'document', code: 'still_open', message: 'is open', recordId: 'a1' } as const
    expect(write(new AppError('erasure_not_possible', { fields: [record] }), 'pt').list).toEqual([
      ['a1', 'Ainda não terminou. Até lá os dados são necessários.'],
    ])
  })
})
