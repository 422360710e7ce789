import { type By, recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { changeStatus } from './change.ts'
import { maybeSent, notPending, unknownWithdrawal } from './refusals.ts'
import { lockWithdrawal, type WithdrawalRow } from './store.ts'

/**
 * Cancels a withdrawal that was not sent, and releases the reserved amount and fee to the merchant's available balance.
 * A repeated request, for example after a lost response, gets the same response.
 *
 * @throws {AppError} `not_found`, or `withdrawal_not_possible` if its status is neither PENDING nor CANCELED, or if it
 *   may have been sent before the database lost commits
 */
export async function cancelWithdrawal(
  deps: { db: Db; clock: Clock; wakeDeliveries: () => void },
  { merchantId, id, by }: { merchantId: string; id: string; by: By | null },
): Promise<WithdrawalRow> {
  const canceled = await deps.db.transaction(async (tx) => {
    const row = await lockWithdrawal(tx, merchantId, id)
    if (!row) throw unknownWithdrawal()
    if (row.status === 'CANCELED') return row
    if (row.status !== 'PENDING') throw notPending(row.status)
    if (row.commits_lost_at !== null) throw maybeSent()
    const now = deps.clock.now()
    await recordAction(tx, { by, action: 'withdrawal.cancel', merchantId, recordId: id, now })
    return await changeStatus(tx, row, { to: 'CANCELED', now, checkAt: null, set: {} })
  })
  deps.wakeDeliveries()
  return canceled
}
