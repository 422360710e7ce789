import type { FastifyReply, FastifyRequest } from 'fastify'
import { toAppError } from '../http/problem.ts'
import { enforceRateLimit, type RateLimiter } from '../http/rate-limit.ts'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'
import { readCredentials, readForm } from './credentials.ts'
import { grantToken, OAuthError, type TokenDeps } from './grant.ts'
import { JwksView, OAuthErrorView, TokenForm, TokenView } from './schema.ts'

type Deps = TokenDeps & { limits: { perAddress: RateLimiter; perClient: RateLimiter } }

export async function registerAuthRoutes(app: Server, deps: Deps): Promise<void> {
  app.get(
    '/.well-known/jwks.json',
    {
      config: { access: { public: true } },
      schema: { summary: 'The keys that access tokens are signed with', tags: ['Token'], response: { 200: JwksView } },
    },
    async (_request, reply) => {
      void reply.header('cache-control', 'public, max-age=60')
      return { keys: await deps.keys.publicKeys() }
    },
  )

  // A context of its own: this endpoint alone speaks forms and OAuth's errors (RFC 6749).
  await app.register(async (scoped) => {
    scoped.removeAllContentTypeParsers()
    scoped.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
      done(null, body),
    )
    scoped.addContentTypeParser('*', (_request, _payload, done) => done(null, unreadable))
    scoped.setErrorHandler(sendOAuthError)

    for (const method of ['POST', 'GET'] as const) {
      scoped.route({
        method,
        url: '/auth/token',
        config: { access: { public: true } },
        schema: {
          summary: 'Get an access token',
          description:
            'OAuth 2.0 client credentials (RFC 6749 §4.4), in the form body or as HTTP Basic. Unlike there, `expires_in` is the Unix time of expiry; `expires_in_sec` is the lifetime.',
          tags: ['Token'],
          ...(method === 'POST' ? { consumes: ['application/x-www-form-urlencoded'], body: TokenForm } : {}),
          response: {
            200: TokenView,
            400: OAuthErrorView,
            401: OAuthErrorView,
            429: OAuthErrorView,
            502: OAuthErrorView,
          },
        },
        // The form is read here, where a repeated field can still be seen.
        validatorCompiler: () => () => true,
        handler: async (request, reply) => {
          void reply.header('cache-control', 'no-store').header('pragma', 'no-cache')
          enforceRateLimit(deps.limits.perAddress, request.ip, reply)
          const credentials = readCredentials(request, await readBody(request))
          enforceRateLimit(deps.limits.perClient, credentials.clientId, reply)
          return await grantToken(deps, credentials)
        },
      })
    }
  })
}

/** Stands for a body of another media type. */
const unreadable = Symbol('unreadable')

async function readBody(request: FastifyRequest): Promise<URLSearchParams> {
  if (request.body === unreadable) {
    throw new OAuthError(400, 'invalid_request', 'Send the credentials as application/x-www-form-urlencoded.')
  }
  // Fastify reads no body of a GET.
  return request.method === 'GET'
    ? await readForm(request)
    : new URLSearchParams(typeof request.body === 'string' ? request.body : '')
}

function sendOAuthError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { status, code, description, headers } = toOAuthError(error)
  if (status >= 500) request.log.error({ err: error }, 'a request for a token failed')
  return reply
    .code(status)
    .headers({ 'cache-control': 'no-store', pragma: 'no-cache', ...headers })
    .type('application/json; charset=utf-8')
    .send(JSON.stringify({ error: code, error_description: description }))
}

function toOAuthError(error: unknown): OAuthError {
  if (error instanceof OAuthError) return error
  const known = toAppError(error)
  if (known.code === 'rate_limited') return new OAuthError(429, 'rate_limited', known.message, known.details.headers)
  if (known instanceof AppError && known.code === 'body_too_large')
    return new OAuthError(413, 'invalid_request', known.message)
  return new OAuthError(
    500,
    'server_error',
    'Something went wrong on our side. The X-Request-Id names this request in the log.',
  )
}
