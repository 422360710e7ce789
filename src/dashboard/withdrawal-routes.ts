import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { byUser, toActor } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { merchantSeenBy, userOf } from '../http/caller.ts'
import { Amount, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { invalidField } from '../lib/errors.ts'
import {
  approvePayout,
  listReviews,
  proposeOutcome,
  rejectPayout,
  showLimits,
  showWithdrawal,
  type Viewer,
} from '../operator/withdrawals.ts'
import { decidedMax, decideWithdrawals } from '../operator/withdrawals-many.ts'
import { detectPixKey, normalizePixKey } from '../pix/key.ts'
import { changeLimits } from '../withdrawals/change-limits.ts'
import { previewWithdrawal } from '../withdrawals/preview.ts'
import { withdrawalAmountMin } from '../withdrawals/schema.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'
import { DecisionsView, LimitsView, PageOf, WithdrawalPreviewView, WithdrawalView } from './schema.ts'

type Deps = { db: Db; clock: Clock; wakeDeliveries: () => void }

const perPage = 20
/** Larger than any amount or sum that can occur: 10 billion reais. */
const limitMax = 1e12
const Params = Type.Object({ id: Type.String({ format: 'uuid-any' }) })
const Reason = Type.String({ minLength: 3, maxLength: 255 })
const LimitFrom = (minimum: number) =>
  Type.Optional(Type.Unsafe<number | null>({ ...Amount(minimum, 'Cents', limitMax), type: ['integer', 'null'] }))
const Threshold = LimitFrom(0)
const Limit = LimitFrom(1)

/**
 * Withdrawals that users request and decide on, and their limits. list-routes.ts has the list of withdrawals;
 * everything else about them is in the merchants' API.
 */
export function registerWithdrawalDecisionRoutes(app: Server, deps: Deps): void {
  registerReading(app, deps)
  registerDecisions(app, deps)
  registerLimits(app, deps)
}

function registerReading(app: Server, deps: Deps): void {
  app.get(
    '/dashboard/api/withdrawal/pending-review',
    {
      config: { access: { permission: 'withdrawal.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          { clientId: ClientFilter, page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6 })) },
          { additionalProperties: false },
        ),
        response: { 200: PageOf(WithdrawalView), ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const { clientId, page = 1 } = request.query
      const merchantId = await findShownMerchantId(deps, user, clientId)
      const slice = { limit: perPage, offset: (page - 1) * perPage }
      const { total, data } = await listReviews(deps, { merchantId, ...slice }, viewerOf(request))
      return { total, totalPages: Math.ceil(total / perPage), data }
    },
  )

  app.get(
    '/dashboard/api/withdrawal/:id',
    {
      config: { access: { permission: 'withdrawal.read' } },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        response: { 200: WithdrawalView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => await showWithdrawal(deps, request.params.id, viewerOf(request)),
  )

  app.post(
    '/dashboard/api/withdrawal/preview',
    {
      config: { access: { permission: 'withdrawal.write' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object(
          {
            clientId: ClientFilter,
            amount: Amount(withdrawalAmountMin, 'Cents'),
            key: Type.String({ format: 'pix-key', maxLength: 77 }),
            type: Type.Optional(Type.Enum(['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP'])),
          },
          { additionalProperties: false },
        ),
        response: { 200: WithdrawalPreviewView, ...problems(401, 403, 404, 422, 503) },
      },
    },
    async (request) => {
      const { clientId, amount, key, type } = request.body
      const merchantId = await findShownMerchantId(deps, userOf(request), clientId)
      if (merchantId === null)
        throw invalidField('clientId', 'invalid', 'is required: a withdrawal belongs to one client')
      const pixKey = type === undefined ? detectPixKey(key) : normalizePixKey({ key, type })
      if (!pixKey) throw invalidField('key', 'invalid', `is not a key of the type ${type}`)
      return await previewWithdrawal(deps, { merchantId, amount, pixKey, requestedBy: toActor(userOf(request)) })
    },
  )
}

function registerDecisions(app: Server, deps: Deps): void {
  const access = { permission: 'withdrawal.approve' }
  app.post(
    '/dashboard/api/withdrawal/:id/approval',
    {
      config: { access },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        response: { 200: WithdrawalView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => await approvePayout(deps, request.params.id, viewerOf(request)),
  )

  app.post(
    '/dashboard/api/withdrawal/:id/rejection',
    {
      config: { access },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        body: Type.Object({ reason: Reason }, { additionalProperties: false }),
        response: { 200: WithdrawalView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => await rejectPayout(deps, { ...request.body, ...request.params }, viewerOf(request)),
  )

  const Ids = Type.Array(Type.String({ format: 'uuid-any' }), { minItems: 1, maxItems: decidedMax, uniqueItems: true })
  const many = { hide: true, querystring: NoQuery, response: { 200: DecisionsView, ...problems(401, 403, 422) } }
  app.post(
    '/dashboard/api/withdrawal/approval',
    { config: { access }, schema: { ...many, body: Type.Object({ ids: Ids }) } },
    async (request) => ({
      data: await decideWithdrawals(deps, { ...request.body, decision: 'approve' }, viewerOf(request)),
    }),
  )
  app.post(
    '/dashboard/api/withdrawal/rejection',
    { config: { access }, schema: { ...many, body: Type.Object({ ids: Ids, reason: Reason }) } },
    async (request) => ({
      data: await decideWithdrawals(deps, { ...request.body, decision: 'reject' }, viewerOf(request)),
    }),
  )

  app.post(
    '/dashboard/api/withdrawal/:id/settlement',
    {
      config: { access },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        body: Type.Object(
          {
            /** Null: the payout is not in the PSP's account statement. */
            endToEndId: Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 32 }),
            reason: Reason,
          },
          { additionalProperties: false },
        ),
        response: { 201: WithdrawalView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) =>
      await reply.code(201).send(await proposeOutcome(deps, { ...request.body, ...request.params }, viewerOf(request))),
  )
}

function registerLimits(app: Server, deps: Deps): void {
  app.get(
    '/dashboard/api/withdrawal-limits',
    {
      config: { access: { permission: 'withdrawal.read' } },
      schema: {
        hide: true,
        querystring: Type.Object({ clientId: ClientFilter }, { additionalProperties: false }),
        response: { 200: LimitsView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request): Promise<LimitsView> => {
      const user = userOf(request)
      const merchantId = await findShownMerchantId(deps, user, request.query.clientId)
      if (merchantId === null) throw invalidField('clientId', 'invalid', 'is required: limits belong to one client')
      return await showLimits(deps, merchantId, viewerOf(request))
    },
  )

  app.patch(
    '/dashboard/api/withdrawal-limits',
    {
      config: { access: { permission: 'withdrawal.approve' } },
      schema: {
        hide: true,
        querystring: Type.Object({ clientId: Type.String({ maxLength: 128 }) }, { additionalProperties: false }),
        body: Type.Object(
          {
            perWithdrawal: Limit,
            perDay: Limit,
            perNight: Limit,
            approvalAbove: Threshold,
            operatorApprovalAbove: Threshold,
            duplicateWindowSeconds: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400 })),
          },
          { additionalProperties: false, minProperties: 1 },
        ),
        response: { 200: LimitsView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request): Promise<LimitsView> => {
      const user = userOf(request)
      const merchantId = await findShownMerchantId(deps, user, request.query.clientId)
      assert(merchantId, 'a client that is named has a merchant')
      await changeLimits(deps, { merchantId, changed: request.body, by: byUser(user) })
      return await showLimits(deps, merchantId, viewerOf(request))
    },
  )
}

function viewerOf(request: FastifyRequest): Viewer {
  const user = userOf(request)
  const decides = user.permissions.includes('withdrawal.approve')
  return { by: byUser(user), merchantId: merchantSeenBy(user), decides }
}
