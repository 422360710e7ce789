// Shared by signing and verifying. No public type uses it: compilers before TypeScript 5.7 do not know
// `Uint8Array<ArrayBuffer>`.

/** Some platforms' types do not declare `CryptoKey`. */
type HmacKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

const secretPrefix = 'whsec_'

/** Imports a `whsec_…` secret as a key for signing and verifying. */
export async function importSecret(secret: string): Promise<HmacKey> {
  const bytes = secret?.startsWith?.(secretPrefix) ? fromBase64(secret.slice(secretPrefix.length)) : null
  // The message does not show the secret, which must not get into a log.
  if (!bytes || bytes.length === 0)
    throw new TypeError('A webhook secret is "whsec_" and base64. Is an environment variable missing?')
  return await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify'])
}

/** Text or bytes as bytes. */
export function toBytes(body: string | Uint8Array | ArrayBuffer): Uint8Array<ArrayBuffer> {
  if (typeof body === 'string') return new TextEncoder().encode(body)
  if (body instanceof Uint8Array || body instanceof ArrayBuffer) return new Uint8Array(body)
  throw new TypeError('The raw body is needed, as text or bytes, before anything parses it.')
}

/** Two pieces as one. */
export function concat(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(head.length + tail.length)
  whole.set(head)
  whole.set(tail, head.length)
  return whole
}

/** Null if the text is not base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return null
  }
}
