import { byCaller } from '../audit/record.ts'
import type { Db, Reads } from '../db/sql.ts'
import { callerOf } from '../http/caller.ts'
import { readSlice, toEnvelope } from '../http/page.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { listDeliveries } from './read-store.ts'
import { resendDelivery } from './resend.ts'
import { DeliveryList, ListDeliveriesQuery, ResendParams, ResendQuery, ResendView } from './schema.ts'
import { toDeliveryView } from './view.ts'

type Deps = { db: Db; reads: Reads; clock: Clock; wakeDeliveries: () => void }

export function registerWebhookRoutes(app: Server, deps: Deps): void {
  app.get(
    '/webhook/delivery',
    {
      config: { access: { scope: 'webhook.read' } },
      schema: {
        operationId: 'listDeliveries',
        summary: 'List webhook deliveries with their attempts',
        description:
          'Newest first, with the attempts, which are kept for some time after the delivery has ended (30 days by default). Filtered by `endpointId` alone, or with `state=delivered`, `total` and `totalPages` count 10,001 deliveries at most: follow `nextCursor` to read all.',
        tags: ['Events'],
        querystring: ListDeliveriesQuery,
        response: { 200: DeliveryList, ...problems(401, 403, 422, 500) },
      },
    },
    async (request) => {
      const slice = readSlice(request)
      const page = await listDeliveries(deps.reads, callerOf(request).merchantId, request.query, slice)
      return toEnvelope(page, slice, toDeliveryView)
    },
  )

  app.post(
    '/webhook/delivery/:eventId/resend',
    {
      config: { access: { scope: 'webhook.write' } },
      schema: {
        operationId: 'resendDelivery',
        summary: 'Deliver an event again',
        description:
          'Starts a full schedule of attempts, whatever the state of the delivery. The first attempt is due now. While an earlier delivery of the same record to the same endpoint is unfinished, the delivery waits for it (`waiting`). A disabled endpoint gets nothing.',
        tags: ['Events'],
        params: ResendParams,
        querystring: ResendQuery,
        response: { 200: ResendView, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      const { eventId } = request.params
      const { endpointId } = request.query
      const by = byCaller(request)
      const now = deps.clock.now()
      const state = await resendDelivery(deps.db, { merchantId, eventId, endpointId, by, now })
      if (state === null) throw new AppError('not_found', { detail: 'No delivery exists for an event with this id.' })
      if (state === 'disabled')
        throw new AppError('not_found', {
          detail:
            'The endpoint of this delivery is disabled or deleted. Enable a disabled one with PATCH /webhook-endpoint/{endpointId} and {"enabled": true}, then resend the event.',
        })
      deps.wakeDeliveries()
      return { eventId, state }
    },
  )
}
