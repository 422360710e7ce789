import { Type } from 'typebox'
import { findKnownClient } from '../auth/clients.ts'
import type { Db, Reads } from '../db/sql.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { createOverview } from './overview.ts'
import { OverviewView } from './schema.ts'

export const ClientFilter = Type.Optional(Type.String({ description: 'Only this client', maxLength: 128 }))

/** The first screen: figures of today and of the last days, balances, and for the operator the largest merchants. */
export function registerOverviewRoutes(app: Server, deps: { db: Db; reads: Reads; clock: Clock }): void {
  const overview = createOverview(deps)
  app.get(
    '/dashboard/api/overview',
    {
      config: { access: { permission: 'overview.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          { clientId: ClientFilter, days: Type.Optional(Type.Integer({ minimum: 1, maximum: 366 })) },
          { additionalProperties: false },
        ),
        response: { 200: OverviewView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const merchantId = await findShownMerchantId(deps, user, request.query.clientId)
      const shown = await overview({ merchantId }, request.query.days ?? 30)
      return user.permissions.includes('balance.read') ? shown : { ...shown, balances: null }
    },
  )
}

/**
 * The merchant whose records are shown. A merchant's users see their own, whichever client they name; the operator's
 * users see the named client's, or all (null).
 *
 * @throws {AppError} `not_found` if there is no such client
 */
export async function findShownMerchantId(
  deps: { db: Db; clock: Clock },
  user: SignedIn,
  clientId: string | undefined,
): Promise<string | null> {
  const own = merchantSeenBy(user)
  if (own !== null || clientId === undefined) return own
  return (await findKnownClient(deps, clientId)).merchant_id
}
