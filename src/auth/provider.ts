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
import { keep } from './keep.ts'
import { readClaims, type TokenClaims, type TokenVerifier } from './token.ts'

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
/** Ten times what the keys of a large provider take. */
const answerBytesMax = 256 * 1024
/** What our clock and the provider's may differ by, for tokens that begin to be good at the very moment they are made. */
const clockToleranceSeconds = 10
/** With which a provider says what is wrong with a request. Any other status but 200 is of the provider itself. */
const refusals = new Set([400, 401, 403, 429])
/** A token that claims to be valid for longer is valid for this long, as our own are: a leaked one must end. */
export const lifetimeSecondsMax = 24 * 60 * 60
/** Asymmetric only: a provider's client secret must never verify a token. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']
/** RFC 9068's, and what those write who do not follow it. A provider's key signs other things too, such as notices of a logout. */
const types = new Set(['at+jwt', 'application/at+jwt', 'jwt'])

/** An external OpenID Connect provider, such as Keycloak: it knows the credentials, we pass them on and reshape its answer. */
export function createProvider(deps: { issuer: string; audience: string | null; clock: Clock }): Provider {
  const dispatcher = new Agent({ maxResponseSize: answerBytesMax })
  const metadata = keep(async () => await readMetadata(dispatcher, deps.issuer))
  const keys = keep(async () => await readKeys(dispatcher, (await metadata.get()).jwksUri))

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
    // Keycloak says in the claim `typ` what RFC 9068 says in the header: ID tokens are signed with the same key.
    const isBearer = payload.typ === undefined || payload.typ === 'Bearer'
    if (!isBearer || !types.has((protectedHeader.typ ?? 'jwt').toLowerCase())) {
      throw new joseErrors.JWTClaimValidationFailed('the token is no access token', payload, 'typ')
    }
    const claims = readClaims(payload)
    return {
      ...claims,
      // A client may also sign people in. A person's token names our scopes, or it opens nothing here.
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
      // What is no token at all is not worth asking the provider anything.
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

/** The client itself is the subject (RFC 9068 §2.2), or the user that Keycloak keeps for it. */
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

/** Another host it may be, but clients' secrets do not leave in the clear when the issuer is spoken to in private. */
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

/** Redirects are not followed: a request for a token carries a secret, which is for the address that was configured. */
async function fetchJson(
  dispatcher: Agent,
  url: string,
  post?: { body: string; authorization: string },
): Promise<ProviderAnswer> {
  try {
    const answer = await request(url, {
      dispatcher,
      // Over everything, connecting and reading the body included.
      signal: AbortSignal.timeout(timeoutMs),
      ...(post && {
        method: 'POST',
        body: post.body,
        headers: { authorization: post.authorization, 'content-type': 'application/x-www-form-urlencoded' },
      }),
    })
    const body: unknown = await answer.body.json()
    if (typeof body !== 'object' || body === null) throw new Error('The answer is no JSON object')
    return { status: answer.statusCode, body: { ...body } }
  } catch (error) {
    throw new ProviderUnavailable('The authentication provider could not be reached', { cause: error })
  }
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '')
}

function encodeForm(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}
