import { assert } from '../lib/assert.ts'
import { eachAtOnce } from '../lib/at-once.ts'
import { postponeCheck, scheduleCheck } from './postpone.ts'
import { isStopped, payoutsOf, sendAgain, sendLeaseMs, sendWithdrawal, toPayoutKey } from './send.ts'
import { type Booked, book, type SettleWithdrawalDeps } from './settle.ts'
import type { WithdrawalStatus } from './status.ts'
import { claimDueWithdrawals, findWithdrawal, updateCheckAt, type WithdrawalRow } from './store.ts'

/** Few enough to be done with within the lease, eight at a time, when every question of each takes the adapter's ten seconds. */
const claimedMax = 16
const soonMs = 60_000

/** Looks at what waits to be sent although nobody holds it, and at what has an open outcome, until none is due. */
export async function checkOpenWithdrawals(deps: SettleWithdrawalDeps, stopping: AbortSignal): Promise<void> {
  await checkDue(deps, ['PENDING', 'PROCESSING'], stopping)
}

/** Looks whether receivers have sent back what they got. By itself, so that no open outcome waits behind these: they are many more. */
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

/** missing: the acquirer knows of no payout under our id. */
export type Looked = Booked | 'missing'

/**
 * What a callback tells of: a hint and never proof, so the acquirer is asked. Where that shows nothing new of what was sent, the callback
 * may tell of a return that is not shown yet: it is looked at again soon.
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
      // Only if it is PENDING still: money is stopped.
      return await scheduleCheck(deps, row)
    }
    const looked = await settle(deps, row)
    // It never arrived there: our process ended before it asked, or the request was lost.
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
