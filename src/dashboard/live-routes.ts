import { Type } from 'typebox'
import { userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'
import { findPeople, type SessionDeps, sessionHashOf } from '../users/session.ts'
import { createLive } from './live.ts'

export type LiveDeps = SessionDeps & Pick<Parameters<typeof createLive>[0], 'log'>

/** What has changed, as server-sent events: see `ChangedView`. Each person gets only what they may see. */
export function registerLiveRoutes(app: Server, deps: LiveDeps): void {
  const live = createLive({ ...deps, findPeople: async (sessions) => await findPeople(deps, sessions) })
  // Ends the streams properly: soon afterwards, those that are still open are destroyed (closeConnectionsOnStop).
  app.addHook('preClose', live.stop)
  app.get(
    '/dashboard/api/live',
    {
      config: { access: { permission: null } },
      schema: {
        hide: true,
        querystring: NoQuery,
        response: { 200: Type.Any(), 204: Type.Null(), ...problems(401, 403, 422, 429) },
      },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      // Anything but a reader of server-sent events would wait for the end of the response.
      const isReader = request.headers.accept?.includes('text/event-stream') ?? false
      const session = sessionHashOf(request, deps.baseUrl)
      if (!isReader || session === null) return await reply.code(204).send(null)
      const stream = live.open(userOf(request), session)
      if (!stream) throw new AppError('rate_limited', { headers: { 'retry-after': '30' } })
      return await reply.type('text/event-stream').header('x-accel-buffering', 'no').send(stream)
    },
  )
}
