import {
  attributionProposal,
  findAttributable,
  proposeAttribution,
  recordAttribution,
} from '../attribution/attribute.ts'
import { recordReversal } from '../attribution/reverse.ts'
import { type Candidate, rank } from '../attribution/score.ts'
import { listCandidates } from '../attribution/store.ts'
import type { By } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { toReason } from '../explain/sentences.ts'
import { feeFor } from '../ledger/fees.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { listDisputesOf, toDisputeView } from '../suspense/dispute-store.ts'
import { startSendBack } from '../suspense/send-back.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import { findSuspense, type SuspenseRow } from '../suspense/store.ts'
import { listProposals, type ProposalView } from './proposals.ts'
import { type ClientName, findClientNames, type ListedPayment, listSuspensePayments } from './suspense-store.ts'

type Deps = { db: Db; clock: Clock; wakeDeliveries: () => void }
type OfPayment = { id: string; by: By }

/** Payments that are or were in suspense. `isOpen`: those that wait for a decision, or for their return. */
export async function listPayments(
  { db }: Pick<Deps, 'db'>,
  which: { isOpen: boolean; limit: number; offset: number },
): Promise<{ total: number; data: ListedPaymentView[] }> {
  const { total, items } = await listSuspensePayments(db, which)
  return { total, data: items.map(toListed) }
}

/**
 * One payment and the charges that it may belong to, the likeliest first.
 *
 * @throws {AppError} `not_found`
 */
export async function showPayment(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { id, by }: OfPayment,
): Promise<PaymentView> {
  const row = await find(db, id)
  const ofMerchant = row.merchant_id === operatorMerchantId ? null : row.merchant_id
  const candidates = row.status === 'held' ? rank(row, await listCandidates(db, row, ofMerchant)) : []
  const merchantIds = [...candidates.map((one) => one.merchant_id), row.merchant_id, row.attributed_merchant_id]
  const names = await findClientNames(
    db,
    merchantIds.filter((one) => one !== null),
  )
  const kinds = [attributionProposal.name]
  const [proposal = null] = await listProposals({ db, clock }, by.actor, { kinds, recordId: id })
  const disputes = await listDisputesOf(db, { acquirer: row.acquirer, endToEndId: row.end_to_end })
  return { ...toView(row, candidates, names), disputes: disputes.map(toDisputeView), proposal }
}

/**
 * Attributes a payment to a transaction.
 *
 * @param approvalAbove in cents: above this amount it is proposed to a second person instead
 * @throws {AppError} `not_found`; `suspense_not_possible`, `proposal_not_possible`
 */
export async function attributePayment(
  deps: Deps,
  { id, transactionId, by, approvalAbove }: OfPayment & { transactionId: string; approvalAbove?: number },
): Promise<PaymentView> {
  const { amount } = await find(deps.db, id)
  if (approvalAbove !== undefined && amount > approvalAbove) await proposeAttribution(deps, { id, transactionId, by })
  else await recordAttribution(deps, { id, transactionId, by })
  return await showPayment(deps, { id, by })
}

/**
 * Reverses an attribution. `transactionId`: of the transaction that the payment was attributed to.
 *
 * @throws {AppError} `not_found`, `suspense_not_possible`
 */
export async function reverseAttribution(
  deps: Deps,
  { id, by }: OfPayment,
): Promise<PaymentView & { transactionId: string }> {
  await find(deps.db, id)
  const { transactionId } = await recordReversal(deps, { id, by })
  return { ...(await showPayment(deps, { id, by })), transactionId }
}

/** @throws {AppError} `not_found`, `suspense_not_possible`, `payouts_stopped` */
export async function returnPayment(deps: Pick<Deps, 'db' | 'clock'>, { id, by }: OfPayment): Promise<PaymentView> {
  await find(deps.db, id)
  await startSendBack(deps, { id, by })
  return await showPayment(deps, { id, by })
}

async function find(db: Db, id: string): Promise<SuspenseRow> {
  const row = await findSuspense(db, id)
  if (row) return row
  throw new AppError('not_found', {
    detail: `There is no payment ${id} in suspense. \`npx guiche suspense list --all\` lists them.`,
  })
}

export type AttributionPreview = {
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

export async function previewAttribution(
  { db, clock }: { db: Db; clock: Clock },
  { id, transactionId }: { id: string; transactionId: string },
): Promise<AttributionPreview> {
  const { payment, transaction } = await findAttributable(db, { id, transactionId })
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

export type ListedPaymentView = ReturnType<typeof toListed>

function toListed(row: ListedPayment) {
  return {
    id: row.id,
    kind: row.kind,
    status: row.status,
    clientId: row.client_id,
    clientName: row.client_name,
    acquirer: row.acquirer,
    amount: row.amount,
    paidAt: row.paid_at.toISOString(),
    endToEnd: row.end_to_end,
    payerName: row.payer_name,
    transactionId: row.attributed_transaction_id,
    error: toReason(row.error_message),
  }
}

export type PaymentView = ReturnType<typeof toView> & {
  disputes: ReturnType<typeof toDisputeView>[]
  /** An attribution that waits for another person. */
  proposal: ProposalView | null
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
      row.attributed_transaction_id === null
        ? null
        : { transactionId: row.attributed_transaction_id, client: nameOf(row.attributed_merchant_id) },
    returnedByOthers: row.taken_amount,
    returnAmount: row.return_amount,
    returnEndToEnd: row.return_end_to_end,
    error: toReason(row.error_message),
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
