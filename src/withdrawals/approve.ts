import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { letGo } from './confirm.ts'
import { notHeld, notPending, unknownWithdrawal } from './refusals.ts'
import { findOwner, lockWithdrawal, type WithdrawalRow } from './store.ts'

/**
 * The operator's yes to a withdrawal that is held, for whatever reason: it is sent.
 *
 * @throws {AppError} `not_found`, or `withdrawal_not_possible` when it is not held
 */
export async function approveWithdrawal(
  deps: { db: Db; clock: Clock },
  { id }: { id: string },
): Promise<WithdrawalRow> {
  return await deps.db.transaction(async (tx) => {
    const owner = await findOwner(tx, id)
    if (!owner) throw unknownWithdrawal()
    const row = await lockWithdrawal(tx, owner.merchant_id, id)
    assert(row, 'a withdrawal that has an owner is there')
    if (row.status !== 'PENDING') throw notPending(row.status)
    if (row.hold === null) throw notHeld('is not there: this withdrawal waits for nobody')
    return await letGo(tx, row, deps.clock.now())
  })
}
