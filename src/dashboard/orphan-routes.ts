import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { type SignedIn, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { feeFor } from '../ledger/fees.ts'
import type { Clock } from '../lib/clock.ts'
import { attributionProposal, findMatchable, matchPayment, proposeMatch } from '../orphans/match.ts'
import { type Candidate, rank } from '../orphans/score.ts'
import { listCandidates } from '../orphans/store.ts'
import { undoMatch } from '../orphans/undo.ts'
import { listDisputesOf, toDisputeView } from '../suspense/dispute-store.ts'
import { houseMerchantId } from '../suspense/house.ts'
import { returnHeld, unknownHeld } from '../suspense/send-back.ts'
import { findSuspense, type SuspenseRow } from '../suspense/store.ts'
import { type ClientName, findClientNames, type ListedPayment, listHeldPayments } from './orphan-store.ts'
import { listProposals, type ProposalView } from './proposal-routes.ts'

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

/** Payments in suspense: list them, attribute them to a transaction, send them back. For the operator only. */
export function registerOrphanRoutes(app: Server, deps: Deps): void {
  registerReading(app, deps)
  registerDecisions(app, deps)
}

function registerReading(app: Server, deps: Deps): void {
  const { db } = deps
  app.get(
    '/dashboard/api/orphan',
    {
      config: reading,
      schema: {
        hide: true,
        querystring: Type.Object(
          { isOpen: Type.Boolean(), page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6 })) },
          { additionalProperties: false },
        ),
        response: problems(401, 403, 422),
      },
    },
    async (request) => {
      const { isOpen, page = 1 } = request.query
      const { total, items } = await listHeldPayments(db, { isOpen, limit: perPage, offset: (page - 1) * perPage })
      return { total, totalPages: Math.ceil(total / perPage), data: items.map(toListed) }
    },
  )

  app.get(
    '/dashboard/api/orphan/:id',
    {
      config: reading,
      schema: { hide: true, params: Params, querystring: NoQuery, response: problems(401, 403, 404, 422) },
    },
    async (request) => await look(deps, request.params.id, userOf(request)),
  )

  app.get(
    '/dashboard/api/orphan/:id/match',
    {
      config: deciding,
      schema: {
        hide: true,
        params: Params,
        querystring: Type.Object({ transactionId: TransactionId }, { additionalProperties: false }),
        response: problems(401, 403, 404, 422),
      },
    },
    async (request): Promise<MatchPreview> => await previewMatch(deps, { ...request.params, ...request.query }),
  )
}

function registerDecisions(app: Server, deps: Deps): void {
  const bare = { hide: true, params: Params, querystring: NoQuery, response: problems(401, 403, 404, 422, 503) }
  app.post(
    '/dashboard/api/orphan/:id/match',
    {
      config: deciding,
      schema: { ...bare, body: Type.Object({ transactionId: TransactionId }, { additionalProperties: false }) },
    },
    async (request) => {
      const { id } = request.params
      const transactionId = request.body.transactionId.toLowerCase()
      const user = userOf(request)
      if ((await find(deps, id)).amount > deps.attributionApprovalAbove) {
        await proposeMatch(deps, { id, transactionId, by: byUser(user) })
        return await look(deps, id, user)
      }
      await matchPayment(deps, { id, transactionId, by: byUser(user) })
      return await look(deps, id, user)
    },
  )

  app.post('/dashboard/api/orphan/:id/undoing', { config: deciding, schema: bare }, async (request) => {
    const { id } = request.params
    await undoMatch(deps, { id, by: byUser(userOf(request)) })
    return await look(deps, id, userOf(request))
  })

  app.post('/dashboard/api/orphan/:id/return', { config: deciding, schema: bare }, async (request) => {
    const { id } = request.params
    await returnHeld(deps, { id, by: byUser(userOf(request)) })
    return await look(deps, id, userOf(request))
  })
}

async function find({ db }: Deps, id: string): Promise<SuspenseRow> {
  const row = await findSuspense(db, id)
  if (!row) throw unknownHeld()
  return row
}

/** One payment and the charges that it may belong to, the likeliest first. */
async function look(deps: Deps, id: string, user: SignedIn): Promise<OrphanView> {
  const row = await find(deps, id)
  const ofMerchant = row.merchant_id === houseMerchantId ? null : row.merchant_id
  const candidates = row.status === 'held' ? rank(row, await listCandidates(deps.db, row, ofMerchant)) : []
  const whose = [...candidates.map((one) => one.merchant_id), row.merchant_id, row.matched_merchant_id ?? '']
  const names = await findClientNames(
    deps.db,
    whose.filter((one) => one !== ''),
  )
  const [proposal = null] = await listProposals(deps, user, { kinds: [attributionProposal.name], recordId: id })
  const disputes = await listDisputesOf(deps.db, { acquirer: row.acquirer, endToEndId: row.end_to_end })
  const view = toView(row, candidates, names)
  return { ...view, disputes: disputes.map(toDisputeView), proposal, approvalAbove: deps.attributionApprovalAbove }
}

export type MatchPreview = {
  transaction: {
    id: string
    clientId: string
    clientName: string
    status: string
    amount: number
    externalCode: string | null
    customerName: string | null
    createdAt: string
  }
  /** Cents that the merchant is credited with, and the fee that is deducted from them. */
  amount: number
  fee: number
}

async function previewMatch(
  { db, clock }: Deps,
  { id, transactionId }: { id: string; transactionId: string },
): Promise<MatchPreview> {
  const { payment, transaction } = await findMatchable(db, { id, transactionId: transactionId.toLowerCase() })
  const { merchant_id: merchantId } = transaction
  const { amount } = payment
  const names = await findClientNames(db, [merchantId])
  const fee = await feeFor(db, { merchantId, amount, operation: 'transaction', now: clock.now() })
  return {
    transaction: {
      id: transaction.id,
      clientId: names.get(merchantId)?.client_id ?? '',
      clientName: names.get(merchantId)?.name ?? '',
      status: transaction.status,
      amount: transaction.amount,
      externalCode: transaction.external_code,
      customerName: transaction.customer?.name ?? null,
      createdAt: transaction.created_at.toISOString(),
    },
    amount,
    // Never more than the payment.
    fee: Math.min(fee, amount),
  }
}

export type ListedOrphan = ReturnType<typeof toListed>

function toListed(row: ListedPayment) {
  return {
    id: row.id,
    kind: row.kind,
    status: row.status,
    clientName: row.client_name,
    acquirer: row.acquirer,
    amount: row.amount,
    paidAt: row.paid_at.toISOString(),
    endToEnd: row.end_to_end,
    payerName: row.payer_name,
    transactionId: row.matched_transaction_id,
    error: row.error_message,
  }
}

export type OrphanView = ReturnType<typeof toView> & {
  disputes: ReturnType<typeof toDisputeView>[]
  /** An attribution that waits for another person. */
  proposal: ProposalView | null
  /** In cents. An attribution above this amount needs a second person. */
  approvalAbove: number
}

function toView(row: SuspenseRow, candidates: Candidate[], names: Map<string, ClientName>) {
  const nameOf = (merchantId: string | null) => {
    const named = merchantId === null ? undefined : names.get(merchantId)
    return named ? { clientId: named.client_id, name: named.name } : null
  }
  return {
    id: row.id,
    kind: row.kind,
    status: row.status,
    amount: row.amount,
    paidAt: row.paid_at.toISOString(),
    acquirer: row.acquirer,
    endToEnd: row.end_to_end,
    txid: row.txid,
    payer: row.payer && { name: row.payer.name, document: row.payer.document },
    /** Null: the operator's own account. */
    client: nameOf(row.merchant_id),
    /** For a duplicate payment: the transaction that was already paid. */
    paidTransactionId: row.transaction_id,
    matched:
      row.matched_transaction_id === null
        ? null
        : { transactionId: row.matched_transaction_id, client: nameOf(row.matched_merchant_id) },
    returnedByOthers: row.taken_amount,
    returnAmount: row.return_amount,
    returnEndToEnd: row.return_end_to_end,
    error: row.error_message,
    history: row.statuses.map((status, place) => ({ place, status, at: row.status_dates[place]?.toISOString() ?? '' })),
    candidates: candidates.map((candidate) => ({
      score: candidate.score,
      transactionId: candidate.id,
      client: nameOf(candidate.merchant_id),
      status: candidate.status,
      createdAt: candidate.created_at.toISOString(),
      evidence: candidate.evidence,
    })),
  }
}
