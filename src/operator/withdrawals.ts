import { type By, isSamePerson, theOperator } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { approveWithdrawal, findObstacleOf } from '../withdrawals/approve.ts'
import { limitsProposal } from '../withdrawals/change-limits.ts'
import { defaultLimits, type Limits } from '../withdrawals/limits.ts'
import { findLimits } from '../withdrawals/limits-store.ts'
import {
  findToDecide,
  listForOperator,
  listPendingReview,
  type WithdrawalToDecide,
} from '../withdrawals/operator-store.ts'
import { findReceiverHistory } from '../withdrawals/receiver-store.ts'
import { unknownWithdrawal } from '../withdrawals/refusals.ts'
import { rejectWithdrawal } from '../withdrawals/reject.ts'
import {
  isSettleable,
  proposeSettlement,
  type StatementFinding,
  settlementProposal,
} from '../withdrawals/settle-by-hand.ts'
import { findWithdrawal } from '../withdrawals/store.ts'
import { listProposals, type ProposalView } from './proposals.ts'

type Deps = { db: Db; clock: Clock }
type ActDeps = Deps & { wakeDeliveries: () => void }

/** Who asks, the merchant whose withdrawals they see (null: all), and whether they may decide. */
export type Viewer = { by: By; merchantId: string | null; decides: boolean }

/** The operator at the command line. */
export function atCommandLine(by: By): Viewer {
  return { by, merchantId: null, decides: true }
}

/** Withdrawals, newest first: of all merchants or of one, all or only those pending review. */
export async function listLatest(
  deps: Deps,
  which: { merchantId: string | null; isPendingReview: boolean; limit: number },
  viewer: Viewer,
): Promise<WithdrawalView[]> {
  const rows = await listForOperator(deps.db, which)
  return await Promise.all(rows.map(async (row) => await toView(deps, row, viewer)))
}

/** Withdrawals pending review, those waiting longest first. */
export async function listReviews(
  deps: Deps,
  which: { merchantId: string | null; limit: number; offset: number },
  viewer: Viewer,
): Promise<{ total: number; data: WithdrawalView[] }> {
  const { total, items } = await listPendingReview(deps.db, which)
  return { total, data: await Promise.all(items.map(async (row) => await toView(deps, row, viewer))) }
}

/** @throws {AppError} `not_found`, also if the withdrawal belongs to a merchant that the viewer does not see */
export async function showWithdrawal(deps: Deps, id: string, viewer: Viewer): Promise<WithdrawalView> {
  return await toView(deps, await find(deps.db, id, viewer), viewer)
}

/** The errors are those of `approveWithdrawal`. */
export async function approvePayout(deps: ActDeps, named: string, viewer: Viewer): Promise<WithdrawalView> {
  const { id } = await find(deps.db, named, viewer)
  await approveWithdrawal(deps, { id, by: viewer.by })
  return await showWithdrawal(deps, id, viewer)
}

/** The errors are those of `rejectWithdrawal`. */
export async function rejectPayout(
  deps: ActDeps,
  { id: named, reason }: { id: string; reason: string },
  viewer: Viewer,
): Promise<WithdrawalView> {
  const { id } = await find(deps.db, named, viewer)
  await rejectWithdrawal(deps, { id, reason, by: viewer.by })
  return await showWithdrawal(deps, id, viewer)
}

/** The errors are those of `proposeSettlement`. */
export async function proposeOutcome(
  deps: Deps,
  { id: named, ...seen }: StatementFinding & { id: string },
  viewer: Viewer,
): Promise<WithdrawalView> {
  const { id } = await find(deps.db, named, viewer)
  await proposeSettlement(deps, { id, seen, by: viewer.by })
  return await showWithdrawal(deps, id, viewer)
}

async function find(db: Db, id: string, { merchantId }: Viewer): Promise<WithdrawalToDecide> {
  const row = await findToDecide(db, id)
  if (!row || (merchantId !== null && row.merchant_id !== merchantId)) throw unknownWithdrawal()
  return row
}

export type WithdrawalView = Awaited<ReturnType<typeof toView>>

async function toView(deps: Deps, row: WithdrawalToDecide, viewer: Viewer) {
  const { requested_by: requestedBy } = row
  const by = viewer.by.actor
  const now = deps.clock.now()
  const { lastAt, ...receiver } = await findReceiverHistory(deps.db, row, { withOthers: viewer.merchantId === null })
  const obstacle = row.review_reason !== null && viewer.decides ? await findObstacleOf(deps.db, row, { by, now }) : null
  return {
    id: row.id,
    clientId: row.client_id,
    clientName: row.client_name,
    status: row.status,
    hold: row.review_reason,
    amount: row.amount,
    feeAmount: row.fee_amount,
    pixKey: { key: row.pix_key, type: row.pix_key_type },
    createdAt: row.created_at.toISOString(),
    receiver: { ...receiver, lastAt: lastAt?.toISOString() ?? null },
    /**
     * Who requested it; null: the merchant, with its token. Merchants see "operator" instead of the names of the
     * operator's users.
     */
    requestedBy: row.is_operators && viewer.merchantId !== null ? theOperator : requestedBy,
    isOperators: row.is_operators,
    isThroughOperators: row.is_through_operators,
    /** Nobody approves their own request. */
    isOwn: requestedBy !== null && isSamePerson(requestedBy, by),
    /** Why this person cannot approve it. */
    obstacle: obstacle?.code ?? null,
    approvalAbove: findExceeded(row),
    mayBeSent: row.may_be_sent,
    earlier: row.earlier && {
      id: row.earlier.id,
      status: row.earlier.status,
      createdAt: new Date(row.earlier.createdAt).toISOString(),
    },
    ...(await toOutcome(deps, row, viewer)),
  }
}

/**
 * The lowest threshold that the amount exceeds. The one for the operator's staff applies only to what they may have
 * requested.
 */
function findExceeded(row: WithdrawalToDecide): number | null {
  const thresholds = [row.approval_above, row.is_through_operators ? row.operator_approval_above : null]
  const exceeded = thresholds.filter((threshold) => threshold !== null && row.amount > threshold)
  return exceeded.length === 0 ? null : Math.min(...exceeded.map(Number))
}

/** Only those who decide for the operator see that a person has to enter the outcome, and what is proposed. */
async function toOutcome(
  deps: Deps,
  { id, status, may_be_sent: mayBeSent, merchant_id: merchantId }: WithdrawalToDecide,
  { by, decides, merchantId: seen }: Viewer,
): Promise<{ needsOutcome: boolean; proposal: ProposalView | null }> {
  const isOpen = status === 'PROCESSING' || mayBeSent
  const row = isOpen && decides && seen === null && (await findWithdrawal(deps.db, merchantId, id))
  if (!row || !(await isSettleable(deps.db, row, deps.clock.now()))) return { needsOutcome: false, proposal: null }
  const [proposal = null] = await listProposals(deps, by.actor, { kinds: [settlementProposal.name], recordId: id })
  return { needsOutcome: true, proposal }
}

export type LimitsView = Limits & {
  /** Looser limits that wait for a second person. A merchant's users do not see them. */
  proposal: ProposalView | null
}

export async function showLimits(deps: Deps, merchantId: string, viewer: Viewer): Promise<LimitsView> {
  const limits = (await findLimits(deps.db, merchantId)) ?? defaultLimits
  if (viewer.merchantId !== null) return { ...limits, proposal: null }
  const [proposal = null] = await listProposals(deps, viewer.by.actor, { kinds: [limitsProposal.name], merchantId })
  return { ...limits, proposal }
}
