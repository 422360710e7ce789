import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { type SignedIn, userOf } from '../http/caller.ts'
import { countFailures, isOwnFailure, toHost } from '../http/rate-limit.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { changePassword, confirmSecondFactor, endSessions, offerSecondFactor, removeSecondFactor } from './own.ts'
import type { UserRoutesDeps } from './routes.ts'
import {
  CodeBody,
  FactorView,
  OfferFactorBody,
  OwnSession,
  PasswordBody,
  RemoveFactorBody,
  UserParams as SessionParams,
} from './schema.ts'
import { listOwnSessions, sessionHashOf } from './session.ts'

const hidden = { hide: true, querystring: NoQuery }
const nothing = Type.Unsafe<undefined>({ type: 'null' })
const access = { permission: null, beforeSecondFactor: true } as const

/** What users do about their own account. A user who must add a second factor can do that before anything else. */
export function registerOwnRoutes(app: Server, deps: UserRoutesDeps): void {
  registerPasswordRoutes(app, deps)
  registerOwnSessionRoutes(app, deps)
}

function registerPasswordRoutes(app: Server, deps: UserRoutesDeps): void {
  const failures = problems(401, 403, 422, 429, 503)
  app.put(
    '/dashboard/api/password',
    { config: { access }, schema: { ...hidden, body: PasswordBody, response: { 204: nothing, ...failures } } },
    async (request, reply) => {
      const sessionHash = sessionHashOf(request, deps.baseUrl)
      await withFailureLimit(
        deps,
        request,
        reply,
        async (user) => await changePassword(deps, user, { ...request.body, sessionHash }),
      )
      return await reply.code(204).send()
    },
  )

  app.post(
    '/dashboard/api/second-factor',
    { config: { access }, schema: { ...hidden, body: OfferFactorBody, response: { 200: FactorView, ...failures } } },
    async (request, reply) =>
      await withFailureLimit(
        deps,
        request,
        reply,
        async (user) => await offerSecondFactor(deps, user, request.body.password),
      ),
  )

  app.put(
    '/dashboard/api/second-factor',
    { config: { access }, schema: { ...hidden, body: CodeBody, response: { 204: nothing, ...failures } } },
    async (request, reply) => {
      const sessionHash = sessionHashOf(request, deps.baseUrl)
      await withFailureLimit(deps, request, reply, async (user) => {
        await confirmSecondFactor(deps, user, { ...request.body, sessionHash })
      })
      return await reply.code(204).send()
    },
  )

  app.delete(
    '/dashboard/api/second-factor',
    { config: { access }, schema: { ...hidden, body: RemoveFactorBody, response: { 204: nothing, ...failures } } },
    async (request, reply) => {
      const sessionHash = sessionHashOf(request, deps.baseUrl)
      await withFailureLimit(deps, request, reply, async (user) => {
        await removeSecondFactor(deps, user, { ...request.body, sessionHash })
      })
      return await reply.code(204).send()
    },
  )
}

function registerOwnSessionRoutes(app: Server, deps: UserRoutesDeps): void {
  app.get(
    '/dashboard/api/own-session',
    {
      config: { access },
      schema: { ...hidden, response: { 200: Type.Object({ data: Type.Array(OwnSession) }), ...problems(401, 403) } },
    },
    async (request) => ({ data: await listOwnSessions(deps, request, userOf(request)) }),
  )

  app.delete(
    '/dashboard/api/own-session/:id',
    {
      config: { access },
      schema: { ...hidden, params: SessionParams, response: { 204: nothing, ...problems(401, 403, 404, 422) } },
    },
    async (request, reply) => {
      await endSessions(deps, userOf(request), { id: request.params.id })
      return await reply.code(204).send()
    },
  )

  app.delete(
    '/dashboard/api/own-session',
    { config: { access }, schema: { ...hidden, response: { 204: nothing, ...problems(401, 403) } } },
    async (request, reply) => {
      await endSessions(deps, userOf(request), { exceptTokenHash: sessionHashOf(request, deps.baseUrl) })
      return await reply.code(204).send()
    },
  )
}

/**
 * Runs an operation that needs a password or a code, and limits wrong ones: an open session that somebody found must
 * not allow guessing.
 */
async function withFailureLimit<Result>(
  deps: UserRoutesDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  work: (user: SignedIn) => Promise<Result>,
): Promise<Result> {
  const user = userOf(request)
  const limits = [{ limiter: deps.limits.perPerson, key: `${user.email} ${toHost(request.ip)}` }]
  return await countFailures(limits, { reply, isFailure: isOwnFailure }, async () => await work(user))
}
