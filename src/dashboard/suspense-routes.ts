import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { type SignedIn, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import {
  attributePayment,
  listPayments,
  previewAttribution,
  returnPayment,
  reverseAttribution,
  showPayment,
} from '../operator/suspense.ts'
import { AttributionPreviewView, ListedPaymentView, PaymentView } from './operator-schema.ts'
import { PageOf } from './schema.ts'

type Deps = {
  db: Db
  clock: Clock
  /** In cents. An attribution above this amount needs a second person. */
  attributionApprovalAbove: number
  wakeDeliveries: () => void
}

const perPage = 20
const Params = Type.Object({ id: Type.String({ format: 'uuid-any' }) })
const TransactionId = Type.String({ format: 'uuid-any' })
const reading = { access: { permission: 'reconciliation.read' } } as const
const deciding = { access: { permission: 'reconciliation.decide' } } as const

/**
 * Payments in suspense: list and show them, preview, make and reverse an attribution, and return them to the payer. For
 * the operator only.
 */
export function registerSuspenseRoutes(app: Server, deps: Deps): void {
  registerReading(app, deps)
  registerDecisions(app, deps)
}

function registerReading(app: Server, deps: Deps): void {
  app.get(
    '/dashboard/api/suspense',
    {
      config: reading,
      schema: {
        hide: true,
        querystring: Type.Object(
          { isOpen: Type.Boolean(), page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6 })) },
          { additionalProperties: false },
        ),
        response: { 200: PageOf(ListedPaymentView), ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      const { isOpen, page = 1 } = request.query
      const { total, data } = await listPayments(deps, { isOpen, limit: perPage, offset: (page - 1) * perPage })
      return { total, totalPages: Math.ceil(total / perPage), data }
    },
  )

  app.get(
    '/dashboard/api/suspense/:id',
    {
      config: reading,
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        response: { 200: PaymentView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => toResponse(deps, await showPayment(deps, toInput(request.params, userOf(request)))),
  )

  app.get(
    '/dashboard/api/suspense/:id/match',
    {
      config: deciding,
      schema: {
        hide: true,
        params: Params,
        querystring: Type.Object({ transactionId: TransactionId }, { additionalProperties: false }),
        response: { 200: AttributionPreviewView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const transactionId = request.query.transactionId.toLowerCase()
      return await previewAttribution(deps, { id: request.params.id, transactionId })
    },
  )
}

function registerDecisions(app: Server, deps: Deps): void {
  const bare = {
    ...{ hide: true, params: Params, querystring: NoQuery },
    response: { 200: PaymentView, ...problems(401, 403, 404, 422, 503) },
  }
  app.post(
    '/dashboard/api/suspense/:id/match',
    {
      config: deciding,
      schema: { ...bare, body: Type.Object({ transactionId: TransactionId }, { additionalProperties: false }) },
    },
    async (request) => {
      const transactionId = request.body.transactionId.toLowerCase()
      const approvalAbove = deps.attributionApprovalAbove
      return toResponse(
        deps,
        await attributePayment(deps, { ...toInput(request.params, userOf(request)), transactionId, approvalAbove }),
      )
    },
  )

  app.post('/dashboard/api/suspense/:id/undoing', { config: deciding, schema: bare }, async (request) =>
    toResponse(deps, await reverseAttribution(deps, toInput(request.params, userOf(request)))),
  )

  app.post('/dashboard/api/suspense/:id/return', { config: deciding, schema: bare }, async (request) =>
    toResponse(deps, await returnPayment(deps, toInput(request.params, userOf(request)))),
  )
}

function toInput({ id }: { id: string }, user: SignedIn) {
  return { id, by: byUser(user) }
}

function toResponse(
  { attributionApprovalAbove: approvalAbove }: Deps,
  view: Omit<PaymentView, 'approvalAbove'>,
): PaymentView {
  return { ...view, approvalAbove }
}
