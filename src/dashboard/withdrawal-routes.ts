import { Type } from 'typebox'
import { byUser, isSamePerson, theOperator, toActor } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { Amount, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { listProposals, type ProposalView } from '../operator/proposals.ts'
import { detectPixKey, normalizePixKey } from '../pix/key.ts'
import { approveWithdrawal, findObstacleOf } from '../withdrawals/approve.ts'
import { changeLimits, limitsProposal } from '../withdrawals/change-limits.ts'
import { defaultLimits, type Limits } from '../withdrawals/limits.ts'
import { findLimits } from '../withdrawals/limits-store.ts'
import { findToDecide, listHeld, type WithdrawalToDecide } from '../withdrawals/operator-store.ts'
import { previewWithdrawal } from '../withdrawals/preview.ts'
import { unknownWithdrawal } from '../withdrawals/refusals.ts'
import { rejectWithdrawal } from '../withdrawals/reject.ts'
import { withdrawalAmountMin } from '../withdrawals/schema.ts'
import { ClientFilter, findSeen } from './overview-routes.ts'

type Deps = { db: Db; clock: Clock; wakeDeliveries: () => void }

const perPage = 20
/** Larger than any amount or sum that can occur: 10 billion reais. */
const limitMax = 1e12
const Params = Type.Object({ id: Type.String({ format: 'uuid-any' }) })
const Threshold = Type.Optional(
  Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 0, maximum: limitMax }),
)
const Limit = Type.Optional(Type.Unsafe<number | null>({ type: ['integer', 'null'], minimum: 1, maximum: limitMax }))

/** Withdrawals that users request and decide on. Everything else about withdrawals is in the merchants' API. */
export function registerWithdrawalDecisionRoutes(app: Server, deps: Deps): void {
  registerReading(app, deps)
  registerDecisions(app, deps)
  registerLimits(app, deps)
}

function registerReading(app: Server, deps: Deps): void {
  const { db } = deps
  app.get(
    '/dashboard/api/withdrawal/held',
    {
      config: { access: { permission: 'withdrawal.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          { clientId: ClientFilter, page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6 })) },
          { additionalProperties: false },
        ),
        response: problems(401, 403, 404, 422),
      },
    },
    async (request) => {
      const user = userOf(request)
      const { clientId, page = 1 } = request.query
      const merchantId = await findSeen(deps, user, clientId)
      const { total, items } = await listHeld(db, { merchantId, limit: perPage, offset: (page - 1) * perPage })
      const data = await Promise.all(items.map(async (row) => await toView(deps, row, user)))
      return { total, totalPages: Math.ceil(total / perPage), data }
    },
  )

  app.get(
    '/dashboard/api/withdrawal/:id',
    {
      config: { access: { permission: 'withdrawal.read' } },
      schema: { hide: true, params: Params, querystring: NoQuery, response: problems(401, 403, 404, 422) },
    },
    async (request) => {
      const user = userOf(request)
      return await toView(deps, await find(deps, user, request.params.id), user)
    },
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
        response: problems(401, 403, 404, 422, 503),
      },
    },
    async (request) => {
      const { clientId, amount, key, type } = request.body
      const merchantId = await findSeen(deps, userOf(request), clientId)
      if (merchantId === null) throw invalid('clientId', 'is required: the money of which client is withdrawn')
      const pixKey = type === undefined ? detectPixKey(key) : normalizePixKey({ key, type })
      if (!pixKey) throw invalid('key', `is not a key of the type ${type}`)
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
      schema: { hide: true, params: Params, querystring: NoQuery, response: problems(401, 403, 404, 422) },
    },
    async (request) => {
      const user = userOf(request)
      const { id } = await find(deps, user, request.params.id)
      const { status } = await approveWithdrawal(deps, { id, by: byUser(user) })
      return { id, status }
    },
  )

  app.post(
    '/dashboard/api/withdrawal/:id/rejection',
    {
      config: { access },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        body: Type.Object({ reason: Type.String({ minLength: 3, maxLength: 255 }) }),
        response: problems(401, 403, 404, 422),
      },
    },
    async (request) => {
      const user = userOf(request)
      const { id } = await find(deps, user, request.params.id)
      const { status } = await rejectWithdrawal(deps, { id, reason: request.body.reason, by: byUser(user) })
      return { id, status }
    },
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
        response: problems(401, 403, 404, 422),
      },
    },
    async (request): Promise<LimitsView> => {
      const user = userOf(request)
      const merchantId = await findSeen(deps, user, request.query.clientId)
      if (merchantId === null) throw invalid('clientId', 'is required: limits belong to one client')
      return await toLimitsView(deps, user, merchantId)
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
        response: problems(401, 403, 404, 422),
      },
    },
    async (request): Promise<LimitsView> => {
      const user = userOf(request)
      const merchantId = await findSeen(deps, user, request.query.clientId)
      assert(merchantId, 'a client that is named has a merchant')
      await changeLimits(deps, { merchantId, changed: request.body, by: byUser(user) })
      return await toLimitsView(deps, user, merchantId)
    },
  )
}

/** @throws {AppError} `not_found`, also if the withdrawal belongs to another merchant */
async function find({ db }: Deps, user: SignedIn, id: string): Promise<WithdrawalToDecide> {
  const row = await findToDecide(db, id)
  const seen = merchantSeenBy(user)
  if (!row || (seen !== null && row.merchant_id !== seen)) throw unknownWithdrawal()
  return row
}

export type LimitsView = Limits & {
  /** Looser limits that wait for a second person. A merchant's users do not see them. */
  proposal: ProposalView | null
}

async function toLimitsView(deps: Deps, user: SignedIn, merchantId: string): Promise<LimitsView> {
  const limits = (await findLimits(deps.db, merchantId)) ?? defaultLimits
  if (user.merchant) return { ...limits, proposal: null }
  const [proposal = null] = await listProposals(deps, toActor(user), { kinds: [limitsProposal.name], merchantId })
  return { ...limits, proposal }
}

export type DecidableWithdrawal = Awaited<ReturnType<typeof toView>>

async function toView({ db, clock }: Deps, row: WithdrawalToDecide, user: SignedIn) {
  const { requested_by: requestedBy } = row
  const by = toActor(user)
  const decides = row.hold !== null && user.permissions.includes('withdrawal.approve')
  const obstacle = decides ? await findObstacleOf(db, row, { by, now: clock.now() }) : null
  return {
    id: row.id,
    clientId: row.client_id,
    clientName: row.client_name,
    status: row.status,
    hold: row.hold,
    amount: row.amount,
    feeAmount: row.fee_amount,
    pixKey: { key: row.pix_key, type: row.pix_key_type },
    createdAt: row.created_at.toISOString(),
    /**
     * Who requested it; null: the merchant, with its token. Merchants see "operator" instead of the names of the
     * operator's users.
     */
    requestedBy: row.is_operators && user.merchant ? theOperator : requestedBy,
    isOperators: row.is_operators,
    /** Nobody approves their own request. */
    isOwn: requestedBy !== null && isSamePerson(requestedBy, by),
    /** Why this user cannot approve it. */
    obstacle: obstacle?.code ?? null,
    approvalAbove: row.is_operators ? row.operator_approval_above : row.approval_above,
    earlier: row.earlier && {
      id: row.earlier.id,
      status: row.earlier.status,
      createdAt: new Date(row.earlier.createdAt).toISOString(),
    },
  }
}

function invalid(field: string, message: string): AppError {
  return new AppError('validation_failed', { fields: [{ field, code: 'invalid', message }] })
}
