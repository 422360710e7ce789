import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
  randomUUID,
} from 'node:crypto'
import { assert } from './assert.ts'

/** The service's secret key (32 bytes) and its former keys, newest first. Each purpose has a key derived from it. */
export type SecretKey = Readonly<{ current: Buffer; former: readonly Buffer[] }>

type Purpose =
  | 'client-secret'
  | 'webhook-secret'
  | 'signing-key'
  | 'statement-key'
  | 'transaction-id'
  | 'callback-path'
  | 'payment-page'
  | 'key-check'
  | 'former-keys'
  | 'csrf-token'
  | 'device'
  | 'second-factor'
  | 'sign-in'
  | 'person'
  | 'limit'

/**
 * The hashes for these purposes become ids, or parts of a response that a repeated request must get again unchanged.
 * They use the oldest key, so that the same input gives the same hash after a key rotation.
 */
const purposesOfIds = new Set<Purpose>(['transaction-id', 'payment-page'])

const keyBytes = 32
const ivBytes = 12
const tagBytes = 16

export function newSecretKey(): string {
  return randomBytes(keyBytes).toString('base64url')
}

/** Parses the format of {@link newSecretKey}. Returns null unless it is 32 bytes in base64url or base64. */
export function parseSecretKey(text: string): SecretKey | null {
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64url')
  return bytes.length === keyBytes ? { current: bytes, former: [] } : null
}

/** 256 random bits as text: a secret, a token or a nonce. */
export function newSecret(): string {
  return randomBytes(keyBytes).toString('base64url')
}

/** HMAC-SHA-256 with the key of the purpose. */
export function keyedHash(key: SecretKey, purpose: Purpose, text: string): Buffer {
  const from = purposesOfIds.has(purpose) ? (key.former.at(-1) ?? key.current) : key.current
  return hmac(from, purpose, text)
}

/**
 * The hash under the current key, then under each former key in order. For hashes that clients have stored, such as
 * callback addresses: those made with a former key stay valid.
 */
export function keyedHashes(key: SecretKey, purpose: Purpose, text: string): [Buffer, ...Buffer[]] {
  return [hmac(key.current, purpose, text), ...key.former.map((one) => hmac(one, purpose, text))]
}

function hmac(key: Buffer, purpose: Purpose, text: string): Buffer {
  return createHmac('sha256', deriveKey(key, purpose)).update(text).digest()
}

/** Encrypts with AES-256-GCM: 12 bytes of nonce, the ciphertext, 16 bytes of tag. */
export function seal(key: SecretKey, purpose: Purpose, plaintext: string): Buffer {
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv('aes-256-gcm', deriveKey(key.current, purpose), iv)
  return Buffer.concat([iv, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()])
}

/** The inverse of {@link seal}. Throws if the key is a different one or the data was changed. */
export function unseal(key: SecretKey, purpose: Purpose, sealed: Buffer): string {
  assert(sealed.length >= ivBytes + tagBytes, 'a sealed value is too short')
  const decipher = createDecipheriv('aes-256-gcm', deriveKey(key.current, purpose), sealed.subarray(0, ivBytes))
  decipher.setAuthTag(sealed.subarray(-tagBytes))
  return decipher.update(sealed.subarray(ivBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
}

/** A UUID v4: random, or derived from at least 16 bytes of a keyed hash, so that the same hash gives the same UUID. */
export function newUuid(from?: Buffer): string {
  if (!from) return randomUUID()
  const bytes = Buffer.from(from.subarray(0, 16))
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6)
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

const derived = new WeakMap<Buffer, Map<Purpose, KeyObject>>()

// A key object, because Node.js 24 takes five times as long for an HMAC whose key is a buffer.
function deriveKey(key: Buffer, purpose: Purpose): KeyObject {
  const keys = derived.get(key) ?? new Map<Purpose, KeyObject>()
  derived.set(key, keys)
  const known = keys.get(purpose)
  if (known) return known
  const made = createSecretKey(Buffer.from(hkdfSync('sha256', key, '', `guiche ${purpose}`, keyBytes)))
  keys.set(purpose, made)
  return made
}
