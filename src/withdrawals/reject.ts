import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { changeStatus } from './change.ts'
import { notPending, unknownWithdrawal } from './refusals.ts'
import { findOwner, lockWithdrawal, type WithdrawalRow } from './store.ts'

/**
 * The operator's no to a withdrawal of which nothing was sent, held or not: amount and fee are given back, and the merchant reads the reason.
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
    assert(row, 'a withdrawal that has an owner is there')
    if (row.status !== 'PENDING') throw notPending(row.status)
    const set = { error_message: reason }
    return await changeStatus(tx, row, { to: 'REJECTED', now: deps.clock.now(), checkAt: null, set })
  })
}
