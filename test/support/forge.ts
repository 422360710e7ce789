import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createKeyRing } from '../../src/auth/keys.ts'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import type { TestService } from './service.ts'

type Json = Record<string, unknown>

/** A JWT with any header and claims. `signer` returns its signature. */
export function makeJwt(header: Json, claims: Json, signer: (text: string) => Buffer): string {
  const text = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${signer(text).toString('base64url')}`
}

export function es256(key: KeyObject): (text: string) => Buffer {
  return (text) => sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
}

export function hs256(secret: string | Buffer): (text: string) => Buffer {
  return (text) => createHmac('sha256', secret).update(text).digest()
}

export function newEcKey(): { privateKey: KeyObject; publicKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

export function decodePart(token: string, index: 0 | 1): Json {
  return JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString('utf8'))
}

/** The keys of a service, as another process on its database loads them. */
export async function keyRingOf({ db, clock }: Pick<TestService, 'db' | 'clock'>) {
  const { key } = await loadSecretKey(db, null)
  return createKeyRing({ db, clock, key })
}
