import { type By, recordAction } from '../audit/record.ts'
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
  deps: { db: Db; clock: Clock; wakeDeliveries: () => void },
  { id, reason, by }: { id: string; reason: string; by: By },
): Promise<WithdrawalRow> {
  const rejected = await deps.db.transaction(async (tx) => {
    const owner = await findOwner(tx, id)
    if (!owner) throw unknownWithdrawal()
    const row = await lockWithdrawal(tx, owner.merchant_id, id)
    assert(row, 'a withdrawal that has an owner exists')
    if (row.status !== 'PENDING') throw notPending(row.status)
    const now = deps.clock.now()
    const about = { merchantId: row.merchant_id, recordId: id, details: { reason } }
    await recordAction(tx, { by, action: 'withdrawal.reject', ...about, now })
    return await changeStatus(tx, row, { to: 'REJECTED', now, checkAt: null, set: { error_message: reason } })
  })
  deps.wakeDeliveries()
  return rejected
}
