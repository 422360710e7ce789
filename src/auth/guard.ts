import type { FastifyRequest } from 'fastify'
import { errors as joseErrors } from 'jose'
import type { Caller, SignedIn } from '../http/caller.ts'
import type { Access, Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type ErrorCode, errors } from '../lib/errors.ts'
import type { ClientDirectory } from './directory.ts'
import { ProviderUnavailable } from './provider.ts'
import { type KnownClient, notBeforeOf } from './store.ts'
import { readClientId, type TokenClaims, type TokenVerifier } from './token.ts'

type Deps = {
  clock: Clock
  directory: ClientDirectory
  verifyToken: TokenVerifier
  /** The dashboard user of the request's session cookie, if any. */
  findUser: (request: FastifyRequest) => Promise<SignedIn | null>
  /** The merchant with this client id, for which a user acts in this request. */
  findMerchant: (clientId: string) => Promise<Omit<Caller, 'may'> | null>
}

/** Every route that is not public requires a token with its scope, or a session with its permission. */
export function guardRoutes(app: Server, deps: Deps): void {
  app.decorateRequest('caller', null)
  app.decorateRequest('user', null)
  app.addHook('onRequest', (request, _reply, done) => {
    const access: Access | undefined = request.routeOptions.config.access
    // No route matches: the handler for unknown addresses answers.
    if (request.is404 || (access && 'public' in access)) return done()
    if (!access) throw new AppError('insufficient_scope', { detail: 'This route does not declare who may call it.' })
    // A token takes precedence over a cookie, because a browser sends its cookie with every request.
    const authentication =
      'scope' in access && request.headers.authorization !== undefined
        ? authenticateByToken(deps, request, access.scope)
        : authenticateBySession(deps, request, access)
    if (authentication instanceof Promise) void callDone(authentication, done)
    else done()
  })
}

async function callDone(authentication: Promise<void>, done: (error?: Error) => void): Promise<void> {
  const failure = await authentication.then(
    () => undefined,
    (error: Error) => error,
  )
  done(failure)
}

function authenticateByToken(deps: Deps, request: FastifyRequest, scope: string): void | Promise<void> {
  return after(authorize(deps, request, scope), (caller) => {
    request.caller = caller
  })
}

async function authenticateBySession(
  deps: Deps,
  request: FastifyRequest,
  access: Exclude<Access, { public: true }>,
): Promise<void> {
  request.user = await deps.findUser(request)
  if ('permission' in access) {
    if (!request.user) throw notSignedIn()
    assertMay(request, request.user, access.permission, access.beforeSecondFactor)
    return
  }
  if (!request.user) throw refuse('missing_token')
  const { scope, orPermission, userPermission = scope } = access
  const mayInstead = orPermission !== undefined && request.user.permissions.includes(orPermission)
  assertMay(request, request.user, mayInstead ? orPermission : userPermission)
  request.caller = await actFor(deps, request, request.user)
}

export function notSignedIn(): AppError {
  return new AppError('not_signed_in', { detail: 'Sign in first: the session has ended, or there was none.' })
}

const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A cookie alone may not change anything: another site may have made the browser send it. */
function assertMay(
  request: FastifyRequest,
  user: SignedIn,
  permission: string | null,
  isBeforeSecondFactor = false,
): void {
  if (!safeMethods.has(request.method) && request.headers['x-csrf-token'] !== user.csrfToken) {
    throw new AppError('csrf_token_missing', {
      detail: 'Send the session’s csrfToken as the header X-CSRF-Token. Reload the page and try again.',
    })
  }
  if (user.needsSecondFactor && !isBeforeSecondFactor) {
    throw new AppError('second_factor_required', {
      detail: `The role ${user.role} needs a second factor here. Add one in “Your account” at the dashboard.`,
    })
  }
  if (permission === null || user.permissions.includes(permission)) return
  throw new AppError('permission_missing', {
    detail: `The role ${user.role} does not have the permission ${permission}. Ask whoever manages your users.`,
  })
}

/** Merchant users act for their own merchant; operator users name one. */
async function actFor(deps: Deps, request: FastifyRequest, user: SignedIn): Promise<Caller> {
  const named = user.merchant?.clientId ?? request.headers['x-guiche-merchant']
  const merchant = typeof named === 'string' ? await deps.findMerchant(named) : null
  if (merchant) return { ...merchant, may: (scope) => user.permissions.includes(scope) }
  throw new AppError('not_found', {
    detail:
      'The header X-Guiche-Merchant must be the client id of the merchant that you act for: no client has this id.',
  })
}

function authorize(deps: Deps, request: FastifyRequest, scope: string): Caller | Promise<Caller> {
  return after(verify(deps, readBearer(request)), (claims) => {
    const now = deps.clock.now().getTime() / 1000
    if (claims.expiresAt <= now) throw refuse('token_expired', { clientId: claims.clientId })
    return after(deps.directory.find(claims.clientId), (client) => toCaller(claims, client, scope))
  })
}

/**
 * Continues synchronously if the value is known, as in nearly all requests: promises would take twice the time of all
 * the guard's steps.
 */
function after<Value, Next>(
  value: Value | Promise<Value>,
  step: (value: Value) => Next | Promise<Next>,
): Next | Promise<Next> {
  return value instanceof Promise ? value.then(step) : step(value)
}

function toCaller(claims: TokenClaims, client: KnownClient | null, scope: string): Caller {
  if (!client) {
    throw new AppError('client_not_registered', {
      detail: 'The token is valid, but its client is not registered at this gateway. Ask the operator to register it.',
      about: { clientId: claims.clientId },
    })
  }
  // With an external provider, a client that was revoked here may still get new tokens.
  if (!client.has_secret || claims.issuedAt < notBeforeOf(client)) {
    throw refuse('token_revoked', { clientId: client.client_id })
  }
  const has = (scopes: string[], name: string) => scopes.includes(name)
  const may = (name: string) => has(client.scopes, name) && (!claims.scopes || has(claims.scopes, name))
  if (!may(scope)) {
    throw new AppError('insufficient_scope', {
      detail: `The token lacks the scope ${scope}. Request a token with it, or ask the operator to grant it to the client.`,
      headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
      about: { clientId: client.client_id },
    })
  }
  const { merchant_id: merchantId, client_id: clientId, name: merchantName, moved_to_address: movedToAddress } = client
  return { merchantId, clientId, merchantName, movedToAddress, may }
}

function readBearer(request: FastifyRequest): string {
  const header = request.headers.authorization
  const match = /^Bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(header ?? '')
  if (match?.[1]) return match[1]
  throw header === undefined ? refuse('missing_token') : refuse('invalid_token', { detail: describeHeader(header) })
}

function describeHeader(header: string): string {
  const scheme = /^\S*/.exec(header)?.[0].toLowerCase()
  if (scheme === 'basic') {
    return 'This address takes an access token: "Authorization: Bearer <access token>". HTTP Basic is for /auth/token, which gives you one.'
  }
  if (scheme !== 'bearer') return 'The Authorization header must begin with "Bearer ", then the access token.'
  return /^\S+\s*$/.test(header)
    ? 'There is no access token after "Bearer" in the Authorization header.'
    : 'The text after "Bearer" in the Authorization header is not an access token: it contains characters that no token has.'
}

function verify(deps: Deps, token: string): TokenClaims | Promise<TokenClaims> {
  const claims = deps.verifyToken(token)
  return claims instanceof Promise ? claims.catch(refuseToken) : claims
}

function refuseToken(error: unknown): never {
  // The signature is verified before the claims are.
  if (error instanceof joseErrors.JWTExpired) throw refuse('token_expired', { clientId: readClientId(error.payload) })
  if (error instanceof joseErrors.JOSEError || error instanceof AppError || error instanceof TypeError)
    throw refuse('invalid_token', { cause: error })
  if (error instanceof ProviderUnavailable) {
    throw new AppError('internal_error', {
      detail: 'The external token provider does not answer. Try again later.',
      cause: error,
    })
  }
  throw error
}

const details: Partial<Record<ErrorCode, string>> = {
  missing_token: 'Send the header "Authorization: Bearer <access token>". POST /auth/token gives you one.',
  invalid_token: 'The access token cannot be read, or was not signed by this gateway. POST /auth/token gives you one.',
  token_expired:
    'The access token has expired. Get a new one from /auth/token; `expires_in_sec` is its lifetime in seconds.',
  token_revoked: 'The access token was revoked. Get a new one from /auth/token.',
}

function refuse(
  code: 'missing_token' | 'invalid_token' | 'token_expired' | 'token_revoked',
  {
    detail = details[code],
    cause,
    clientId,
  }: { detail?: string | undefined; cause?: unknown; clientId?: string | undefined } = {},
): AppError {
  // RFC 6750: a request without any token gets no error code in the challenge.
  const challenge =
    code === 'missing_token'
      ? 'Bearer realm="guiche"'
      : `Bearer realm="guiche", error="invalid_token", error_description="${errors[code].title}"`
  return new AppError(code, {
    detail,
    headers: { 'www-authenticate': challenge },
    about: { ...(clientId !== undefined && { clientId }) },
    cause,
  })
}
