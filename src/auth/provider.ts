import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, errors as joseErrors, jwtVerify } from 'jose'
import { request } from 'undici'
import type { Clock } from '../lib/clock.ts'
import { readClaims, type TokenVerifier } from './token.ts'

/** The provider did not answer, or not with what OpenID Connect says. */
export class ProviderUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'ProviderUnavailable'
  }
}

/** What the provider said to a request for a token, as it is: a grant, or an OAuth error. */
export type ProviderAnswer = { status: number; body: Record<string, unknown> }

export type Provider = {
  requestToken(input: { clientId: string; clientSecret: string; scope: string | null }): Promise<ProviderAnswer>
  verifyToken: TokenVerifier
}

type Metadata = { tokenEndpoint: string; jwksUri: string; issuer: string }

const timeoutMs = 5_000
const answerBytesMax = 256 * 1024
/** How long the provider's addresses and keys are kept. An unknown key id makes us read the keys again, but not more often than the pause. */
const keptMs = 10 * 60_000
const reloadPauseMs = 5_000
/** Asymmetric only: a provider's client secret must never verify a token. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/** An external OpenID Connect provider, such as Keycloak: it knows the credentials, we pass them on and reshape its answer. */
export function createProvider(deps: { issuer: string; clock: Clock }): Provider {
  const metadata = kept(async () => readMetadata(deps.issuer))
  const keys = kept(async () => {
    const answer = await fetchJson((await metadata(keptMs)).jwksUri)
    if (answer.status !== 200 || !Array.isArray(answer.body.keys))
      throw new ProviderUnavailable('The provider has no readable keys')
    return createLocalJWKSet(answer.body as unknown as JSONWebKeySet)
  })

  return {
    async requestToken({ clientId, clientSecret, scope }) {
      const { tokenEndpoint } = await metadata(keptMs)
      const form = new URLSearchParams({ grant_type: 'client_credentials' })
      if (scope) form.set('scope', scope)
      // RFC 6749 §2.3.1: identifier and secret are form-encoded before they become Basic.
      const basic = Buffer.from(`${encodeForm(clientId)}:${encodeForm(clientSecret)}`).toString('base64')
      const answer = await fetchJson(tokenEndpoint, { body: form.toString(), authorization: `Basic ${basic}` })
      if (answer.status >= 500) throw new ProviderUnavailable(`The provider answered ${answer.status}`)
      return answer
    },
    async verifyToken(token) {
      const { issuer } = await metadata(keptMs)
      const options = { algorithms, issuer, currentDate: deps.clock.now() }
      decodeProtectedHeader(token)
      try {
        return readClaims((await jwtVerify(token, await keys(keptMs), options)).payload)
      } catch (error) {
        if (!(error instanceof joseErrors.JWKSNoMatchingKey)) throw error
        return readClaims((await jwtVerify(token, await keys(reloadPauseMs), options)).payload)
      }
    },
  }
}

async function readMetadata(issuer: string): Promise<Metadata> {
  const { status, body } = await fetchJson(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
  const { token_endpoint: tokenEndpoint, jwks_uri: jwksUri, issuer: named } = body
  if (status !== 200 || typeof tokenEndpoint !== 'string' || typeof jwksUri !== 'string' || typeof named !== 'string') {
    throw new ProviderUnavailable('The provider has no readable OpenID Connect configuration')
  }
  if (named.replace(/\/$/, '') !== issuer.replace(/\/$/, '')) {
    throw new ProviderUnavailable(`The provider calls itself ${named}, not ${issuer} as AUTH_ISSUER has it`)
  }
  return { tokenEndpoint, jwksUri, issuer: named }
}

async function fetchJson(url: string, post?: { body: string; authorization: string }): Promise<ProviderAnswer> {
  try {
    const answer = await request(url, {
      signal: AbortSignal.timeout(timeoutMs),
      ...(post
        ? {
            method: 'POST',
            body: post.body,
            headers: { authorization: post.authorization, 'content-type': 'application/x-www-form-urlencoded' },
          }
        : {}),
    })
    const length = Number(answer.headers['content-length'] ?? 0)
    if (length > answerBytesMax) throw new Error('The answer is too large')
    const body: unknown = await answer.body.json()
    if (typeof body !== 'object' || body === null) throw new Error('The answer is no JSON object')
    return { status: answer.statusCode, body: { ...body } }
  } catch (error) {
    throw new ProviderUnavailable('The authentication provider could not be reached', { cause: error })
  }
}

/** A value that is read when it is first asked for, and again when it is older than the asker accepts. Failures are not kept. */
function kept<Value>(read: () => Promise<Value>): (ageMaxMs: number) => Promise<Value> {
  let value: Promise<Value> | null = null
  let readAt = 0
  return (ageMaxMs) => {
    if (value && performance.now() - readAt <= ageMaxMs) return value
    readAt = performance.now()
    const reading = read()
    value = reading
    reading.catch(() => {
      if (value === reading) value = null
    })
    return reading
  }
}

function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}
