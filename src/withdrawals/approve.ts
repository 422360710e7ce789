import { type By, recordAction } from '../audit/record.ts'
import { listSecretCreators } from '../auth/store.ts'
import type { Db, Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { findObstacle, type Obstacle } from '../proposals/second-person.ts'
import { endReview } from './confirm.ts'
import { notPending, notPendingReview, notPossible, unknownWithdrawal } from './refusals.ts'
import { findOwner, lockWithdrawal, type WithdrawalRow } from './store.ts'

/**
 * The operator approves a withdrawal that is pending review, whatever the reason: it is sent. The approver must be a
 * second person who is independent of the requester: see {@link findObstacle}.
 *
 * @throws {AppError} `not_found`, or `withdrawal_not_possible` when it is not pending review, or when this person
 *   cannot approve it
 */
export async function approveWithdrawal(
  deps: { db: Db; clock: Clock },
  { id, by }: { id: string; by: By },
): Promise<WithdrawalRow> {
  return await deps.db.transaction(async (tx) => {
    const owner = await findOwner(tx, id)
    if (!owner) throw unknownWithdrawal()
    const row = await lockWithdrawal(tx, owner.merchant_id, id)
    assert(row, 'a withdrawal that has an owner exists')
    if (row.status !== 'PENDING') throw notPending(row.status)
    if (row.review_reason === null) throw notPendingReview('is null: this withdrawal is not pending review')
    const now = deps.clock.now()
    const obstacle = await findObstacleOf(tx, row, { by: by.actor, now })
    if (obstacle) throw notPossible({ field: 'approval', ...obstacle })
    await recordAction(tx, { by, action: 'withdrawal.approve', merchantId: row.merchant_id, recordId: id, now })
    return await endReview(tx, row, now)
  })
}

/** Returns why somebody cannot be the second person of a withdrawal, or null when they can. */
export async function findObstacleOf(
  db: Db | Tx,
  row: Pick<WithdrawalRow, 'id' | 'merchant_id' | 'created_at' | 'requested_by'>,
  { by, now }: { by: string; now: Date },
): Promise<Obstacle | null> {
  const { id, requested_by: requestedBy } = row
  const secretCreators = requestedBy === null ? await listSecretCreators(db, row.merchant_id, row.created_at) : []
  return await findObstacle(db, { requestedBy, secretCreators }, { by, now, command: `withdrawal approve ${id}` })
}
