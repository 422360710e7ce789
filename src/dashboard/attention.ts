import type { Acquirers } from '../acquirers/registry.ts'
import { type AlertRow, listAlerts } from '../alerts/store.ts'
import { byUser, toActor } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { SignedIn } from '../http/caller.ts'
import { showPayoutFreeze } from '../ledger/payout-freeze.ts'
import type { Clock } from '../lib/clock.ts'
import { listProposals } from '../operator/proposals.ts'
import { proposalKinds } from '../proposal-kinds.ts'
import { dueSoonMs } from '../transactions/dispute/dispute.ts'
import { countOverdueDisputes } from '../transactions/dispute/store.ts'
import { findObstacleOf } from '../withdrawals/approve.ts'
import {
  countDiscrepancies,
  countDisputesDue,
  countSuspense,
  listPending,
  type PendingRow,
  sumAccounts,
} from './attention-store.ts'
import type { AttentionItem } from './schema.ts'

type Deps = { db: Db; clock: Clock; acquirers: Acquirers }
/** Who reads it, and the merchant whose records they see: null for all. */
type AttentionScope = { user: SignedIn; merchantId: string | null; clientId: string | null; now: Date }

/**
 * Most kinds are counted up to this number, so that a long list costs no more. If there may be more, a "+" is shown.
 */
const countMax = 100
/** How many pending withdrawals are read in search of one that this person may approve: each may take two queries. */
const approvalsReadMax = 1_000
/** As in the alerts: enough time to get a new certificate from a PSP. */
const certificateMs = 30 * 24 * 60 * 60_000
/**
 * Kinds of alerts that are not counted in `alerts_open`: they have an item of their own here, or report that what
 * another item shows has waited for long.
 */
const alertsElsewhere: AlertRow['kind'][] = [
  ...(['payouts_frozen', 'database_went_back', 'discrepancy_open', 'suspense_waits', 'withdrawal_waits'] as const),
  ...([
    'dispute_deadline_near',
    'dispute_deadline',
    'dispute_overdue',
    'certificate_expires',
    'certificate_expired',
  ] as const),
  ...(['receiver_fails', 'endpoint_disabled'] as const),
]

/** What this user can do something about, the most urgent first. Empty if nothing needs attention. */
export async function findAttention(deps: Deps, scope: AttentionScope): Promise<AttentionItem[]> {
  const may = (permission: string) => scope.user.permissions.includes(permission)
  const isOperator = scope.user.merchant === null
  const operatorMay = (permission: string) => isOperator && may(permission)
  return [
    ...(operatorMay('system.read') ? await findFreeze(deps.db) : []),
    ...(operatorMay('ledger.read') ? await findImbalance(deps.db) : []),
    ...(may('infraction.read') ? await findDisputes(deps.db, scope) : []),
    ...(operatorMay('infraction.decide') ? await findOverdueDisputes(deps.db, scope) : []),
    ...(operatorMay('withdrawal.approve') ? await findApprovals(deps, scope) : []),
    ...(!isOperator && may('withdrawal.write') ? await findConfirmations(deps.db, scope) : []),
    ...(operatorMay('withdrawal.approve') ? await findProposals(deps, scope) : []),
    ...(operatorMay('reconciliation.read') ? await findOfReconciliation(deps.db) : []),
    ...(may('webhook.read') || may('system.read') ? await findOfAlerts(deps.db, scope) : []),
    ...(operatorMay('system.read') ? findCertificates(deps.acquirers, scope.now) : []),
  ]
}

type Item = Partial<AttentionItem> & Pick<AttentionItem, 'kind'>

function toItem(item: Item): AttentionItem {
  return { count: 1, isMore: false, amount: null, at: null, clientId: null, name: null, ...item }
}

function toCounted(
  kind: Item['kind'],
  { count, amount, first }: { count: number; amount?: number; first: Date | null },
  isMore = count >= countMax,
) {
  if (count === 0) return []
  return [toItem({ kind, count, isMore, amount: isMore ? null : (amount ?? null), at: first?.toISOString() ?? null })]
}

async function findFreeze(db: Db): Promise<AttentionItem[]> {
  const freeze = await showPayoutFreeze(db)
  return freeze === null ? [] : [toItem({ kind: 'payouts_frozen', at: freeze.engagedAt })]
}

async function findImbalance(db: Db): Promise<AttentionItem[]> {
  const sum = await sumAccounts(db)
  return sum === 0 ? [] : [toItem({ kind: 'books_not_balanced', amount: sum })]
}

async function findDisputes(db: Db, { merchantId, now }: AttentionScope): Promise<AttentionItem[]> {
  const before = new Date(now.getTime() + dueSoonMs)
  return toCounted('disputes_due', await countDisputesDue(db, { merchantId, limit: countMax }, before))
}

/** Disputes that are overdue: no automatic step will end them any more, so an operator must. */
async function findOverdueDisputes(db: Db, { merchantId, now }: AttentionScope): Promise<AttentionItem[]> {
  const overdue = await countOverdueDisputes(db, { before: now, merchantId, limit: countMax })
  return toCounted('disputes_overdue', overdue)
}

/**
 * Withdrawals that this user may approve as the second person (four-eyes principle). Pending withdrawals are read page
 * by page. On the first page that has such withdrawals they are counted, and the later pages are not read.
 */
async function findApprovals({ db }: Deps, scope: AttentionScope): Promise<AttentionItem[]> {
  const { merchantId } = scope
  const known = new Map<string, boolean>()
  for (let offset = 0; offset < approvalsReadMax; offset += countMax) {
    const pending = await listPending(db, { merchantId, limit: countMax + 1, offset })
    const approvable = await keepApprovable(db, pending.slice(0, countMax), { scope, known })
    // This person may be able to approve others beyond these.
    const isMore = pending.length > countMax
    if (approvable.length > 0 || !isMore) return toCounted('withdrawals_to_approve', sumOf(approvable), isMore)
  }
  return []
}

async function keepApprovable(
  db: Db,
  pending: PendingRow[],
  { scope, known }: { scope: AttentionScope; known: Map<string, boolean> },
): Promise<PendingRow[]> {
  const approvable: PendingRow[] = []
  for (const row of pending) {
    // The answer depends on the requester. If the withdrawal was requested with an API token, `requested_by` is null,
    // and the answer depends on who had created the merchant's client secrets before: it holds for this one only.
    const key = row.requested_by ?? row.id
    const may =
      known.get(key) ?? (await findObstacleOf(db, row, { by: byUser(scope.user).actor, now: scope.now })) === null
    known.set(key, may)
    if (may) approvable.push(row)
  }
  return approvable
}

/** Suspected duplicates, which the merchant confirms or cancels. */
async function findConfirmations(db: Db, { merchantId }: AttentionScope): Promise<AttentionItem[]> {
  const duplicates = await listPending(db, { merchantId, limit: countMax, reason: 'duplicate' })
  return toCounted('withdrawals_to_confirm', sumOf(duplicates))
}

function sumOf(rows: PendingRow[]) {
  const amount = rows.reduce((total, row) => total + row.amount, 0)
  return { count: rows.length, amount, first: rows[0]?.created_at ?? null }
}

async function findProposals(deps: Deps, { user }: AttentionScope): Promise<AttentionItem[]> {
  const kinds = proposalKinds.filter(({ permission }) => user.permissions.includes(permission))
  const open = await listProposals(deps, toActor(user), { kinds: kinds.map(({ name }) => name) })
  const decidable = open.filter(({ obstacle }) => obstacle === null)
  const first = decidable[0] ? new Date(decidable[0].proposedAt) : null
  return toCounted('proposals_to_approve', { count: decidable.length, first })
}

async function findOfReconciliation(db: Db): Promise<AttentionItem[]> {
  const [suspense, discrepancies] = [await countSuspense(db, countMax), await countDiscrepancies(db, countMax)]
  return [...toCounted('suspense_waits', suspense), ...toCounted('discrepancies_open', discrepancies)]
}

/**
 * Items from the open alerts: failing webhook receivers and disabled endpoints; for the operator also one item that
 * counts the other alerts.
 */
async function findOfAlerts(db: Db, { user, clientId }: AttentionScope): Promise<AttentionItem[]> {
  const alerts = await listAlerts(db, { endedMax: 0 })
  const receivers = alerts.flatMap(({ kind, subject, began_at: began }) => {
    if (kind !== 'receiver_fails' && kind !== 'endpoint_disabled') return []
    const { client, receiver } = JSON.parse(subject) as { client: string; receiver: string }
    if (clientId !== null && client !== clientId) return []
    return [toItem({ kind, clientId: client, name: receiver, at: began.toISOString() })]
  })
  const isOfService = user.merchant === null && user.permissions.includes('system.read')
  const others = isOfService ? alerts.filter(({ kind }) => !alertsElsewhere.includes(kind)) : []
  const first = others.map(({ began_at: began }) => began).sort((one, other) => one.getTime() - other.getTime())[0]
  return [
    ...(user.permissions.includes('webhook.read') ? receivers.slice(0, countMax) : []),
    ...toCounted('alerts_open', { count: others.length, first: first ?? null }),
  ]
}

function findCertificates({ all }: Acquirers, now: Date): AttentionItem[] {
  return all.flatMap(({ name, certificate }) => {
    const expiresAt = certificate?.expiresAt()
    if (!expiresAt || expiresAt.getTime() - now.getTime() > certificateMs) return []
    return [toItem({ kind: 'certificate_expires', name, at: expiresAt.toISOString() })]
  })
}
