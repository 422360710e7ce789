import type { Acquirer, MoneyOut, PayoutFound, Payouts } from '../acquirers/acquirer.ts'
import { mayBeUnderWay } from '../acquirers/repeat.ts'
import type { Tx } from '../db/sql.ts'
import { assertPayoutsAllowed } from '../ledger/brake.ts'
import { assert } from '../lib/assert.ts'
import { AppError } from '../lib/errors.ts'
import { cents } from '../lib/money.ts'
import { toTxid } from '../pix/ids.ts'
import { changeStatus } from './change.ts'
import { postponeCheck, scheduleCheck } from './postpone.ts'
import { book, type SettleWithdrawalDeps } from './settle.ts'
import { lockWithdrawal, updateAsked, type WithdrawalRow } from './store.ts'

/** While an answer may still come nobody else looks: longer than all that the adapter asks for one, ten seconds each at most. */
export const sendLeaseMs = 120_000

/**
 * Sends a PENDING withdrawal that nothing holds: PROCESSING in one commit, then the acquirer is asked outside of any, then what it said is
 * booked in another. It is sent here at most once: whoever finds it PROCESSING reads back before anything else. While money is stopped it
 * stays as it is, and the sweep tries again.
 */
export async function sendWithdrawal(
  deps: SettleWithdrawalDeps,
  { merchantId, id }: { merchantId: string; id: string },
): Promise<void> {
  const row = await deps.db.transaction(async (tx) => await begin(deps, tx, { merchantId, id }))
  if (row === null) return
  deps.nudgeDeliveries()
  await askToSend(deps, row)
}

/** The same once more, for a PROCESSING withdrawal of which the acquirer knows nothing: the first request may be under way there still. */
export async function sendAgain(deps: SettleWithdrawalDeps, row: WithdrawalRow): Promise<void> {
  const now = deps.clock.now()
  const isUnderWay = mayBeUnderWay(row.asked_at ?? row.status_dates.at(-1) ?? null, now)
  if (!(await updateAsked(deps.db, row, row.asked_at, now))) return await scheduleCheck(deps, row)
  await askToSend(deps, row, async (refused, payouts) => {
    if (!isUnderWay) return refused
    await updateAsked(deps.db, row, now, row.asked_at)
    // Only what it says of that very payout is certain.
    return (await payouts.find(toTxid(row.id))) ?? { outcome: 'processing', endToEndId: null }
  })
}

type Refused = Extract<MoneyOut, { outcome: 'refused' }>

/**
 * Asks the acquirer to send a PROCESSING withdrawal, under our own id. An outcome that is not known is none: it is asked for later.
 *
 * @param weigh what a refusal is worth: that of a first request is certain
 */
async function askToSend(
  deps: SettleWithdrawalDeps,
  row: WithdrawalRow,
  weigh: (refused: Refused, payouts: Payouts) => Promise<PayoutFound> = async (refused) => refused,
): Promise<void> {
  const { id, amount, pix_key: key, pix_key_type: type } = row
  try {
    const { payouts } = payoutsOf(deps, row)
    const answer = await payouts.send({ payoutId: toTxid(id), amount: cents(amount), pixKey: { key, type } })
    const outcome = answer.outcome === 'refused' ? await weigh(answer, payouts) : answer
    const booked = await book(deps, row, outcome)
    if (booked === 'open') await scheduleCheck(deps, row)
  } catch (error) {
    // Whatever it was: the money may have left.
    await postponeCheck(deps, row, error)
  }
}

/** The acquirer that a withdrawal was made for. Throws {@link AcquirerUnavailable} where it can no longer be asked. */
export function payoutsOf(deps: SettleWithdrawalDeps, row: WithdrawalRow): { acquirer: Acquirer; payouts: Payouts } {
  const acquirer = deps.acquirers.named(row.acquirer)
  assert(acquirer.payouts, 'the acquirer of a withdrawal sends money out')
  return { acquirer, payouts: acquirer.payouts }
}

/** Whether money may leave now. */
export async function isStopped(db: Parameters<typeof assertPayoutsAllowed>[0]): Promise<boolean> {
  try {
    await assertPayoutsAllowed(db)
    return false
  } catch (error) {
    if (error instanceof AppError && error.code === 'payouts_stopped') return true
    throw error
  }
}

/** PENDING to PROCESSING; null when there is nothing to send: it was canceled, is held or under way, or money is stopped. */
async function begin(
  deps: SettleWithdrawalDeps,
  tx: Tx,
  { merchantId, id }: { merchantId: string; id: string },
): Promise<WithdrawalRow | null> {
  const row = await lockWithdrawal(tx, merchantId, id)
  assert(row, 'a withdrawal to send exists')
  if (row.status !== 'PENDING' || row.hold !== null || (await isStopped(tx))) return null
  const now = deps.clock.now()
  const checkAt = new Date(now.getTime() + sendLeaseMs)
  return await changeStatus(tx, row, { to: 'PROCESSING', now, checkAt, set: {} })
}
