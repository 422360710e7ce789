import { timingSafeEqual } from 'node:crypto'
import { keyedHash, keyedHashes, type SecretKey } from '../lib/secrets.ts'
import { fromTxid, toTxid } from '../pix/ids.ts'

const idBytes = 16
/** 128 bits: nobody can guess an address. */
const tagBytes = 16

/**
 * The token in the address of a payment page: the transaction's id and a keyed hash of it, in 43 characters. Always
 * the same for a transaction.
 */
export function paymentToken(key: SecretKey, transactionId: string): string {
  return toToken(transactionId, keyedHash(key, 'payment-page', transactionId))
}

function toToken(transactionId: string, hash: Buffer): string {
  return Buffer.concat([Buffer.from(toTxid(transactionId), 'hex'), hash.subarray(0, tagBytes)]).toString('base64url')
}

/** The id of the transaction that a token was made for; null for any other text. */
export function readPaymentToken(key: SecretKey, token: string): string | null {
  const id = fromTxid(Buffer.from(token, 'base64url').subarray(0, idBytes).toString('hex'))
  if (id === null) return null
  // Base64 decoding accepts several spellings of a value, so the token is compared as text. Links stay valid when the
  // key is replaced.
  return keyedHashes(key, 'payment-page', id).some((hash) => isEqual(toToken(id, hash), token)) ? id : null
}

function isEqual(expected: string, received: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(received)]
  return one.length === other.length && timingSafeEqual(one, other)
}
