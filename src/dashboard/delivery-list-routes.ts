import { type Static, Type } from 'typebox'
import type { Db, Reads } from '../db/sql.ts'
import { type SignedIn, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { windowOf } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { toAttemptErrorCode } from '../webhooks/attempt-errors.ts'
import { eventTypes } from '../webhooks/event-types.ts'
import { listUndelivered } from '../webhooks/resend-store.ts'
import { readDeliveries } from './delivery-list.ts'
import { countedMax, countUndelivered, deliveryTabs } from './delivery-list-store.ts'
import { clientAndDays, cursors } from './list-routes.ts'
import { DeliveryCountsView, DeliveryItemsView } from './list-schema.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'
import { deliveriesMs, sumUndelivered } from './system-routes.ts'

type Deps = { db: Db; reads: Reads; clock: Clock }

const config = { access: { permission: 'webhook.read' } }
const hidden = { hide: true, querystring: NoQuery }
const closed = { additionalProperties: false }
const failures = problems(401, 403, 404, 422)
const Page = Type.Object(
  {
    ...clientAndDays,
    ...cursors,
    tab: Type.Optional(Type.Enum([...deliveryTabs])),
    type: Type.Optional(Type.Enum([...eventTypes])),
    receiver: Type.Optional(Type.String({ pattern: '^https?://[^/]+$', maxLength: 300 })),
  },
  closed,
)

/** Webhook deliveries of one merchant or of all, the latest first. */
export function registerDeliveryListRoutes(app: Server, deps: Deps): void {
  const { reads } = deps
  const match = async (user: SignedIn, { from, until, clientId, tab, type, receiver }: Static<typeof Page>) => ({
    merchantId: await findShownMerchantId(deps, user, clientId),
    ...{ tab, type, receiver, reader: user.id },
    from: from === undefined ? undefined : windowOf(from).from,
    before: until === undefined ? undefined : windowOf(until).to,
  })

  app.post(
    '/dashboard/api/list/delivery',
    { config, schema: { ...hidden, body: Page, response: { 200: DeliveryItemsView, ...failures } } },
    async (request) => {
      const { after, before } = request.body
      const page = await readDeliveries(reads, await match(userOf(request), request.body), { after, before })
      return {
        ...{ next: page.next, previous: page.previous, searchedUntil: page.searchedUntil?.toISOString() ?? null },
        data: page.items.map(({ positionId: _, ...row }) => ({
          ...row,
          at: row.at.toISOString(),
          createdAt: row.createdAt.toISOString(),
          nextAttemptAt: row.nextAttemptAt?.toISOString() ?? null,
          lastErrorCode: toAttemptErrorCode(row.lastError),
        })),
      }
    },
  )

  app.post(
    '/dashboard/api/list/delivery/summary',
    {
      config,
      schema: {
        ...hidden,
        body: Type.Object({ clientId: ClientFilter }, closed),
        response: { 200: DeliveryCountsView, ...failures },
      },
    },
    async (request) => {
      const matching = await match(userOf(request), request.body)
      const counts = await countUndelivered(reads, matching)
      // Only the operator's users see several merchants.
      if (matching.merchantId !== null) return { counts, countedMax, worst: [] }
      const since = new Date(deps.clock.now().getTime() - deliveriesMs)
      const { worst } = sumUndelivered(await listUndelivered(deps.db, { since }))
      return { counts, countedMax, worst }
    },
  )
}
