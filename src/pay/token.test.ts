import { expect, it } from 'vitest'
import { newSecretKey, newUuid, parseSecretKey } from '../lib/secrets.ts'
import { paymentToken, readPaymentToken } from './token.ts'

const newKey = () => {
  const key = parseSecretKey(newSecretKey())
  if (!key) throw new Error('no key')
  return key
}
const key = newKey()

it('a token can be read with the key that made it, is always the same, and can be used in a URL', () => {
  const id = newUuid()
  const token = paymentToken(key, id)
  expect(token).toMatch(/^[\w-]{43}$/)
  expect(paymentToken(key, id)).toBe(token)
  expect(readPaymentToken(key, token)).toBe(id)
  expect(readPaymentToken(newKey(), token)).toBeNull()
})

it('a token stays the same when the key is replaced, as a repeated create must return it again', () => {
  const id = newUuid()
  const replaced = { current: newKey().current, former: [key.current] }
  expect(paymentToken(replaced, id)).toBe(paymentToken(key, id))
  expect(readPaymentToken(replaced, paymentToken(key, id))).toBe(id)
})

it('a token is rejected if a single character differs', () => {
  const token = paymentToken(key, newUuid())
  for (let at = 0; at < token.length; at += 1) {
    for (const letter of ['A', 'B', 'z', '_']) {
      const changed = token.slice(0, at) + letter + token.slice(at + 1)
      if (changed !== token) expect(readPaymentToken(key, changed), changed).toBeNull()
    }
  }
  const malformed = [
    `${token}A`,
    `${token}=`,
    ` ${token}`,
    token.slice(0, -1),
    token.slice(0, 22),
    '',
    'é',
    '../../etc',
  ]
  for (const text of malformed) expect(readPaymentToken(key, text), text).toBeNull()
  // The tag of one transaction with the id of another one.
  const otherTag = Buffer.from(paymentToken(key, newUuid()), 'base64url').subarray(16)
  const mixed = Buffer.concat([Buffer.from(token, 'base64url').subarray(0, 16), otherTag]).toString('base64url')
  expect(readPaymentToken(key, mixed)).toBeNull()
})
