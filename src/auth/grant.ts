import { errors as joseErrors } from 'jose'
import type { BaseLogger } from 'pino'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { authenticateClient } from './clients.ts'
import type { Credentials } from './credentials.ts'
import type { KeyRing } from './keys.ts'
import { lifetimeSecondsMax, type Provider, ProviderUnavailable } from './provider.ts'
import { parseScopes, type Scope } from './scopes.ts'
import { type ClientRow, findClient, notBeforeOf } from './store.ts'
import { issueToken } from './token.ts'

/** For an overloaded provider, which seldom says how long to wait. */
const retryAfterSeconds = 10

export type TokenDeps = {
  db: Db
  log: Pick<BaseLogger, 'warn'>
  clock: Clock
  key: SecretKey
  keys: KeyRing
  /** Null when this service knows the credentials itself. */
  provider: Provider | null
  baseUrl: string
  tokenLifetimeSeconds: number
}

/** The token endpoint's response, with the fields of the API. */
export type TokenGrant = {
  access_token: string
  /** Unix seconds of expiry. */
  expires_in: number
  refresh_expires_in: number
  token_type: 'Bearer'
  'not-before-policy': number
  scope: string
  /** Lifetime in seconds. */
  expires_in_sec: number
}

/** An error of the token endpoint: RFC 6749 §5.2. */
export class OAuthError extends Error {
  readonly status: number
  readonly code: string
  readonly description: string
  readonly headers: Record<string, string>

  constructor(
    status: number,
    code: string,
    description: string,
    headers: Record<string, string> = {},
    options?: { cause?: unknown },
  ) {
    super(description, options)
    this.name = 'OAuthError'
    this.status = status
    this.code = code
    this.description = description
    this.headers = headers
  }
}

/**
 * Exchanges client credentials for an access token, here or at the external provider.
 *
 * @throws {OAuthError} 401 `invalid_client`, 400 `invalid_scope`, 400 or 429 with the provider's error if it refuses
 *   the request, 502 when the provider does not answer or its answer has no usable token or lifetime
 */
export async function grantToken(deps: TokenDeps, credentials: Credentials): Promise<TokenGrant> {
  return deps.provider ? await grantByProvider(deps, deps.provider, credentials) : await grantLocally(deps, credentials)
}

async function grantLocally(deps: TokenDeps, credentials: Credentials): Promise<TokenGrant> {
  // The time is read before the client: a revocation after the client was read then refuses this token as well.
  const now = Math.floor(deps.clock.now().getTime() / 1000)
  const client = await authenticateClient(deps, credentials)
  if (!client) throw invalidClient(credentials)
  const notBefore = notBeforeOf(client)
  const scopes = narrow(client.scopes, credentials.scope)
  const { token, expiresAt } = await issueToken(deps, {
    issuer: deps.baseUrl,
    clientId: client.client_id,
    scopes,
    // The new token must be later than the second in which older tokens were revoked.
    issuedAt: Math.max(now, notBefore),
    lifetimeSeconds: deps.tokenLifetimeSeconds,
  })
  return {
    access_token: token,
    expires_in: expiresAt,
    refresh_expires_in: 0,
    token_type: 'Bearer',
    'not-before-policy': notBefore,
    scope: scopes.join(','),
    expires_in_sec: deps.tokenLifetimeSeconds,
  }
}

function narrow(granted: Scope[], requested: string | null): Scope[] {
  if (requested === null) return granted
  const scopes = parseScopes(requested)
  const missing = scopes?.filter((scope) => !granted.includes(scope))
  if (scopes && missing?.length === 0) return scopes
  throw new OAuthError(
    400,
    'invalid_scope',
    `A requested scope is unknown or not granted to the client, which has: ${granted.join(' ')}.`,
  )
}

async function grantByProvider(deps: TokenDeps, provider: Provider, credentials: Credentials): Promise<TokenGrant> {
  const { status, body } = await requestProviderToken(provider, credentials)
  // Keycloak answers a wrong secret with `unauthorized_client`, and some of its versions with 400.
  if (status === 401 || (status === 400 && (body.error === 'invalid_client' || body.error === 'unauthorized_client'))) {
    throw invalidClient(credentials)
  }
  if (status !== 200) {
    const code = typeof body.error === 'string' && /^[a-z_]{1,64}$/.test(body.error) ? body.error : 'invalid_request'
    const description = 'The external provider refused the request.'
    throw status === 429
      ? new OAuthError(429, code, description, { 'retry-after': String(retryAfterSeconds) })
      : new OAuthError(400, code, description)
  }
  const promised = Math.floor(Number(body.expires_in))
  if (typeof body.access_token !== 'string' || !Number.isSafeInteger(promised) || promised <= 0)
    throw badGateway(new ProviderUnavailable('The provider answered without a usable access_token or expires_in'))
  const lifetime = Math.min(promised, lifetimeSecondsMax)
  const now = deps.clock.now()
  const client = await findClient(deps.db, credentials.clientId, now)
  // Revoked here, whatever the provider says.
  if (client && !client.has_secret) throw invalidClient(credentials)
  const scopes = client ? await readUsableScopes(deps, provider, { token: body.access_token, client }) : []
  return {
    access_token: body.access_token,
    expires_in: Math.floor(now.getTime() / 1000) + lifetime,
    refresh_expires_in: toCount(body.refresh_expires_in),
    token_type: 'Bearer',
    'not-before-policy': Math.max(toCount(body['not-before-policy']), client ? notBeforeOf(client) : 0),
    scope: scopes.join(','),
    expires_in_sec: lifetime,
  }
}

/** What the token may do at this gateway, as the guard will decide; nothing if the guard will refuse it. */
async function readUsableScopes(
  deps: TokenDeps,
  provider: Provider,
  { token, client }: { token: string; client: ClientRow },
): Promise<Scope[]> {
  try {
    const claims = await provider.verifyToken(token)
    if (claims.clientId !== client.client_id) throw new joseErrors.JWTInvalid('the token names another client')
    return client.scopes.filter((scope) => claims.scopes === null || claims.scopes.includes(scope))
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw badGateway(error)
    if (!(error instanceof joseErrors.JOSEError || error instanceof TypeError)) throw error
    deps.log.warn(
      { clientId: client.client_id, reason: error.message },
      'the provider issued a token that this gateway does not accept: compare AUTH_AUDIENCE and the token type',
    )
    return []
  }
}

async function requestProviderToken(provider: Provider, credentials: Credentials) {
  try {
    return await provider.requestToken({ ...credentials, scope: credentials.scope?.split(/[\s,]+/).join(' ') ?? null })
  } catch (error) {
    if (error instanceof ProviderUnavailable) throw badGateway(error)
    throw error
  }
}

function badGateway(cause: ProviderUnavailable): OAuthError {
  return new OAuthError(
    502,
    'temporarily_unavailable',
    'The external provider did not answer, or its answer cannot be used. Try again later.',
    {},
    { cause },
  )
}

/** The same answer for an unknown client and for a wrong secret, so that nobody can find out which it was. */
function invalidClient(credentials: Credentials): OAuthError {
  const headers: Record<string, string> = credentials.isBasic
    ? { 'www-authenticate': 'Basic realm="guiche", charset="UTF-8"' }
    : {}
  return new OAuthError(401, 'invalid_client', 'The client id or its secret is wrong.', headers)
}

function toCount(value: unknown): number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0
}
