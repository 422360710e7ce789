import { isOutage } from '../acquirers/registry.ts'
import { nextCheckAt, runDueChecks } from '../jobs/due-checks.ts'
import { assert } from '../lib/assert.ts'
import { payoutsOf, sendLeaseMs, sendOrFindWithdrawal, toPayoutKey } from './send.ts'
import { nextReturnCheckAt, type Recorded, recordOutcome, type SettleWithdrawalDeps } from './settle.ts'
import type { WithdrawalStatus } from './status.ts'
import { claimDueWithdrawals, findWithdrawal, isWithdrawalDue, updateCheckAt, type WithdrawalRow } from './store.ts'

/** Few enough to finish within the lease, eight at a time, when every request takes the default ten seconds. */
const claimedMax = 16
const soonMs = 60_000

const openStatuses = ['PENDING', 'PROCESSING'] as const

/** Whether {@link checkOpenWithdrawals} would find any. */
export async function hasOpenWithdrawals({ db, clock }: Pick<SettleWithdrawalDeps, 'db' | 'clock'>): Promise<boolean> {
  return await isWithdrawalDue(db, openStatuses, clock.now())
}

/** Sends PENDING withdrawals that need no review, and checks the outcome of PROCESSING ones, until none is due. */
export async function checkOpenWithdrawals(deps: SettleWithdrawalDeps, stopping: AbortSignal): Promise<void> {
  await checkDue(deps, openStatuses, stopping, sendOrFindWithdrawal)
}

/**
 * Checks whether receivers have returned the money. A check of its own: these withdrawals are many more, and those with
 * an open outcome must not wait for them.
 */
export async function checkReturnedWithdrawals(deps: SettleWithdrawalDeps, stopping: AbortSignal): Promise<void> {
  await checkDue(deps, ['PROCESSED', 'REFUNDED'], stopping, checkReturned)
}

async function checkDue(
  deps: SettleWithdrawalDeps,
  statuses: readonly WithdrawalStatus[],
  stopping: AbortSignal,
  check: (deps: SettleWithdrawalDeps, row: WithdrawalRow) => Promise<void>,
): Promise<void> {
  await runDueChecks(deps.clock, stopping, {
    claim: async (claim) => await claimDueWithdrawals(deps.db, statuses, claim),
    claimedMax,
    leaseMs: sendLeaseMs,
    check: async (row) => await check(deps, row),
  })
}

async function checkReturned(deps: SettleWithdrawalDeps, row: WithdrawalRow): Promise<void> {
  let nextAt: (sentAt: Date, now: Date) => Date | null = nextReturnCheckAt
  try {
    if ((await findAndRecord(deps, row)) === 'changed') return
  } catch (error) {
    // The regular pause is up to a week: an outage of a minute must not cost as much.
    if (isOutage(error)) nextAt = nextCheckAt
    else deps.log.error({ err: error, withdrawalId: row.id }, 'the check of a withdrawal failed and will be repeated')
  }
  await updateCheckAt(deps.db, row, nextAt(row.processed_date ?? row.created_at, deps.clock.now()))
}

/** missing: the acquirer knows of no payout with our id. */
export type Found = Recorded | 'missing'

/**
 * Handles a callback about a withdrawal. A callback is a hint, never proof, so the acquirer is queried. If the query
 * shows nothing new of a sent withdrawal, the callback may be about a return that is not visible yet: it is checked
 * again soon.
 *
 * @throws {AcquirerUnavailable} when the acquirer cannot be queried
 */
export async function settleWithdrawal(
  deps: SettleWithdrawalDeps,
  { merchantId, id }: { merchantId: string; id: string },
): Promise<Found> {
  const row = await findWithdrawal(deps.db, merchantId, id)
  assert(row, 'a withdrawal to settle exists')
  const found = await findAndRecord(deps, row)
  if (found === 'settled') await updateCheckAt(deps.db, row, new Date(deps.clock.now().getTime() + soonMs))
  return found
}

async function findAndRecord(deps: SettleWithdrawalDeps, row: WithdrawalRow): Promise<Found> {
  const found = await payoutsOf(deps, row).find(toPayoutKey(row))
  return found === null ? 'missing' : await recordOutcome(deps, row, found)
}
