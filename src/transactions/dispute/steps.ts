import type { DisputeFound } from '../../acquirers/acquirer.ts'
import type { Tx } from '../../db/sql.ts'
import { type Posting, post } from '../../ledger/post.ts'
import { disputed, disputeReleased, disputeReturned, returnedUnannounced } from '../../ledger/transfers.ts'
import { newUuid } from '../../lib/secrets.ts'
import { changeStatus } from '../change.ts'
import { leftOf, moveToImpliedStatus } from '../refund/after.ts'
import { listRefunds, type RefundRow } from '../refund/store.ts'
import type { LockedTransaction } from '../store.ts'
import {
  type DisputeRow,
  insertDispute,
  listDisputesOf,
  reopenDefence,
  updateDispute,
  updateDisputeDate,
} from './store.ts'

/** The steps of a dispute. Each runs in the caller's commit and under the transaction's lock. */

export type Opening = Pick<DisputeRow, 'source' | 'acquirer_reference' | 'reason'> & {
  /** By default a new one. */
  id?: string | undefined
  /** Zero: all that is left of the payment, or the whole payment for a dispute that has already ended. */
  amount: number
  openedAt: Date
  reported: ReportedState | null
}

/** What the acquirer reports about a dispute. */
export type ReportedState = Pick<DisputeRow, 'acquirer_status' | 'acquirer_state' | 'deadline_at'>

export function toReportedState({ status, state, deadline }: DisputeFound): ReportedState {
  return { acquirer_status: status, acquirer_state: state, deadline_at: deadline }
}

/** Records a dispute, and blocks the part of the payment that is still there and not being sent. */
export async function openDispute(
  tx: Tx,
  row: LockedTransaction,
  opening: Opening,
  now: Date,
): Promise<{ row: LockedTransaction; id: string }> {
  const left = leftOf(row, await listRefunds(tx, row), 'REFUNDED')
  const dispute = toRow(row, {
    ...opening,
    // More than is left cannot be blocked. If the whole payment is gone, the dispute is recorded with the reported
    // amount, and blocks nothing.
    amount: Math.min(opening.amount || row.amount_paid || 1, left || (row.amount_paid ?? 1)),
  })
  await insertDispute(tx, dispute)
  const dated = await updateDisputeDate(tx, row, opening.openedAt)
  return { row: await settleDisputes(tx, dated, now), id: dispute.id }
}

/** Records a dispute that had ended before Guichê learned of it: it never blocked anything. */
export async function enterEnded(
  tx: Tx,
  row: LockedTransaction,
  opening: Opening & { state: 'rejected' | 'canceled' },
  now: Date,
): Promise<{ row: LockedTransaction; id: string }> {
  const amount = Math.min(opening.amount || row.amount_paid || 1, row.amount_paid ?? 1)
  const dispute = { ...toRow(row, { ...opening, amount }), state: opening.state, decided_at: now, finished_at: now }
  await insertDispute(tx, dispute)
  return { row: await updateDisputeDate(tx, row, row.infraction_date ?? opening.openedAt), id: dispute.id }
}

function toRow(row: LockedTransaction, opening: Opening): DisputeRow {
  return {
    merchant_id: row.merchant_id,
    id: opening.id ?? newUuid(),
    transaction_id: row.id,
    acquirer: row.acquirer,
    acquirer_reference: opening.acquirer_reference,
    source: opening.source,
    ...(opening.reported ?? { acquirer_status: null, acquirer_state: null, deadline_at: null }),
    amount: opening.amount,
    reason: opening.reason,
    state: 'open',
    blocked_amount: 0,
    returned_amount: 0,
    postings: 0,
    opened_at: opening.openedAt,
    decided_at: null,
    finished_at: null,
  }
}

/** Accepts a dispute: the payer is right, and the money will be returned. */
export async function acceptDispute(
  tx: Tx,
  row: LockedTransaction,
  dispute: DisputeRow,
  now: Date,
): Promise<LockedTransaction> {
  await updateDispute(tx, { ...dispute, state: 'accepted', decided_at: now })
  // Also when all of it is gone by now, so that every step appears in the transaction's history.
  const set = {}
  const moved =
    row.status === 'BLOCKED'
      ? await changeStatus(tx, row, { to: 'PROCESSING_INFRACTION', now, checkAt: null, set })
      : row
  return await settleDisputes(tx, moved, now)
}

/**
 * Ends a dispute. Nothing more is returned, and what is blocked becomes available to the merchant again.
 *
 * @param state `returned`: the dispute was lost. The others: it was not lost, whatever was returned while it was open.
 */
export async function endDispute(
  tx: Tx,
  row: LockedTransaction,
  dispute: DisputeRow,
  state: 'returned' | 'rejected' | 'canceled',
  now: Date,
): Promise<LockedTransaction> {
  await release(tx, row, dispute, dispute.blocked_amount, now)
  const ended = { blocked_amount: 0, state, decided_at: dispute.decided_at ?? now, finished_at: now }
  await updateDispute(tx, { ...dispute, ...ended, postings: dispute.postings + 1 })
  return await settleDisputes(tx, row, now)
}

/** Reopens a dispute that had ended: it blocks what is left, and can be defended again. */
export async function reopenDispute(
  tx: Tx,
  row: LockedTransaction,
  dispute: DisputeRow,
  now: Date,
): Promise<LockedTransaction> {
  await updateDispute(tx, { ...dispute, state: 'open', decided_at: null, finished_at: null })
  await reopenDefence(tx, dispute)
  return await settleDisputes(tx, row, now)
}

/**
 * Posts money that was returned under MED. It is taken from what disputes block, the accepted ones first; anything
 * beyond that was not announced, and is taken from the available balance or becomes a debt. Returns the first dispute
 * of which a part was returned. The caller writes the return afterwards: `row` does not include it yet.
 */
export async function returnUnderMed(
  tx: Tx,
  row: LockedTransaction,
  { amount, reference, at }: { amount: number; reference: string | null; at: Date },
  now: Date,
): Promise<{ row: LockedTransaction; disputeId: string }> {
  let rest = amount
  let disputeId: string | null = null
  const undecided = (await listDisputesOf(tx, row)).filter(isUndecided)
  for (const dispute of undecided.toSorted((a, b) => Number(b.state === 'accepted') - Number(a.state === 'accepted'))) {
    const part = Math.min(rest, dispute.amount - dispute.returned_amount)
    if (part === 0) continue
    rest -= part
    const ofBlocked = Math.min(dispute.blocked_amount, part)
    disputeId ??= dispute.id
    await postDispute(tx, row, dispute, 'returned', now, (balances) => [
      ...disputeReturned(ofBlocked)(),
      ...returnedUnannounced(part - ofBlocked)(balances),
    ])
    await updateDispute(tx, {
      ...dispute,
      blocked_amount: dispute.blocked_amount - ofBlocked,
      returned_amount: dispute.returned_amount + part,
      postings: dispute.postings + 1,
    })
  }
  if (rest === 0 && disputeId !== null) return { row, disputeId }
  const unannounced = toRow(row, {
    ...{ source: 'return', acquirer_reference: reference, reason: null, amount: rest, openedAt: at, reported: null },
  })
  await insertDispute(tx, {
    ...unannounced,
    state: 'returned',
    returned_amount: rest,
    finished_at: now,
    postings: 1,
  })
  await postDispute(tx, row, unannounced, 'returned', now, returnedUnannounced(rest))
  const dated = await updateDisputeDate(tx, row, row.infraction_date ?? at)
  return { row: dated, disputeId: disputeId ?? unannounced.id }
}

/**
 * Brings a locked transaction into line with its disputes, returns and refunds: ends disputes that are over, blocks
 * what is disputed and still there, and changes the status. Call it after every change of one of them; it does
 * nothing when everything is in line.
 */
export async function settleDisputes(tx: Tx, row: LockedTransaction, now: Date): Promise<LockedTransaction> {
  const refunds = await listRefunds(tx, row)
  // Only a transaction that was disputed has any.
  const disputes = row.infraction_date === null ? [] : await listDisputesOf(tx, row)
  const over = disputes.find((one) => isUndecided(one) && isOver(one, row, refunds))
  if (over?.state === 'open') return await acceptDispute(tx, row, over, now)
  if (over) return await endDispute(tx, row, over, over.returned_amount > 0 ? 'returned' : 'canceled', now)
  await block(tx, row, { refunds, disputes }, now)
  return await moveToImpliedStatus(tx, row, { refunds, disputes }, now)
}

/** True when all that was disputed was returned, or when it was accepted and nothing is left to return. */
function isOver(dispute: DisputeRow, row: LockedTransaction, refunds: RefundRow[]): boolean {
  if (dispute.returned_amount === dispute.amount) return true
  return dispute.state === 'accepted' && leftOf(row, refunds, 'REFUNDED') === 0
}

async function block(
  tx: Tx,
  row: LockedTransaction,
  { refunds, disputes }: { refunds: RefundRow[]; disputes: DisputeRow[] },
  now: Date,
): Promise<void> {
  let left = leftOf(row, refunds, 'REFUNDED', 'PROCESSING')
  const changes = disputes.filter(isUndecided).map((dispute) => {
    const target = Math.min(dispute.amount - dispute.returned_amount, left)
    left -= target
    return { dispute, more: target - dispute.blocked_amount }
  })
  // Releases come first, because another dispute may need what they free.
  for (const { dispute, more } of changes.toSorted((a, b) => a.more - b.more)) {
    if (more === 0) continue
    if (more < 0) await release(tx, row, dispute, -more, now)
    else await postDispute(tx, row, dispute, 'blocked', now, disputed(more))
    const blocked = { blocked_amount: dispute.blocked_amount + more, postings: dispute.postings + 1 }
    await updateDispute(tx, Object.assign(dispute, blocked))
  }
}

async function release(tx: Tx, row: LockedTransaction, dispute: DisputeRow, amount: number, now: Date): Promise<void> {
  await postDispute(tx, row, dispute, 'released', now, disputeReleased(amount))
}

export function isUndecided({ state }: Pick<DisputeRow, 'state'>): boolean {
  return state === 'open' || state === 'accepted'
}

async function postDispute(
  tx: Tx,
  { acquirer }: LockedTransaction,
  dispute: DisputeRow,
  event: 'blocked' | 'returned' | 'released',
  now: Date,
  transfers: Posting['transfers'],
): Promise<void> {
  await post(tx, {
    merchantId: dispute.merchant_id,
    eventKey: `infraction:${dispute.id}:${event}:${dispute.postings + 1}`,
    recordType: 'infraction',
    recordId: dispute.id,
    acquirer,
    now,
    transfers,
  })
}
