// Not the whole library, whose tables of cities and banks take 3 MB.
import { isValidCnpj } from '@brazilian-utils/brazilian-utils/is-valid-cnpj'
import { isValidCpf } from '@brazilian-utils/brazilian-utils/is-valid-cpf'

/** A Brazilian taxpayer's number, bare: eleven digits, or fourteen characters of which the last two are digits. */
export type TaxDocument = { value: string; type: 'CPF' | 'CNPJ' }

// Each mark may be left out, but none may stand anywhere else: `\D` stripping would turn "a1b2…" into a document, and
// would destroy the letters of an alphanumeric CNPJ (issued since July 2026).
const CPF = /^\d{3}\.?\d{3}\.?\d{3}-?\d{2}$/
const CNPJ = /^[\dA-Z]{2}\.?[\dA-Z]{3}\.?[\dA-Z]{3}\/?[\dA-Z]{4}-?\d{2}$/i
const MARKS = /[./-]/g

/** `"529.982.247-25"` → `{ value: "52998224725", type: "CPF" }`. Null for any other text or a wrong check digit. */
export function parseDocument(text: string): TaxDocument | null {
  if (CPF.test(text)) {
    const value = text.replace(MARKS, '')
    return isValidCpf(value) ? { value, type: 'CPF' } : null
  }
  if (CNPJ.test(text)) {
    const value = text.replace(MARKS, '').toUpperCase()
    // Version 2 is the CNPJ with letters; the library refuses those otherwise.
    return isValidCnpj(value, { version: 2 }) ? { value, type: 'CNPJ' } : null
  }
  return null
}
