import { createPrivateKey, createPublicKey, type JsonWebKeyInput, type KeyObject, sign, verify } from 'node:crypto'
import { parseJson } from './http.ts'
import { isRecord } from './validate.ts'

/**
 * Compact JWS with ES256, the signature of the Pix standard. Synchronous: Web Crypto sends each signature to another
 * thread, which costs three times as much CPU as the signature itself.
 */
export const signingAlgorithm = 'ES256'

// The form of a signature in a JWS. OpenSSL's own is DER.
const dsaEncoding = 'ieee-p1363'

type Jwk = JsonWebKeyInput['key']

export function readPrivateKey(jwk: Jwk): KeyObject {
  return createPrivateKey({ key: jwk, format: 'jwk' })
}

export function readPublicKey(jwk: Jwk): KeyObject {
  return createPublicKey({ key: jwk, format: 'jwk' })
}

/** The protected header is `header` and the algorithm. */
export function signJws(key: KeyObject, header: Record<string, string>, payload: unknown): string {
  const signed = `${toBase64Url({ alg: signingAlgorithm, ...header })}.${toBase64Url(payload)}`
  return `${signed}.${sign('sha256', Buffer.from(signed), { key, dsaEncoding }).toString('base64url')}`
}

export type Jws = { header: Record<string, unknown>; payload: string; signed: string; signature: string }

/** Null for any other text. Nothing is verified. */
export function readJws(text: string): Jws | null {
  const [, signed = '', first = '', payload = '', signature = ''] = compactShape.exec(text) ?? []
  const header = parseJson(fromBase64Url(first))
  // `crit` names extensions that a reader must know, and this one knows none.
  if (!isRecord(header) || header.alg !== signingAlgorithm || 'crit' in header) return null
  return { header, payload, signed, signature }
}

const compactShape = /^(([\w-]+)\.([\w-]+))\.([\w-]+)$/

/** The payload. Null if the signature is not of this key. */
export function verifyJws({ payload, signed, signature }: Jws, key: KeyObject): unknown {
  const isValid = verify('sha256', Buffer.from(signed), { key, dsaEncoding }, Buffer.from(signature, 'base64url'))
  return isValid ? (parseJson(fromBase64Url(payload)) ?? null) : null
}

function toBase64Url(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

function fromBase64Url(text: string): string {
  return Buffer.from(text, 'base64url').toString('utf8')
}
