import {
  CompactSign,
  type CryptoKey,
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import { assert } from '../src/lib/assert.ts'
import { expiryOf, toCobBase } from './charges.ts'
import { type HttpResponse, json, parseJson, problem } from './http.ts'
import { readLocationPath } from './location.ts'
import type { Network } from './network.ts'
import { isRecord } from './validate.ts'

/** That of the Pix standard. */
const signingAlgorithm = 'ES256'

export type Signer = { key: CryptoKey | Uint8Array; kid: string; publicJwk: JWK }

/** A new private key as JWK text, for a network without one. */
export async function newSigningJwk(): Promise<string> {
  const { privateKey } = await generateKeyPair(signingAlgorithm, { extractable: true })
  return JSON.stringify(await exportJWK(privateKey))
}

export async function readSigningJwk(text: string): Promise<Signer> {
  const jwk = parseJson(text)
  assert(isRecord(jwk) && typeof jwk.d === 'string', 'the signing key of the simulator is readable')
  const { d, ...publicPart } = jwk
  const kid = await calculateJwkThumbprint(publicPart)
  const publicJwk = { ...publicPart, kid, alg: signingAlgorithm, use: 'sig' }
  return { key: await importJWK(jwk, signingAlgorithm), kid, publicJwk }
}

/** `GET /qr/jwks.json`: the keys with which payers' banks verify payloads. */
export function getKeys(network: Network): HttpResponse {
  return json(200, { keys: [network.signer.publicJwk] })
}

/**
 * `GET /qr/v2/…`: the charge as a payer's bank reads it, signed. A charge that can no longer be paid is not shown. The
 * standard leaves that to the PSP; here `violacoes` says which of the reasons it was.
 */
export async function getPayload(network: Network, path: string): Promise<HttpResponse> {
  const id = readLocationPath(path)
  const charge = id && (await network.findCharge(id))
  if (!charge) {
    return problem('CobPayloadNaoEncontrado', 'A cobrança em questão não foi encontrada para a location requisitada.')
  }
  if (charge.removedAt) return gone('A cobrança foi removida.', 'cob.status')
  if (charge.pixes.length > 0) return gone('A cobrança já foi paga.', 'status')
  if (network.clock.now() >= expiryOf(charge)) return gone('A cobrança expirou.', 'calendario.expiracao')
  const { calendario, ...base } = toCobBase(charge, { isPaid: false })
  const presentedAt = network.clock.now().toISOString()
  const payload = { ...base, calendario: { ...calendario, apresentacao: presentedAt } }
  const { key, kid } = network.signer
  const jws = await new CompactSign(Buffer.from(JSON.stringify(payload)))
    .setProtectedHeader({ alg: signingAlgorithm, typ: 'JWS', kid, jku: `${charge.baseUrl}/qr/jwks.json` })
    .sign(key)
  return { status: 200, headers: { 'content-type': 'application/jose' }, body: jws }
}

function gone(razao: string, propriedade: string): HttpResponse {
  return problem('CobPayloadRemovido', razao, [{ razao, propriedade }])
}
