import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import type { Db, Reads } from '../db/sql.ts'
import { findTransactionRecord, findWithdrawalRecord } from '../explain/store.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { toDate } from '../http/formats.ts'
import { enforceRateLimit } from '../http/rate-limit.ts'
import { DateTimeFilter, EnumFilter, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, invalidField } from '../lib/errors.ts'
import { loadTransactionVersions } from '../transactions/view.ts'
import { toAttemptErrorCode } from '../webhooks/attempt-errors.ts'
import { TestDeliveryView } from '../webhooks/endpoints/schema.ts'
import type { WebhookTests } from '../webhooks/endpoints/test-delivery.ts'
import { eventTypes } from '../webhooks/event-types.ts'
import { receiverOf } from '../webhooks/outbox.ts'
import { buildBodies } from '../webhooks/payload.ts'
import { deliveriesCountedMax, deliveryStates, isCountLimited, listDeliveries } from '../webhooks/read-store.ts'
import { previewResend, resendMany } from '../webhooks/resend-many.ts'
import {
  findEventToShow,
  findResendProgress,
  listReceivers,
  newestMax,
  type ResendState,
  resendMax,
  resendStates,
} from '../webhooks/resend-store.ts'
import { toDeliveryView } from '../webhooks/view.ts'
import { loadWithdrawalVersions } from '../withdrawals/view.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'
import {
  DeliveriesView,
  PayloadView,
  ReceiversView,
  ResendPreviewView,
  ResendProgressView,
  ResendView,
} from './schema.ts'

type Deps = { db: Db; reads: Reads; clock: Clock; wakeDeliveries: () => void; webhookTests: WebhookTests }

const perPage = 20
const healthMs = 24 * 60 * 60_000

const Period = {
  clientId: ClientFilter,
  from: DateTimeFilter('Of events from then on'),
  until: DateTimeFilter('Of events until then'),
}
const States = EnumFilter(Type.Enum([...resendStates]), 'As the deliveries are now')
/** Two pages and a half of the list: a person has seen each of them. */
const selectedMax = 50
const Delivery = Type.Object(
  {
    eventId: Type.String({ format: 'uuid-any' }),
    endpointId: Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'uuid-any' }),
  },
  { additionalProperties: false },
)
const read = { access: { permission: 'webhook.read' } } as const
const write = { access: { permission: 'webhook.write' } } as const

/**
 * How one merchant's webhooks arrive, resending many of them, and test events for one record. delivery-list-routes.ts
 * has the list that can show the deliveries of all merchants; everything else about webhooks is in the merchants' API.
 */
export function registerWebhookScreenRoutes(app: Server, deps: Deps): void {
  registerReading(app, deps)
  registerResending(app, deps)
  registerTests(app, deps)
}

function registerReading(app: Server, deps: Deps): void {
  const { db, reads, clock } = deps
  app.get(
    '/dashboard/api/webhook/delivery',
    {
      config: read,
      schema: {
        hide: true,
        querystring: Type.Object(
          {
            clientId: ClientFilter,
            state: Type.Optional(Type.Enum([...deliveryStates])),
            type: Type.Optional(Type.String({ pattern: '^[a-z_]+\\.[a-z_]+$', maxLength: 64 })),
            recordId: Type.Optional(Type.String({ format: 'uuid-any' })),
            endpointId: Type.Optional(Type.String({ format: 'uuid-any' })),
            receiver: Type.Optional(Type.String({ pattern: '^https?://[^/]+$', maxLength: 300 })),
            from: Type.Optional(DateTimeFilter('Of events from then on')),
            until: Type.Optional(DateTimeFilter('Of events until then')),
            page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6 })),
          },
          { additionalProperties: false },
        ),
        response: { 200: DeliveriesView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { clientId, page = 1, from, until, ...filters } = request.query
      const merchantId = await findOne(deps, userOf(request), clientId)
      const filter = { ...filters, from: toDate(from), until: toDate(until) }
      const { total, items } = await listDeliveries(reads, merchantId, filter, { page, perPage, after: null })
      return {
        total,
        totalPages: Math.ceil(total / perPage),
        isMore: total > deliveriesCountedMax && isCountLimited(filter),
        data: items.map(toDeliveryView),
      }
    },
  )

  app.get(
    '/dashboard/api/webhook/delivery/:eventId/payload',
    {
      config: read,
      schema: {
        hide: true,
        params: Type.Object({ eventId: Type.String({ format: 'uuid-any' }) }),
        querystring: Type.Object({ clientId: ClientFilter }, { additionalProperties: false }),
        response: { 200: PayloadView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const merchantId = await findOne(deps, user, request.query.clientId)
      const event = await findEventToShow(db, { merchantId, eventId: request.params.eventId.toLowerCase() })
      if (!event || !user.permissions.includes(`${event.recordType}.read`)) {
        throw new AppError('not_found', { detail: 'There is no delivery of an event with this id.' })
      }
      const loaders = {
        transaction: async (versions: Parameters<typeof loadTransactionVersions>[1]) =>
          await loadTransactionVersions(db, versions),
        withdrawal: async (versions: Parameters<typeof loadWithdrawalVersions>[1]) =>
          await loadWithdrawalVersions(db, versions),
      }
      const [body] = await buildBodies(loaders, [event], (_, cause) => {
        throw cause
      })
      return { payload: body ? JSON.parse(body.toString('utf8')) : null }
    },
  )

  app.get(
    '/dashboard/api/webhook/receiver',
    {
      config: read,
      schema: {
        hide: true,
        querystring: Type.Object({ clientId: ClientFilter }, { additionalProperties: false }),
        response: { 200: ReceiversView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const merchantId = await findOne(deps, userOf(request), request.query.clientId)
      const since = new Date(clock.now().getTime() - healthMs)
      const receivers = await listReceivers(reads, { merchantId, since })
      return {
        newestMax,
        data: receivers.map((health) => ({
          ...health,
          lastErrorCode: toAttemptErrorCode(health.lastError),
          oldestWaitingAt: health.oldestWaitingAt?.toISOString() ?? null,
          failedAt: health.failedAt?.toISOString() ?? null,
          nextAttemptAt: health.nextAttemptAt?.toISOString() ?? null,
        })),
      }
    },
  )
}

function registerResending(app: Server, deps: Deps): void {
  const { db, clock } = deps
  app.get(
    '/dashboard/api/webhook/resend',
    {
      config: write,
      schema: {
        hide: true,
        querystring: Type.Object({ ...Period, state: States }, { additionalProperties: false }),
        response: { 200: ResendPreviewView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const preview = await previewResend(db, await toPeriod(deps, request, request.query, request.query.state))
      return { ...preview, max: resendMax }
    },
  )

  app.put(
    '/dashboard/api/webhook/resend/:resendId',
    {
      config: write,
      schema: {
        hide: true,
        params: Type.Object({ resendId: Type.String({ format: 'uuid-any' }) }),
        querystring: NoQuery,
        body: Type.Object({ ...Period, states: States }),
        response: { 200: ResendView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { resendId } = request.params
      const period = await toPeriod(deps, request, request.body, request.body.states)
      const done = await resendMany(db, { ...period, resendId, by: byUser(userOf(request)), now: clock.now() })
      deps.wakeDeliveries()
      return { resendId, count: done.count }
    },
  )

  app.put(
    '/dashboard/api/webhook/resend/:resendId/selection',
    {
      config: write,
      schema: {
        hide: true,
        params: Type.Object({ resendId: Type.String({ format: 'uuid-any' }) }),
        querystring: NoQuery,
        body: Type.Object({
          clientId: ClientFilter,
          deliveries: Type.Array(Delivery, { minItems: 1, maxItems: selectedMax, uniqueItems: true }),
        }),
        response: { 200: ResendView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { resendId } = request.params
      const { clientId, deliveries } = request.body
      const user = userOf(request)
      const merchantId = await findOne(deps, user, clientId)
      const done = await resendMany(db, { merchantId, deliveries, resendId, by: byUser(user), now: clock.now() })
      deps.wakeDeliveries()
      return { resendId, count: done.count }
    },
  )

  app.get(
    '/dashboard/api/webhook/resend/:resendId',
    {
      config: read,
      schema: {
        hide: true,
        params: Type.Object({ resendId: Type.String({ format: 'uuid-any' }) }),
        querystring: Type.Object({ clientId: ClientFilter }, { additionalProperties: false }),
        response: { 200: ResendProgressView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const merchantId = await findOne(deps, userOf(request), request.query.clientId)
      return await findResendProgress(db, { merchantId, resendId: request.params.resendId })
    },
  )
}

/** A test event to the URL of one record. Its type is `webhook.test`; the type to try is in its data. */
function registerTests(app: Server, deps: Deps): void {
  app.post(
    '/dashboard/api/record/:id/webhook-test',
    {
      config: write,
      schema: {
        hide: true,
        params: Type.Object({ id: Type.String({ format: 'uuid-any' }) }),
        querystring: NoQuery,
        body: Type.Object({ eventType: Type.Enum([...eventTypes]) }),
        response: { 200: TestDeliveryView, ...problems(401, 403, 404, 422, 429) },
      },
    },
    async (request, reply) => {
      const { eventType } = request.body
      const { id, type, merchantId, url } = await findTested(deps.db, request)
      if (!eventType.startsWith(`${type}.`)) {
        const message = `is no event of a ${type}`
        throw invalidField('eventType', 'invalid', message)
      }
      enforceRateLimit(deps.webhookTests.limit, merchantId, reply)
      return await deps.webhookTests.send({
        ...{ merchantId, url, endpointId: null, data: { eventType, recordType: type, recordId: id } },
        audit: {
          ...{ by: byUser(userOf(request)), action: `${type}.test-webhook`, recordId: id },
          details: { receiver: receiverOf(url), eventType },
        },
      })
    },
  )
}

/** The record, if the user sees it, and the URL that its events go to. */
async function findTested(db: Db, request: FastifyRequest<{ Params: { id: string } }>) {
  const id = request.params.id.toLowerCase()
  const user = userOf(request)
  const seen = merchantSeenBy(user)
  const record = (await findTransactionRecord(db, id)) ?? (await findWithdrawalRecord(db, id))
  const isSeen =
    record !== null &&
    (seen === null || record.merchant_id === seen) &&
    user.permissions.includes(`${record.type}.read`)
  if (!isSeen)
    throw new AppError('not_found', { detail: 'There is neither a transaction nor a withdrawal with this id.' })
  if (record.webhook_url === null)
    throw new AppError('validation_failed', { detail: `The ${record.type} has no webhookUrl of its own.` })
  return { id, type: record.type, merchantId: record.merchant_id, url: record.webhook_url }
}

async function toPeriod(
  deps: Deps,
  request: FastifyRequest,
  { clientId, from, until }: { clientId?: string | undefined; from: string; until: string },
  states: ResendState[],
) {
  const merchantId = await findOne(deps, userOf(request), clientId)
  return { merchantId, from: toDate(from), until: toDate(until), states }
}

/** Webhooks belong to one merchant: the operator's users name it. */
async function findOne(deps: Deps, user: SignedIn, clientId: string | undefined): Promise<string> {
  const merchantId = await findShownMerchantId(deps, user, clientId)
  if (merchantId !== null) return merchantId
  const message = 'is required: webhooks belong to one client'
  throw invalidField('clientId', 'required', message)
}
