import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { changeStatus } from './change.ts'
import { notPending, unknownWithdrawal } from './refusals.ts'
import { findOwner, lockWithdrawal, type WithdrawalRow } from './store.ts'

/**
 * The operator rejects a withdrawal that was not sent, pending review or not: amount and fee are returned, and the
 * merchant sees the reason.
 *
 * @throws {AppError} `not_found`, or `withdrawal_not_possible` once it is PROCESSING or settled
 */
export async function rejectWithdrawal(
  deps: { db: Db; clock: Clock },
  { id, reason }: { id: string; reason: string },
): Promise<WithdrawalRow> {
  return await deps.db.transaction(async (tx) => {
    const owner = await findOwner(tx, id)
    if (!owner) throw unknownWithdrawal()
    const row = await lockWithdrawal(tx, owner.merchant_id, id)
    assert(row, 'a withdrawal that has an owner exists')
    if (row.status !== 'PENDING') throw notPending(row.status)
    const set = { error_message: reason }
    return await changeStatus(tx, row, { to: 'REJECTED', now: deps.clock.now(), checkAt: null, set })
  })
}
