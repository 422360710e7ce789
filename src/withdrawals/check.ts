import { assert } from '../lib/assert.ts'
import { eachAtOnce } from '../lib/at-once.ts'
import { postponeCheck, scheduleCheck } from './postpone.ts'
import { isStopped, payoutsOf, sendAgain, sendLeaseMs, sendWithdrawal, toPayoutKey } from './send.ts'
import { type Booked, book, type SettleWithdrawalDeps } from './settle.ts'
import type { WithdrawalStatus } from './status.ts'
import { claimDueWithdrawals, findWithdrawal, updateCheckAt, type WithdrawalRow } from './store.ts'

/**
 * Few enough to finish within the lease, eight at a time, when every request takes the adapter's limit of ten
 * seconds.
 */
const claimedMax = 16
const soonMs = 60_000

/** Checks withdrawals that wait to be sent without a review, and those with an open outcome, until none is due. */
export async function checkOpenWithdrawals(deps: SettleWithdrawalDeps, stopping: AbortSignal): Promise<void> {
  await checkDue(deps, ['PENDING', 'PROCESSING'], stopping)
}

/**
 * Checks whether receivers have returned the money. This is separate because these are many more, and no open outcome
 * may wait behind them.
 */
export async function checkReturnedWithdrawals(deps: SettleWithdrawalDeps, stopping: AbortSignal): Promise<void> {
  await checkDue(deps, ['PROCESSED', 'REFUNDED'], stopping)
}

async function checkDue(
  deps: SettleWithdrawalDeps,
  statuses: readonly WithdrawalStatus[],
  stopping: AbortSignal,
): Promise<void> {
  while (!stopping.aborted) {
    const now = deps.clock.now()
    const leaseUntil = new Date(now.getTime() + sendLeaseMs)
    const rows = await claimDueWithdrawals(deps.db, statuses, { now, leaseUntil, limit: claimedMax })
    await eachAtOnce(rows, stopping, async (row) => await check(deps, row))
    if (rows.length < claimedMax) return
  }
}

/** missing: the acquirer knows of no payout with our id. */
export type Looked = Booked | 'missing'

/**
 * Handles a callback about a withdrawal. A callback is a hint, never proof, so the acquirer is queried. If the query
 * shows nothing new of a sent withdrawal, the callback may be about a return that is not visible yet: it is checked
 * again soon.
 *
 * @throws {AcquirerUnavailable} when it cannot be asked
 */
export async function settleToldWithdrawal(
  deps: SettleWithdrawalDeps,
  { merchantId, id }: { merchantId: string; id: string },
): Promise<Looked> {
  const row = await findWithdrawal(deps.db, merchantId, id)
  assert(row, 'a withdrawal to settle exists')
  const looked = await settle(deps, row)
  if (looked === 'settled') await updateCheckAt(deps.db, row, new Date(deps.clock.now().getTime() + soonMs))
  return looked
}

async function check(deps: SettleWithdrawalDeps, row: WithdrawalRow): Promise<void> {
  try {
    if (row.status === 'PENDING') {
      await sendWithdrawal(deps, { merchantId: row.merchant_id, id: row.id })
      // Schedules only if it is still PENDING: payouts are frozen.
      return await scheduleCheck(deps, row)
    }
    const looked = await settle(deps, row)
    // The request never reached the acquirer: our process ended before it sent it, or it was lost.
    if (looked === 'missing' && row.status === 'PROCESSING' && !(await isStopped(deps.db)))
      return await sendAgain(deps, row)
    if (looked !== 'changed') await scheduleCheck(deps, row)
  } catch (error) {
    await postponeCheck(deps, row, error)
  }
}

async function settle(deps: SettleWithdrawalDeps, row: WithdrawalRow): Promise<Looked> {
  const found = await payoutsOf(deps, row).payouts.find(toPayoutKey(row))
  return found === null ? 'missing' : await book(deps, row, found)
}
