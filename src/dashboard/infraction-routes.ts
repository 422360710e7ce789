import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import { byUser } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { amountMax, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { listUnattributedDisputes, toDisputeView, type UnattributedDispute } from '../suspense/dispute-store.ts'
import { analysisEndsAt, decideInfraction, openInfraction } from '../transactions/infraction.ts'
import { type ListedInfraction, listDisputes } from '../transactions/infraction-store.ts'
import { findOwners } from '../transactions/owner-store.ts'
import { previewRefund } from '../transactions/refund-preview.ts'
import { ClientFilter, findSeen } from './overview-routes.ts'

type Deps = { db: Db; clock: Clock; acquirers: Acquirers; wakeDeliveries: () => void }

const perPage = 20
const dayMs = 24 * 60 * 60_000
/**
 * Under the Central Bank's MED the banks analyse a dispute for seven days and then have 96 hours to return the money.
 */
const inAllMs = 11 * dayMs

const TransactionId = Type.String({ format: 'uuid-any' })
const amount = Type.Integer({ minimum: 1, maximum: amountMax })

/** Disputes (MED), and the preview of a refund. */
export function registerInfractionRoutes(app: Server, deps: Deps): void {
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
        response: problems(401, 403, 404, 422),
      },
    },
    async (request) => {
      const { clientId, isOpen, page = 1 } = request.query
      const merchantId = await findSeen(deps, userOf(request), clientId)
      const slice = { limit: perPage, offset: (page - 1) * perPage }
      const { total, items } = await listDisputes(deps.db, { merchantId, isOpen, ...slice })
      const now = deps.clock.now().toISOString()
      // Payments without a transaction: only the operator sees them.
      const isOperator = merchantSeenBy(userOf(request)) === null && clientId === undefined
      const unattributed =
        isOperator && isOpen && page === 1 ? await listUnattributedDisputes(deps.db, { limit: perPage }) : []
      return {
        total,
        totalPages: Math.ceil(total / perPage),
        now,
        data: items.map(toView),
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
        response: problems(401, 403, 404, 422),
      },
    },
    async (request, reply) => {
      const { transactionId, ...named } = request.body
      const merchantId = await findMerchantOf(deps, userOf(request), transactionId)
      const opening = { merchantId, transactionId, ...named, by: byUser(userOf(request)) }
      return await reply.code(201).send(await openInfraction(deps, opening))
    },
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
        response: problems(401, 403, 404, 422),
      },
    },
    async (request) => {
      const { transactionId, decision } = request.body
      const infractionId = request.params.id.toLowerCase()
      await findMerchantOf(deps, userOf(request), transactionId)
      return await decideInfraction(deps, { transactionId, infractionId, decision, by: byUser(userOf(request)) })
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
        response: problems(401, 403, 404, 422, 503),
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

export type UnattributedView = ReturnType<typeof toUnattributed>

function toUnattributed(row: UnattributedDispute & { suspense_id: string | null }) {
  return { ...toDisputeView(row), acquirer: row.acquirer, endToEnd: row.end_to_end, suspenseId: row.suspense_id }
}

export type DisputeView = ReturnType<typeof toView>

function toView(row: ListedInfraction) {
  const opened = row.opened_at.getTime()
  return {
    id: row.id,
    transactionId: row.transaction_id,
    clientId: row.client_id,
    clientName: row.client_name,
    amount: row.amount,
    /** Cents that are blocked for the dispute. */
    blocked: row.blocked_amount,
    /** Cents that were returned under the dispute. */
    returned: row.returned_amount,
    /** The acquirer's own status if Guichê does not know it: a person has to check. */
    unknownStatus: row.acquirer_state === 'unknown' ? (row.acquirer_status ?? '') : null,
    reason: row.reason,
    state: row.state,
    /** True if the acquirer reported it; otherwise an operator entered it manually. */
    isToldByAcquirer: row.source !== 'operator' || row.acquirer_reference !== null,
    openedAt: row.opened_at.toISOString(),
    analysisEndsAt: analysisEndsAt(row).toISOString(),
    endsAt: new Date(opened + inAllMs).toISOString(),
    decidedAt: row.decided_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
  }
}
