import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { firstCheckMs } from './create.ts'
import { judgeConfirmed } from './limits.ts'
import { notPending, notPendingReview, unknownWithdrawal } from './refusals.ts'
import { enqueueSend } from './send.ts'
import { lockWithdrawal, updateReview, type WithdrawalRow } from './store.ts'

/**
 * The merchant confirms a withdrawal that looked like a duplicate: it is sent, or now waits for the operator if its
 * amount needs approval. A repeated request, for example after a lost response, returns the current state.
 *
 * @throws {AppError} `not_found`, or `withdrawal_not_possible` when it was never pending review as a duplicate, or was
 *   canceled or rejected
 */
export async function confirmWithdrawal(
  deps: { db: Db; clock: Clock },
  { merchantId, id, by }: { merchantId: string; id: string; by: By | null },
): Promise<WithdrawalRow> {
  return await deps.db.transaction(async (tx) => {
    const row = await lockWithdrawal(tx, merchantId, id)
    if (!row) throw unknownWithdrawal()
    if (row.review_reason === 'duplicate') {
      const now = deps.clock.now()
      await recordAction(tx, { by, action: 'withdrawal.confirm', merchantId, recordId: id, now })
      return await confirm(tx, row, now)
    }
    if (row.status === 'CANCELED' || row.status === 'REJECTED') throw notPending(row.status)
    if (row.initial_review_reason === 'duplicate') return row
    throw notPendingReview(
      row.review_reason === 'approval'
        ? 'is approval: only the operator can approve this withdrawal'
        : 'is null: this withdrawal is not pending review',
    )
  })
}

async function confirm(tx: Tx, row: WithdrawalRow, now: Date): Promise<WithdrawalRow> {
  const reviewReason = await judgeConfirmed(tx, {
    merchantId: row.merchant_id,
    amount: row.amount,
    requestedBy: row.requested_by,
    at: row.created_at,
  })
  if (reviewReason === null) return await endReview(tx, row, now)
  const pending = await updateReview(tx, row, { reviewReason, checkAt: null })
  assert(pending, 'a locked withdrawal is unchanged since it was read')
  return pending
}

/** Ends the review of a locked withdrawal: a job of the same commit sends it. */
export async function endReview(tx: Tx, row: WithdrawalRow, now: Date): Promise<WithdrawalRow> {
  const released = await updateReview(tx, row, { reviewReason: null, checkAt: new Date(now.getTime() + firstCheckMs) })
  assert(released, 'a locked withdrawal is unchanged since it was read')
  await enqueueSend(tx, released)
  return released
}
