// Only these two modules: the whole library has tables of cities and banks that take 3 MB.
import { isValidCnpj } from '@brazilian-utils/brazilian-utils/is-valid-cnpj'
import { isValidCpf } from '@brazilian-utils/brazilian-utils/is-valid-cpf'

/**
 * A Brazilian tax number without punctuation: a CPF of eleven digits, or a CNPJ of fourteen characters that ends in two
 * digits.
 */
export type TaxDocument = { value: string; type: 'CPF' | 'CNPJ' }

// Punctuation is optional but must be in the right place. Stripping with `\D` would accept "a1b2…" as a document and
// would destroy the letters of an alphanumeric CNPJ (issued since July 2026).
const CPF = /^\d{3}\.?\d{3}\.?\d{3}-?\d{2}$/
const CNPJ = /^[\dA-Z]{2}\.?[\dA-Z]{3}\.?[\dA-Z]{3}\/?[\dA-Z]{4}-?\d{2}$/i
const MARKS = /[./-]/g

/** `"529.982.247-25"` → `{ value: "52998224725", type: "CPF" }`. Null for any other text and for wrong check digits. */
export function parseDocument(text: string): TaxDocument | null {
  if (CPF.test(text)) {
    const value = text.replace(MARKS, '')
    return isValidCpf(value) ? { value, type: 'CPF' } : null
  }
  if (CNPJ.test(text)) {
    const value = text.replace(MARKS, '').toUpperCase()
    // Version 2 is the alphanumeric CNPJ. Without it the library rejects letters.
    return isValidCnpj(value, { version: 2 }) ? { value, type: 'CNPJ' } : null
  }
  return null
}
