import type { FastifyRequest } from 'fastify'
import { errors as joseErrors } from 'jose'
import type { Caller } from '../http/caller.ts'
import type { Access, Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type ErrorCode } from '../lib/errors.ts'
import type { ClientDirectory } from './directory.ts'
import { ProviderUnavailable } from './provider.ts'
import { notBeforeOf } from './store.ts'
import type { TokenClaims, TokenVerifier } from './token.ts'

type Deps = { clock: Clock; directory: ClientDirectory; verifyToken: TokenVerifier }

/** Lets a request in only with a token that is good and has the scope that its route declares. */
export function guardRoutes(app: Server, deps: Deps): void {
  app.decorateRequest('caller', null)
  app.addHook('onRequest', async (request) => {
    const access: Access | undefined = request.routeOptions.config.access
    // No route: let it pass to the answer for unknown addresses.
    if (request.is404 || (access && 'public' in access)) return
    if (!access) throw new AppError('insufficient_scope', { detail: 'This route is open to nobody.' })
    request.caller = await authorize(deps, request, access.scope)
  })
}

async function authorize(deps: Deps, request: FastifyRequest, scope: string): Promise<Caller> {
  const claims = await verify(deps, readBearer(request))
  const now = deps.clock.now().getTime() / 1000
  if (claims.expiresAt <= now) throw refuse('token_expired')
  const client = await deps.directory.find(claims.clientId)
  if (!client) {
    throw new AppError('client_not_registered', {
      detail: 'The token is good, but its client is not registered at this gateway. Have the operator register it.',
    })
  }
  // Where a provider makes the tokens, a client that is shut out here may well have a new one.
  if (!client.has_secret || claims.issuedAt < notBeforeOf(client)) throw refuse('token_revoked')
  const has = (scopes: string[]) => scopes.includes(scope)
  if (!has(client.scopes) || (claims.scopes && !has(claims.scopes))) {
    throw new AppError('insufficient_scope', {
      detail: `The token lacks the scope ${scope}. Ask for a token with it, or have the operator grant it to the client.`,
      headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
    })
  }
  return { merchantId: client.merchant_id, clientId: client.client_id }
}

function readBearer(request: FastifyRequest): string {
  const header = request.headers.authorization
  const match = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header ?? '')
  if (match?.[1]) return match[1]
  throw header === undefined ? refuse('missing_token') : refuse('invalid_token')
}

async function verify(deps: Deps, token: string): Promise<TokenClaims> {
  try {
    return await deps.verifyToken(token)
  } catch (error) {
    if (error instanceof joseErrors.JWTExpired) throw refuse('token_expired')
    if (error instanceof joseErrors.JOSEError || error instanceof AppError || error instanceof TypeError)
      throw refuse('invalid_token', error)
    if (error instanceof ProviderUnavailable) {
      throw new AppError('internal_error', {
        detail: 'The authentication provider does not answer. Try again later.',
        cause: error,
      })
    }
    throw error
  }
}

const details: Partial<Record<ErrorCode, string>> = {
  missing_token: 'Send the header "Authorization: Bearer <access token>". POST /auth/token gives you one.',
  invalid_token: 'The access token cannot be read, or was not signed by this gateway. POST /auth/token gives you one.',
  token_expired:
    'The access token has expired. Get a new one from /auth/token; `expires_in_sec` says how long it lives.',
  token_revoked: 'The access token was revoked. Get a new one from /auth/token.',
}

function refuse(
  code: 'missing_token' | 'invalid_token' | 'token_expired' | 'token_revoked',
  cause?: unknown,
): AppError {
  // RFC 6750: a request without any token gets no error code in the challenge.
  const challenge =
    code === 'missing_token'
      ? 'Bearer realm="guiche"'
      : `Bearer realm="guiche", error="invalid_token", error_description="${code}"`
  return new AppError(code, { detail: details[code], headers: { 'www-authenticate': challenge }, cause })
}
