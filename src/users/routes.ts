import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import { findKnownClient } from '../auth/clients.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { countFailures, enforceRateLimit, isOwnFailure, type RateLimiter, toHost } from '../http/rate-limit.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { assert } from '../lib/assert.ts'
import { AppError, refusal } from '../lib/errors.ts'
import { acceptInvitation, findInvited } from './accept.ts'
import { isCodeNeeded } from './check-code.ts'
import { isFromOtherSite } from './cookies.ts'
import { type Device, describeDevice, findKnownDevice, readDevice, rememberDevice } from './device.ts'
import { createFailureRecorder, type FailureRecorder } from './failed-sign-ins.ts'
import { changeUser, inviteUser, type Manager, resetUser } from './manage.ts'
import type { OidcClient } from './oidc.ts'
import { registerOidcRoutes } from './oidc-routes.ts'
import { registerOwnRoutes } from './own-routes.ts'
import {
  AcceptBody,
  ChangeUserBody,
  InvitationView,
  InviteBody,
  LinkView,
  ResetBody,
  SessionView,
  SignedOut,
  SignInBody,
  TokenParams,
  toUserView,
  UserParams,
  UserView,
} from './schema.ts'
import { endSession, findSessionOf, type SessionDeps, setSessionCookie, toSessionView } from './session.ts'
import { signIn } from './sign-in.ts'
import { listUsers } from './store.ts'

export type UserRoutesDeps = SessionDeps & {
  /** Null: people sign in with passwords only. */
  oidc: OidcClient | null
  /**
   * Failed sign-ins per network address, per user and network address, and per user and known device (a browser's
   * cookie, or a network address). `perAddress` also counts each use of an invitation link, and `perPerson` wrong
   * passwords and codes of signed-in users. `recorded`: actions written to the audit log, per user.
   */
  limits: { perAddress: RateLimiter; perPerson: RateLimiter; perDevice: RateLimiter; recorded: RateLimiter }
}

const hidden = { hide: true, querystring: NoQuery }

/** Sign-in and user management for the dashboard. Not part of the merchants' API. */
export function registerUserRoutes(app: Server, deps: UserRoutesDeps): void {
  const failures = createFailureRecorder(deps)
  registerSessionRoutes(app, deps, failures)
  registerOidcRoutes(app, deps, failures)
  registerOwnRoutes(app, deps)
  registerManagingRoutes(app, deps)
}

function registerSessionRoutes(app: Server, deps: UserRoutesDeps, failures: FailureRecorder): void {
  const isPasswordOff = deps.oidc?.settings.isOnly === true
  app.post(
    '/dashboard/api/session',
    {
      config: { access: { public: true } },
      schema: { ...hidden, body: SignInBody, response: { 200: SessionView, ...problems(401, 403, 422, 429, 503) } },
    },
    async (request, reply) => {
      assertSameOrigin(request)
      if (isPasswordOff) throw passwordsOff()
      const email = request.body.email.toLowerCase()
      const device = readDevice(deps, request)
      const known = await findKnownDevice(deps.db, email, device, deps.clock.now())
      const counted = { reply, isFailure: (error: unknown) => isOwnFailure(error) && !isCodeNeeded(error) }
      const token = await countFailures(limitsOf(deps, { email, host: device.host, known }), counted, async () => {
        const isKnownDevice = known !== null
        const limitSuccess = () => enforceRateLimit(deps.limits.recorded, email, reply)
        return await signIn(deps, { ...request.body, isKnownDevice, ...describeDevice(request), limitSuccess })
      }).catch(async (error: unknown) => {
        await failures.note(error)
        throw error
      })
      request.server.logSecurity(request, 'sign_in.succeeded', { outcome: 'ok', email: request.body.email })
      return await begin(deps, request, reply, { token, device })
    },
  )

  app.get(
    '/dashboard/api/session',
    {
      config: { access: { permission: null, beforeSecondFactor: true } },
      schema: { ...hidden, response: { 200: SessionView, ...problems(401) } },
    },
    (request) => toSessionView(userOf(request)),
  )

  app.delete(
    '/dashboard/api/session',
    {
      config: { access: { permission: null, beforeSecondFactor: true } },
      schema: { ...hidden, response: { 200: SignedOut, ...problems(401, 403) } },
    },
    async (request, reply) => {
      await endSession(deps, request)
      setSessionCookie(reply, deps.baseUrl, null)
      // Clears cached pages only: clearing cookies would delete the device's, and clearing storage the chosen language.
      void reply.header('clear-site-data', '"cache"')
      // A user of the identity provider must sign out there too. Otherwise the next click on the sign-in page would
      // open the dashboard again, for anybody at this browser.
      const provider = userOf(request).hasPassword ? null : deps.oidc
      return { providerSignOutUrl: provider && (await provider.findSignOutUrl()) }
    },
  )

  app.get(
    '/dashboard/api/invitation/:token',
    {
      config: { access: { public: true } },
      schema: { ...hidden, params: TokenParams, response: { 200: InvitationView, ...problems(404, 429) } },
    },
    async (request, reply) => {
      enforceRateLimit(deps.limits.perAddress, toHost(request.ip), reply)
      return await findInvited({ ...deps, isPasswordOff }, request.params.token)
    },
  )

  app.post(
    '/dashboard/api/invitation/:token',
    {
      config: { access: { public: true } },
      schema: {
        ...hidden,
        params: TokenParams,
        body: AcceptBody,
        response: { 200: SessionView, ...problems(401, 403, 404, 422, 429, 503) },
      },
    },
    async (request, reply) => {
      assertSameOrigin(request)
      enforceRateLimit(deps.limits.perAddress, toHost(request.ip), reply)
      const { token: invitation } = request.params
      const chosen = { ...request.body, token: invitation, ...describeDevice(request) }
      const token = await acceptInvitation({ ...deps, isPasswordOff }, chosen)
      return await begin(deps, request, reply, { token, device: readDevice(deps, request) })
    },
  )
}

/** User management: admins manage all users, a merchant's owners only that merchant's. */
function registerManagingRoutes(app: Server, deps: UserRoutesDeps): void {
  const access = { permission: 'user.write' }
  app.get(
    '/dashboard/api/user',
    {
      config: { access },
      schema: { ...hidden, response: { 200: Type.Object({ data: Type.Array(UserView) }), ...problems(401, 403) } },
    },
    async (request) => ({ data: (await listUsers(deps.db, merchantSeenBy(userOf(request)))).map(toUserView) }),
  )

  app.post(
    '/dashboard/api/user',
    {
      config: { access },
      schema: { ...hidden, body: InviteBody, response: { 201: LinkView, ...problems(401, 403, 404, 422) } },
    },
    async (request, reply) => {
      if (deps.oidc?.settings.isOnly) throw passwordsOff()
      const { email, role, clientId } = request.body
      const merchantId = await findMerchantId(deps, userOf(request), clientId)
      return await reply.code(201).send(await inviteUser(deps, { email, role, merchantId }, managerOf(request)))
    },
  )

  app.patch(
    '/dashboard/api/user/:id',
    {
      config: { access },
      schema: {
        ...hidden,
        params: UserParams,
        body: ChangeUserBody,
        response: { 200: UserView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { role, isDisabled } = request.body
      return await changeUser(deps, { ...request.params, role, isDisabled }, managerOf(request))
    },
  )

  app.post(
    '/dashboard/api/user/:id/reset',
    {
      config: { access },
      schema: {
        ...hidden,
        params: UserParams,
        body: ResetBody,
        response: { 201: LinkView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      if (deps.oidc?.settings.isOnly) throw passwordsOff()
      const reset = { ...request.params, secondFactor: request.body.secondFactor ?? false }
      return await reply.code(201).send(await resetUser(deps, reset, managerOf(request)))
    },
  )
}

function passwordsOff(): AppError {
  const detail =
    'People sign in at the identity provider only: passwords, invitations and resets are off in the dashboard.'
  return refusal('user_not_possible', 'not_offered', detail)
}

function managerOf(request: FastifyRequest): Manager {
  const user = userOf(request)
  return { by: byUser(user), userId: user.id, merchantId: merchantSeenBy(user) }
}

/**
 * The merchant that a new user joins; null for the operator. An owner can invite only to their own merchant: `clientId`
 * is ignored.
 */
async function findMerchantId(
  deps: UserRoutesDeps,
  user: SignedIn,
  clientId: string | undefined,
): Promise<string | null> {
  if (user.merchant) return user.merchant.merchantId
  if (clientId === undefined) return null
  return (await findKnownClient(deps, clientId)).merchant_id
}

/**
 * The limits for attempts to sign in from this browser or address. Where the user has signed in before, attempts are
 * counted separately, so that nobody elsewhere can lock the user out. Elsewhere they are counted per address, and per
 * user and address, so that no other address can lock the user out either.
 */
function limitsOf(
  { limits }: UserRoutesDeps,
  { email, host, known }: { email: string; host: string; known: string | null },
): { limiter: RateLimiter; key: string }[] {
  if (known !== null) return [{ limiter: limits.perDevice, key: `${email} ${known}` }]
  return [
    { limiter: limits.perAddress, key: host },
    { limiter: limits.perPerson, key: `${email} ${host}` },
  ]
}

/**
 * Gives the browser the cookie of its new session, ends its previous one, and remembers the browser and its address.
 */
async function begin(
  deps: UserRoutesDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  { token, device }: { token: string; device: Device },
) {
  await endSession(deps, request)
  setSessionCookie(reply, deps.baseUrl, token)
  const user = await findSessionOf(deps, token)
  assert(user, 'a session that was just created is valid')
  await rememberDevice(deps.db, deps, { userId: user.id, device, now: deps.clock.now() }, reply)
  return toSessionView(user)
}

/** Rejects a sign-in or an accepted invitation that a page of another site sent. */
function assertSameOrigin(request: FastifyRequest): void {
  if (isFromOtherSite(request)) throw new AppError('csrf_token_missing', { detail: 'Sign in at the dashboard itself.' })
}
