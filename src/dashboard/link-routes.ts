import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import { byUser } from '../audit/record.ts'
import type { Db, Reads } from '../db/sql.ts'
import { merchantSeenBy, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { type AppError, invalidField } from '../lib/errors.ts'
import { changeLink, createLink, unknownLink } from '../links/save.ts'
import { LinkBody, LinkChange, LinkDetailView, LinkPaymentView, LinkView } from '../links/schema.ts'
import { findLinkWithTotals, type LinkWithTotals, listLinkPayments, listLinks } from '../links/store.ts'
import { toLinkDetailResponse, toLinkPaymentResponse, toLinkResponse } from '../links/view.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'
import { PageOf } from './schema.ts'

type Deps = { db: Db; reads: Reads; clock: Clock; acquirers: Acquirers; baseUrl: string }

const perPage = 20
const Params = Type.Object({ id: Type.String({ format: 'uuid-any' }) })
const Page = Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6 }))

/**
 * Payment links. To create or change one takes the permission to create charges, to see them the one to read
 * transactions.
 */
export function registerLinkRoutes(app: Server, deps: Deps): void {
  registerReading(app, deps)
  registerWriting(app, deps)
}

function registerReading(app: Server, deps: Deps): void {
  const { db, reads, clock, baseUrl } = deps
  const { cell } = deps.acquirers
  app.get(
    '/dashboard/api/link',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: {
        hide: true,
        querystring: Type.Object({ clientId: ClientFilter, page: Page }, { additionalProperties: false }),
        response: { 200: PageOf(LinkView), ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { clientId, page = 1 } = request.query
      const merchantId = await findShownMerchantId(deps, userOf(request), clientId)
      const now = clock.now()
      const { total, rows } = await listLinks(reads, { merchantId, limit: perPage, offset: (page - 1) * perPage, now })
      const data = rows.map((row) => toLinkResponse(row, { baseUrl, cell, now }))
      return { total, totalPages: Math.ceil(total / perPage), data }
    },
  )

  app.get(
    '/dashboard/api/link/:id',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        response: { 200: LinkDetailView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => toLinkDetailResponse(await findOwn(deps, request), { baseUrl, cell, now: clock.now() }),
  )

  app.get(
    '/dashboard/api/link/:id/payment',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: {
        hide: true,
        params: Params,
        querystring: Type.Object({ page: Page }, { additionalProperties: false }),
        response: { 200: PageOf(LinkPaymentView), ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const link = await findOwn(deps, request)
      const { page = 1 } = request.query
      const { total, rows } = await listLinkPayments(db, { ...link, limit: perPage, offset: (page - 1) * perPage })
      return { total, totalPages: Math.ceil(total / perPage), data: rows.map(toLinkPaymentResponse) }
    },
  )
}

function registerWriting(app: Server, deps: Deps): void {
  const { db, clock, baseUrl } = deps
  const { cell } = deps.acquirers
  app.post(
    '/dashboard/api/link',
    {
      config: { access: { permission: 'transaction.write' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object({
          ...LinkBody.properties,
          clientId: ClientFilter,
          // Chosen by the page, so that a repeated request creates one link.
          id: Type.String({ format: 'uuid-v4' }),
        }),
        response: { 201: LinkDetailView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { clientId, id, ...input } = request.body
      const user = userOf(request)
      const merchantId = await findShownMerchantId(deps, user, clientId)
      if (merchantId === null) throw clientNeeded()
      await createLink(deps, { merchantId, id, input, by: byUser(user) })
      const link = await findLinkWithTotals(db, { merchantId, id, now: clock.now() })
      assert(link, 'a payment link that was created exists')
      void reply.code(201)
      return toLinkDetailResponse(link, { baseUrl, cell, now: clock.now() })
    },
  )

  app.put(
    '/dashboard/api/link/:id',
    {
      config: { access: { permission: 'transaction.write' } },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        body: LinkChange,
        response: { 200: LinkDetailView, ...problems(401, 403, 404, 409, 422) },
      },
    },
    async (request) => {
      const { merchant_id: merchantId, id } = await findOwn(deps, request)
      const { changedAt, ...input } = request.body
      await changeLink(deps, { merchantId, id, input, changedAt, by: byUser(userOf(request)) })
      return toLinkDetailResponse(await findOwn(deps, request), { baseUrl, cell, now: clock.now() })
    },
  )
}

function clientNeeded(): AppError {
  return invalidField('clientId', 'required', 'is required: a link belongs to one client')
}

/** @throws {AppError} `not_found` also for another merchant's link */
async function findOwn({ db, clock }: Deps, request: FastifyRequest): Promise<LinkWithTotals> {
  const { id } = request.params as { id: string }
  const merchantId = merchantSeenBy(userOf(request))
  const link = await findLinkWithTotals(db, { merchantId, id, now: clock.now() })
  if (!link) throw unknownLink()
  return link
}
