import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import { changeBranding, showBranding } from '../branding/change.ts'
import { BrandingInput, BrandingView } from '../branding/schema.ts'
import type { Db } from '../db/sql.ts'
import { userOf } from '../http/caller.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { ClientFilter } from './overview-routes.ts'
import { findMerchant } from './report-routes.ts'

const Query = Type.Object({ clientId: ClientFilter }, { additionalProperties: false })

/** How a merchant's payment page looks. It also says which sites may show the page, so it needs `credential.write`. */
export function registerBrandingRoutes(app: Server, deps: { db: Db; clock: Clock }): void {
  const access = { permission: 'credential.write' }
  const response = { 200: BrandingView, ...problems(401, 403, 404, 409, 422) }
  app.get(
    '/dashboard/api/branding',
    { config: { access }, schema: { hide: true, querystring: Query, response } },
    async (request): Promise<BrandingView> => {
      const { id } = await findMerchant(deps, userOf(request), request.query.clientId)
      return await showBranding(deps, id)
    },
  )

  app.put(
    '/dashboard/api/branding',
    { config: { access }, schema: { hide: true, querystring: Query, body: BrandingInput, response } },
    async (request): Promise<BrandingView> => {
      const user = userOf(request)
      const { id } = await findMerchant(deps, user, request.query.clientId)
      return await changeBranding(deps, { merchantId: id, input: request.body, by: byUser(user) })
    },
  )
}
