import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { countFailures, enforceRateLimit, isOwnFailure, toHost } from '../http/rate-limit.ts'
import { NoQuery } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'
import { appendCookie, isFromOtherSite, isSecure, readCookieNamed } from './cookies.ts'
import { describeDevice } from './device.ts'
import type { FailureRecorder } from './failed-sign-ins.ts'
import { callbackPath, type OidcClient } from './oidc.ts'
import { signInAtProvider } from './oidc-sign-in.ts'
import type { UserRoutesDeps } from './routes.ts'
import { SignInOptions } from './schema.ts'
import { endSession, setSessionCookie } from './session.ts'

const access = { public: true } as const

/**
 * Sign-in at an OpenID Connect provider. The browser follows redirects and shows what it gets, so an error also
 * redirects to a page: the sign-in page, with the code of the failure.
 */
export function registerOidcRoutes(app: Server, deps: UserRoutesDeps, failures: FailureRecorder): void {
  app.get(
    '/dashboard/api/sign-in',
    { config: { access }, schema: { hide: true, querystring: NoQuery, response: { 200: SignInOptions } } },
    () => ({ password: deps.oidc?.settings.isOnly !== true, provider: deps.oidc?.settings.name ?? null }),
  )
  if (deps.oidc) registerRedirects(app, { ...deps, oidc: deps.oidc }, failures)
}

type Deps = UserRoutesDeps & { oidc: OidcClient }

function registerRedirects(app: Server, deps: Deps, failures: FailureRecorder): void {
  const { oidc, baseUrl } = deps
  const querystring = Type.Object({ returnTo: Type.Optional(Type.String({ maxLength: 1_000 })) })
  app.get(
    '/dashboard/api/sign-in/provider',
    { config: { access }, schema: { hide: true, querystring } },
    async (request, reply) => {
      const returnTo = toOwnPage(request.query.returnTo)
      try {
        // A sign-in begins on our own page: another site cannot start one in a visitor’s browser.
        if (isFromOtherSite(request)) return await reply.redirect(returnTo, 303)
        const { url, cookie, maxAgeSeconds } = await oidc.begin(returnTo)
        appendCookie(reply, baseUrl, { ...pendingCookie(baseUrl), value: cookie, maxAgeSeconds })
        return await reply.redirect(url, 303)
      } catch (error) {
        return await sendBack(request, reply, { error, returnTo })
      }
    },
  )

  app.get(callbackPath, { config: { access }, schema: { hide: true } }, async (request, reply) => {
    const cookie = readCookieNamed(request, pendingCookie(baseUrl).name, /^[\w-]{1,4000}$/)
    // Whatever the outcome, the next sign-in of this browser has other values.
    appendCookie(reply, baseUrl, { ...pendingCookie(baseUrl), value: '', maxAgeSeconds: 0 })
    const returnTo = oidc.readReturnTo(cookie)
    try {
      const limits = [{ limiter: deps.limits.perAddress, key: toHost(request.ip) }]
      const { token, email } = await countFailures(limits, { reply, isFailure }, async () => {
        const query = request.url.split('?').slice(1).join('?')
        return await signInAtProvider(deps, {
          claims: await oidc.finish(query, cookie),
          rules: oidc.settings.rules,
          requireSecondFactor: deps.requireSecondFactor,
          limitSuccess: (person) => enforceRateLimit(deps.limits.recorded, person, reply),
          ...describeDevice(request),
        })
      })
      await endSession(deps, request)
      request.server.logSecurity(request, 'sign_in.succeeded', { outcome: 'ok', email })
      setSessionCookie(reply, baseUrl, token)
      return await reply.redirect(returnTo, 303)
    } catch (error) {
      await failures.note(error)
      return await sendBack(request, reply, { error, returnTo })
    }
  })
}

/** While the provider is down, the people of one address are not locked out, also not of sign-ins with a password. */
function isFailure(error: unknown): boolean {
  return isOwnFailure(error) && (error as AppError).details.about?.factor !== 'provider_unavailable'
}

/** Sends the browser to the sign-in page with the code of the failure, and writes the cause to the log. */
async function sendBack(
  request: FastifyRequest,
  reply: FastifyReply,
  { error, returnTo }: { error: unknown; returnTo: string },
): Promise<FastifyReply> {
  const isKnown = error instanceof AppError
  const { factor: fault = isKnown ? error.code : 'failed', email } = (isKnown && error.details.about) || {}
  request.server.logSecurity(request, 'sign_in.failed', { outcome: fault, email })
  const { requestId, cause } = { requestId: request.id, cause: isKnown ? error.details.cause : error }
  if (!isKnown) request.log.error({ requestId, err: error }, 'a request failed')
  // For example: the provider’s metadata could not be read, or its token is not valid.
  else if (cause instanceof Error)
    request.log.warn({ requestId, reason: describe(cause) }, 'a sign-in at the provider failed')
  const separator = returnTo.includes('?') ? '&' : '?'
  return await reply.redirect(`${returnTo}${separator}signIn=${encodeURIComponent(fault)}`, 303)
}

/** Not the whole error: it has the parameters of the request, or the token. */
function describe(error: Error): string {
  const { code } = error as { code?: unknown }
  const inner = error.cause instanceof Error ? `: ${error.cause.message}` : ''
  return `${typeof code === 'string' ? `${code} ` : ''}${error.message}${inner}`
}

/** A page of the dashboard; its first page for anything else, such as another site's address. */
function toOwnPage(path: string | undefined): string {
  const isPage = path !== undefined && /^\/dashboard(?:[/?][\w/?&=.,:%+~-]*)?$/.test(path)
  return isPage && !path.startsWith('/dashboard/api/') ? path : '/dashboard'
}

function pendingCookie(baseUrl: string) {
  return { name: isSecure(baseUrl) ? '__Host-guiche-sign-in' : 'guiche-sign-in', sameSite: 'lax' as const }
}
