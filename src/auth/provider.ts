import {
  createLocalJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyGetKey,
  errors as joseErrors,
  jwtVerify,
} from 'jose'
import { Agent, request } from 'undici'
import type { Clock } from '../lib/clock.ts'
import { createRefreshingCache } from './refreshing-cache.ts'
import { readClaims, type TokenClaims, type TokenVerifier } from './token.ts'

/** The provider did not answer, or its answer violates OpenID Connect. */
export class ProviderUnavailable extends Error {
  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'ProviderUnavailable'
  }
}

/** The provider's response, unchanged: to a token request, a grant or an OAuth error. */
export type ProviderAnswer = { status: number; body: Record<string, unknown> }

export type Provider = {
  requestToken(input: { clientId: string; clientSecret: string; scope: string | null }): Promise<ProviderAnswer>
  verifyToken: TokenVerifier
}

type Metadata = { tokenEndpoint: string; jwksUri: string; issuer: string }

const timeoutMs = 5_000
/** Ten times the size of a large provider's keys. */
const answerBytesMax = 256 * 1024
/**
 * Tolerated difference between our clock and the provider's, for tokens that become valid at the moment of their
 * creation.
 */
const clockToleranceSeconds = 10
/**
 * The statuses with which a provider refuses a request. Any other status than these and 200 means that the provider
 * failed.
 */
const refusals = new Set([400, 401, 403, 429])
/**
 * A token that claims a longer lifetime is accepted for this long only, the maximum of our own tokens, so that a
 * leaked token expires.
 */
export const lifetimeSecondsMax = 24 * 60 * 60
/** Asymmetric only: a provider's client secret must never verify a token. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
/**
 * The type of RFC 9068, and the ones of providers that do not follow it. A provider's key also signs other things,
 * such as logout notices.
 */
const types = new Set(['at+jwt', 'application/at+jwt', 'jwt'])

/**
 * An external OpenID Connect provider, such as Keycloak. It knows the credentials; we pass them on and convert its
 * answer.
 */
export function createProvider(deps: { issuer: string; audience: string | null; clock: Clock }): Provider {
  const dispatcher = new Agent({ maxResponseSize: answerBytesMax })
  const metadata = createRefreshingCache(async () => await readMetadata(dispatcher, deps.issuer))
  const keys = createRefreshingCache(async () => await readKeys(dispatcher, (await metadata.get()).jwksUri))

  async function check(token: string, key: JWTVerifyGetKey): Promise<TokenClaims> {
    const { issuer } = await metadata.get()
    const currentDate = deps.clock.now()
    const options = {
      algorithms,
      issuer,
      currentDate,
      clockTolerance: clockToleranceSeconds,
      ...(deps.audience !== null && { audience: deps.audience }),
    }
    const { payload, protectedHeader } = await jwtVerify(token, key, options)
    // Keycloak writes in the claim `typ` what RFC 9068 writes in the header. It signs ID tokens with the same key.
    const isBearer = payload.typ === undefined || payload.typ === 'Bearer'
    if (!isBearer || !types.has((protectedHeader.typ ?? 'jwt').toLowerCase())) {
      throw new joseErrors.JWTClaimValidationFailed('the token is no access token', payload, 'typ')
    }
    const claims = readClaims(payload)
    return {
      ...claims,
      // A client may also be used to sign people in. A person's token must name our scopes; otherwise it permits
      // nothing here.
      scopes: claims.scopes ?? (isOfClient(payload, claims.clientId) ? null : []),
      expiresAt: Math.min(claims.expiresAt, claims.issuedAt + lifetimeSecondsMax),
    }
  }

  return {
    async requestToken({ clientId, clientSecret, scope }) {
      const { tokenEndpoint } = await metadata.get()
      const form = new URLSearchParams({ grant_type: 'client_credentials' })
      if (scope) form.set('scope', scope)
      // RFC 6749 §2.3.1: identifier and secret are form-encoded before they become Basic.
      const basic = Buffer.from(`${encodeForm(clientId)}:${encodeForm(clientSecret)}`).toString('base64')
      const answer = await fetchJson(dispatcher, tokenEndpoint, {
        body: form.toString(),
        authorization: `Basic ${basic}`,
      })
      if (answer.status === 200 || refusals.has(answer.status)) return answer
      throw new ProviderUnavailable(`The provider answered ${answer.status} to a request for a token`)
    },
    async verifyToken(token) {
      // Something that is not a token is refused without asking the provider.
      decodeProtectedHeader(token)
      try {
        return await check(token, await keys.get())
      } catch (error) {
        if (!(error instanceof joseErrors.JWKSNoMatchingKey)) throw error
        return await check(token, await keys.renew())
      }
    },
  }
}

/** The subject is the client itself (RFC 9068 §2.2), or the user that Keycloak creates for it. */
function isOfClient({ sub, preferred_username: username }: JWTPayload, clientId: string): boolean {
  return sub === undefined || sub === clientId || username === `service-account-${clientId.toLowerCase()}`
}

async function readMetadata(dispatcher: Agent, issuer: string): Promise<Metadata> {
  const { status, body } = await fetchJson(dispatcher, `${withoutSlash(issuer)}/.well-known/openid-configuration`)
  const { issuer: named } = body
  const [tokenEndpoint, jwksUri] = [body.token_endpoint, body.jwks_uri].map((url) => readEndpoint(url, issuer))
  if (status !== 200 || !tokenEndpoint || !jwksUri || typeof named !== 'string') {
    throw new ProviderUnavailable('The provider has no readable OpenID Connect configuration')
  }
  if (withoutSlash(named) !== withoutSlash(issuer)) {
    throw new ProviderUnavailable(`The provider calls itself ${named}, not ${issuer} as AUTH_ISSUER has it`)
  }
  return { tokenEndpoint, jwksUri, issuer: named }
}

/**
 * The endpoint may be on another host. But if the issuer uses https, it must too: clients' secrets are not sent in
 * the clear.
 */
function readEndpoint(url: unknown, issuer: string): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  const { protocol } = new URL(url)
  return protocol === 'https:' || protocol === new URL(issuer).protocol ? url : null
}

async function readKeys(dispatcher: Agent, url: string): Promise<JWTVerifyGetKey> {
  const { status, body } = await fetchJson(dispatcher, url)
  try {
    if (status === 200) return createLocalJWKSet(body as unknown as JSONWebKeySet)
  } catch (error) {
    throw new ProviderUnavailable('The provider has no readable keys', { cause: error })
  }
  throw new ProviderUnavailable(`The provider answered ${status} when it was asked for its keys`)
}

/**
 * Redirects are not followed: a token request carries a secret, which is only for the configured address.
 *
 * @throws {ProviderUnavailable} it did not answer, or not with a JSON object
 */
async function fetchJson(
  dispatcher: Agent,
  url: string,
  post?: { body: string; authorization: string },
): Promise<ProviderAnswer> {
  const answer = await request(url, {
    dispatcher,
    // Covers everything, including the connection and the reading of the body.
    signal: AbortSignal.timeout(timeoutMs),
    ...(post && {
      method: 'POST',
      body: post.body,
      headers: { authorization: post.authorization, 'content-type': 'application/x-www-form-urlencoded' },
    }),
  }).catch((cause: unknown) => {
    throw new ProviderUnavailable('The provider did not answer', { cause })
  })
  const body: unknown = await answer.body.json().catch((cause: unknown) => {
    throw new ProviderUnavailable(`The provider answered ${answer.statusCode} without readable JSON`, { cause })
  })
  if (typeof body !== 'object' || body === null)
    throw new ProviderUnavailable(`The provider answered ${answer.statusCode} without a JSON object`)
  return { status: answer.statusCode, body: { ...body } }
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}

function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}
