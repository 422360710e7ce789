import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import { byUser } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { Amount, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { decideDispute, enterDispute, listDisputeViews } from '../operator/disputes.ts'
import { listUnattributedDisputes, toDisputeView, type UnattributedDispute } from '../suspense/dispute-store.ts'
import { findOwners } from '../transactions/owner-store.ts'
import { previewRefund } from '../transactions/refund/preview.ts'
import { ClientFilter, findSeen } from './overview-routes.ts'
import { DisputesView, DisputeView, RefundPreviewView } from './schema.ts'

type Deps = { db: Db; clock: Clock; acquirers: Acquirers; wakeDeliveries: () => void }

const perPage = 20

const TransactionId = Type.String({ format: 'uuid-any' })
const amount = Amount(1, 'Cents')

/** Disputes (MED), and the preview of a refund. */
export function registerDisputeRoutes(app: Server, deps: Deps): void {
  app.get(
    '/dashboard/api/infraction',
    {
      config: { access: { permission: 'infraction.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          {
            clientId: ClientFilter,
            isOpen: Type.Boolean(),
            page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6 })),
          },
          { additionalProperties: false },
        ),
        response: { 200: DisputesView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { clientId, isOpen, page = 1 } = request.query
      const merchantId = await findSeen(deps, userOf(request), clientId)
      const slice = { limit: perPage, offset: (page - 1) * perPage }
      const { total, data } = await listDisputeViews(deps.db, { merchantId, isOpen, ...slice })
      const now = deps.clock.now().toISOString()
      // Payments without a transaction: only the operator sees them.
      const isOperator = merchantSeenBy(userOf(request)) === null && clientId === undefined
      const unattributed =
        isOperator && isOpen && page === 1 ? await listUnattributedDisputes(deps.db, { limit: perPage }) : []
      return {
        total,
        totalPages: Math.ceil(total / perPage),
        now,
        data,
        unattributed: unattributed.map(toUnattributed),
      }
    },
  )

  app.post(
    '/dashboard/api/infraction',
    {
      config: { access: { permission: 'infraction.decide' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object(
          {
            transactionId: TransactionId,
            amount: Type.Optional(amount),
            reason: Type.Optional(Type.String({ minLength: 3, maxLength: 255 })),
          },
          { additionalProperties: false },
        ),
        response: { 201: DisputeView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) =>
      await reply.code(201).send(await enterDispute(deps, { ...request.body, by: byUser(userOf(request)) })),
  )

  app.post(
    '/dashboard/api/infraction/:id/decision',
    {
      config: { access: { permission: 'infraction.decide' } },
      schema: {
        hide: true,
        params: Type.Object({ id: Type.String({ format: 'uuid-any' }) }),
        querystring: NoQuery,
        body: Type.Object(
          { transactionId: TransactionId, decision: Type.Enum(['accept', 'reject']) },
          { additionalProperties: false },
        ),
        response: { 200: DisputeView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const disputeId = request.params.id.toLowerCase()
      return await decideDispute(deps, { ...request.body, disputeId, by: byUser(userOf(request)) })
    },
  )

  app.get(
    '/dashboard/api/transaction/:id/refund',
    {
      config: { access: { permission: 'refund.write' } },
      schema: {
        hide: true,
        params: Type.Object({ id: TransactionId }),
        querystring: Type.Object({ amount: Type.Optional(amount) }, { additionalProperties: false }),
        response: { 200: RefundPreviewView, ...problems(401, 403, 404, 422, 503) },
      },
    },
    async (request) => {
      const { id: transactionId } = request.params
      const merchantId = await findMerchantOf(deps, userOf(request), transactionId)
      const { until, ...cents } = await previewRefund(deps, {
        merchantId,
        transactionId,
        amount: request.query.amount,
      })
      return { ...cents, until: until.toISOString() }
    },
  )
}

/** @throws {AppError} `not_found`, also if the transaction belongs to another merchant */
async function findMerchantOf({ db }: Deps, user: SignedIn, transactionId: string): Promise<string> {
  const [owner] = await findOwners(db, [transactionId])
  const seen = merchantSeenBy(user)
  if (!owner || (seen !== null && owner.merchant_id !== seen)) {
    throw new AppError('not_found', { detail: 'There is no transaction with this id.' })
  }
  return owner.merchant_id
}

function toUnattributed(row: UnattributedDispute & { suspense_id: string | null }) {
  return { ...toDisputeView(row), acquirer: row.acquirer, endToEnd: row.end_to_end, suspenseId: row.suspense_id }
}
