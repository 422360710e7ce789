import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Db } from '../db/sql.ts'
import { userOf } from '../http/caller.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { findAttention } from './attention.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'
import { AttentionView } from './schema.ts'

/** What needs the user's attention: for the strip of the first screen and the counts in the navigation. */
export function registerAttentionRoutes(app: Server, deps: { db: Db; clock: Clock; acquirers: Acquirers }): void {
  app.get(
    '/dashboard/api/attention',
    {
      config: { access: { permission: 'overview.read' } },
      schema: {
        hide: true,
        querystring: Type.Object({ clientId: ClientFilter }, { additionalProperties: false }),
        response: { 200: AttentionView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const merchantId = await findShownMerchantId(deps, user, request.query.clientId)
      const clientId = user.merchant?.clientId ?? request.query.clientId ?? null
      return { data: await findAttention(deps, { user, merchantId, clientId, now: deps.clock.now() }) }
    },
  )
}
