import type { FastifyReply, FastifyRequest } from 'fastify'
import { toAppError } from '../http/problem.ts'
import { enforceRateLimit, type RateLimiter, toHost } from '../http/rate-limit.ts'
import { problems } from '../http/schemas.ts'
import { logRefusal } from '../http/security-log.ts'
import type { Server } from '../http/server.ts'
import { AppError, errors } from '../lib/errors.ts'
import { formBytesMax, parseForm, readCredentials, readForm, wrongMediaType } from './credentials.ts'
import { grantToken, OAuthError, type TokenDeps } from './grant.ts'
import { JwksView, MetadataView, oauthErrors, TokenForm, TokenView } from './schema.ts'
import { scopes } from './scopes.ts'

type Deps = TokenDeps & { limits: { perAddress: RateLimiter; perClient: RateLimiter } }

export async function registerAuthRoutes(app: Server, deps: Deps): Promise<void> {
  app.get(
    '/.well-known/jwks.json',
    {
      config: { access: { public: true } },
      schema: {
        operationId: 'getSigningKeys',
        summary: 'The keys that access tokens are signed with',
        description: 'For services that verify the tokens of this one. It lists no keys of an external provider.',
        tags: ['Token'],
        response: { 200: JwksView },
      },
    },
    async (_request, reply) => {
      void reply.header('cache-control', 'public, max-age=60')
      return { keys: await deps.keys.publicKeys() }
    },
  )

  app.get(
    '/.well-known/oauth-authorization-server',
    {
      config: { access: { public: true } },
      schema: {
        operationId: 'getAuthorizationServer',
        summary: 'Where and how to get an access token',
        description: 'Metadata for OAuth libraries (RFC 8414). Not found if an external provider issues the tokens.',
        tags: ['Token'],
        response: { 200: MetadataView, ...problems('not_found') },
      },
    },
    async (_request, reply) => {
      if (deps.provider) throw new AppError('not_found', { detail: 'An external provider issues the tokens: ask it.' })
      void reply.header('cache-control', 'public, max-age=60')
      return {
        issuer: deps.baseUrl,
        token_endpoint: `${deps.baseUrl}/auth/token`,
        jwks_uri: `${deps.baseUrl}/.well-known/jwks.json`,
        scopes_supported: [...scopes],
        response_types_supported: [],
        grant_types_supported: ['client_credentials'],
        token_endpoint_auth_methods_supported: ['client_secret_post', 'client_secret_basic'],
        service_documentation: `${deps.baseUrl}/guide/api.html`,
      }
    },
  )

  // Its own Fastify context: only this endpoint uses forms and OAuth's errors (RFC 6749).
  await app.register(async (scoped) => {
    scoped.removeAllContentTypeParsers()
    scoped.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    )
    scoped.addContentTypeParser('*', (_request, _payload, done) => done(null, unreadable))
    scoped.setErrorHandler(sendOAuthError)
    scoped.addHook('onRequest', (_request, reply, done) => {
      void reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
      done()
    })

    for (const method of ['POST', 'GET'] as const) {
      scoped.route({
        method,
        url: '/auth/token',
        exposeHeadRoute: false,
        bodyLimit: formBytesMax,
        config: { access: { public: true } },
        schema: {
          tags: ['Token'],
          ...(method === 'POST' ? tokenByForm : tokenByBasic),
          response: {
            200: TokenView,
            ...oauthErrors(
              [400, 'invalid_request', 'Missing: client_secret.'],
              [401, 'invalid_client', 'The client id or its secret is wrong.'],
              [413, 'invalid_request', 'The form may have 8 KiB at most.'],
              [429, 'rate_limited', 'Too many requests. Wait 3 s and try again.'],
              [500, 'server_error', ownFault],
              [
                502,
                'temporarily_unavailable',
                'The external provider did not answer, or its answer cannot be used. Try again later.',
              ],
              [503, 'temporarily_unavailable', 'The database did not answer. Repeat the request in a few seconds.'],
            ),
          },
        },
        // `readCredentials` checks the form, where a repeated field can still be detected.
        validatorCompiler: () => () => true,
        handler: async (request, reply) => {
          enforceRateLimit(deps.limits.perAddress, toHost(request.ip), reply)
          const credentials = readCredentials(request, await readBody(request))
          const { clientId } = credentials
          const granted = await grantToken(deps, credentials).catch((error: unknown) => {
            if (error instanceof OAuthError && error.status < 500)
              request.server.logSecurity(request, 'token.refused', { outcome: error.code, clientId })
            throw error
          })
          // Wrong guesses of others never refuse somebody who has the secret.
          enforceRateLimit(deps.limits.perClient, clientId, reply)
          request.server.logSecurity(request, 'token.granted', { outcome: 'ok', clientId })
          return granted
        },
      })
    }
  })
}

const expiryNote = 'Unlike in the RFC, `expires_in` is the Unix time of expiry; `expires_in_sec` is the lifetime.'

const tokenByForm = {
  operationId: 'createToken',
  summary: 'Get an access token',
  description: `OAuth 2.0 client credentials (RFC 6749, section 4.4), in the form or as HTTP Basic. ${expiryNote}`,
  security: [{}, { basic: [] }] as Record<string, string[]>[],
  consumes: ['application/x-www-form-urlencoded'],
  body: TokenForm,
}

const tokenByBasic = {
  operationId: 'getToken',
  summary: 'Get an access token without a form',
  description: `OAuth 2.0 client credentials (RFC 6749, section 4.4) as HTTP Basic. ${expiryNote}`,
  security: [{ basic: [] }],
}

const ownFault = 'Something went wrong on our side. The X-Request-Id names this request in the log.'

/** Marks a body of another media type. */
const unreadable = Symbol('unreadable')

async function readBody(request: FastifyRequest): Promise<URLSearchParams> {
  if (request.body === unreadable) {
    throw wrongMediaType()
  }
  // Fastify does not read the body of a GET.
  return request.method === 'GET'
    ? await readForm(request)
    : parseForm(typeof request.body === 'string' ? request.body : '')
}

function sendOAuthError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = toAppError(error)
  logRefusal(request.server.logSecurity, known, request)
  const { status, code, description, headers } = error instanceof OAuthError ? error : toOAuthError(known, error)
  if (known.code === 'database_unavailable') request.server.logOutage(known)
  else if (status >= 500) request.log.error({ requestId: request.id, err: error }, 'a request for a token failed')
  return reply
    .code(status)
    .headers(headers)
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: code, error_description: description }))
}

function toOAuthError(known: AppError, error: unknown): OAuthError {
  if (known.code === 'rate_limited') return new OAuthError(429, 'rate_limited', known.message, known.details.headers)
  if (known.code === 'body_too_large') return new OAuthError(413, 'invalid_request', 'The form may have 8 KiB at most.')
  if (known.code === 'unsupported_media_type') return wrongMediaType()
  if (known.code === 'database_unavailable')
    return new OAuthError(
      503,
      'temporarily_unavailable',
      'The database did not answer. Repeat the request in a few seconds.',
      known.details.headers,
    )
  // The client's error, such as a body that is shorter than announced or that broke off.
  if (errors[known.code].status < 500 || (error as NodeJS.ErrnoException)?.code === 'ECONNRESET')
    return new OAuthError(400, 'invalid_request', 'The request cannot be read.')
  return new OAuthError(500, 'server_error', ownFault)
}
