import { parseDocument } from '../lib/document.ts'
import { isBrazilianMobile } from '../lib/phone.ts'

export type PixKeyType = 'CPF' | 'CNPJ' | 'EMAIL' | 'PHONE' | 'EVP'

/** "PixKeyVo" of the API. */
export type PixKey = { key: string; type: PixKeyType }

/**
 * The key in the form of the Pix system (documents without punctuation, e-mail addresses and UUIDs in lower case,
 * phones with `+55`), or null when it is not a key of its type.
 */
export function normalizePixKey({ key, type }: PixKey): PixKey | null {
  const normal = normalizers[type](key)
  return normal === null ? null : { key: normal, type }
}

/**
 * Detects the type of a key and normalises it. Eleven digits can be both a CPF and a mobile phone: a valid CPF wins, as
 * in the banks' apps, where a phone needs its `+55`.
 */
export function detectPixKey(text: string): PixKey | null {
  for (const type of inOrderOfDetection) {
    const key = normalizePixKey({ key: text, type })
    if (key) return key
  }
  return null
}

const inOrderOfDetection = ['CPF', 'CNPJ', 'EMAIL', 'EVP', 'PHONE'] as const satisfies PixKeyType[]

const normalizers = {
  CPF: (key) => document(key, 'CPF'),
  CNPJ: (key) => document(key, 'CNPJ'),
  EMAIL: email,
  PHONE: phone,
  EVP: (key) => (UUID.test(key) ? key.toLowerCase() : null),
} satisfies Record<PixKeyType, (key: string) => string | null>

// Any version: the Central Bank's directory has issued others than version 4.
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

function document(key: string, type: 'CPF' | 'CNPJ'): string | null {
  const parsed = parseDocument(key)
  return parsed?.type === type ? parsed.value : null
}

// The limit and the pattern are those of the Central Bank's directory (DICT).
const EMAIL_LENGTH_MAX = 77
const EMAIL = /^[a-z\d.!#$%&'*+/=?^_`{|}~-]+@[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?)+$/

function email(key: string): string | null {
  if (key.length > EMAIL_LENGTH_MAX) return null
  const lower = key.toLowerCase()
  return EMAIL.test(lower) ? lower : null
}

// Only the shape: the directory decides which numbers exist, and its own examples have area codes that do not.
const PHONE = /^(?:\+?55)?([1-9]\d(?:9\d{8}|[2-5]\d{7}))$/
const PHONE_SPELLING = /^\+?[\d ().-]{10,24}$/
// A phone may have dots and a hyphen too; in these places they belong to a document, here a mistyped one.
const DOCUMENT_SPELLING = /^\d{3}\.\d{3}\.\d{3}-\d{2}$/

function phone(key: string): string | null {
  if (!PHONE_SPELLING.test(key) || DOCUMENT_SPELLING.test(key)) return null
  // With an area code that does not exist, eleven digits are most likely a mistyped CPF.
  if (/^\d{11}$/.test(key) && !isBrazilianMobile(key)) return null
  const match = PHONE.exec(key.replace(/[ ().-]/g, ''))
  return match ? `+55${match[1]}` : null
}
