import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import { merchantSeenBy, userOf } from '../http/caller.ts'
import { Amount, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { RefundDeps } from '../transactions/refund/refund.ts'
import { refundMany, refundsTogetherMax } from '../transactions/refund/refund-many.ts'
import { RefundBody } from '../transactions/refund/schema.ts'
import { RefundResultsView } from './schema.ts'

const Id = Type.String({ format: 'uuid-any' })
const Refund = Type.Object({ id: Id, amount: Amount(1, 'Cents') }, { additionalProperties: false })

/** Refunds of several selected transactions. A single one is refunded through the merchants' API. */
export function registerRefundRoutes(app: Server, deps: RefundDeps): void {
  app.post(
    '/dashboard/api/transaction/refund',
    {
      config: { access: { permission: 'refund.write' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object({
          batchId: Id,
          reason: RefundBody.properties.reason,
          refunds: Type.Array(Refund, { minItems: 1, maxItems: refundsTogetherMax }),
        }),
        response: { 200: RefundResultsView, ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      return { data: await refundMany(deps, request.body, { by: byUser(user), merchantId: merchantSeenBy(user) }) }
    },
  )
}
