import { timingSafeEqual } from 'node:crypto'
import { keyedHash, type SecretKey } from '../lib/secrets.ts'

/** The address of an acquirer's callbacks, with a part that nobody can guess. The acquirer appends `/pix`. */
export function callbackPath(key: SecretKey, acquirer: string): string {
  return `/callbacks/${acquirer}/${callbackSecret(key, acquirer)}`
}

export function isCallbackSecret(key: SecretKey, acquirer: string, secret: string): boolean {
  const [expected, given] = [Buffer.from(callbackSecret(key, acquirer)), Buffer.from(secret)]
  return expected.length === given.length && timingSafeEqual(expected, given)
}

function callbackSecret(key: SecretKey, acquirer: string): string {
  return keyedHash(key, 'callback-path', acquirer).toString('base64url')
}
