import type { Acquirer, MoneyOut, PayoutFound, PayoutKey, PayoutOrder, Payouts } from '../acquirers/acquirer.ts'
import { isSameRequest, mayBeUnderWay, nextAskedAt } from '../acquirers/repeat.ts'
import type { Tx } from '../db/sql.ts'
import { assertPayoutsAllowed } from '../ledger/brake.ts'
import { assert } from '../lib/assert.ts'
import { AppError } from '../lib/errors.ts'
import { cents } from '../lib/money.ts'
import { toTxid } from '../pix/ids.ts'
import { changeStatus } from './change.ts'
import { postponeCheck, scheduleCheck } from './postpone.ts'
import { book, type SettleWithdrawalDeps } from './settle.ts'
import { insertReference, lockWithdrawal, updateAsked, type WithdrawalRow } from './store.ts'

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
  deps.wakeDeliveries()
  await askToSend(deps, { row, firstAskedAt: null })
}

/** The same once more, for a PROCESSING withdrawal of which the acquirer knows nothing: the first request may be under way there still. */
export async function sendAgain(deps: SettleWithdrawalDeps, row: WithdrawalRow): Promise<void> {
  const now = deps.clock.now()
  const isUnderWay = mayBeUnderWay(row.asked_at ?? row.status_dates.at(-1) ?? null, now)
  const askedAt = nextAskedAt(row.asked_at, now)
  if (!(await updateAsked(deps.db, row, row.asked_at, askedAt))) return await scheduleCheck(deps, row)
  const firstAskedAt = row.status_dates.at(-1) ?? null
  await askToSend(deps, { row: { ...row, asked_at: askedAt }, firstAskedAt }, async (refused, payouts) => {
    if (!isUnderWay) return refused
    await updateAsked(deps.db, row, askedAt, row.asked_at)
    // Only what it says of that very payout is certain.
    return (await payouts.find(toPayoutKey(row))) ?? { outcome: 'processing', endToEndId: null }
  })
}

type Refused = Extract<MoneyOut, { outcome: 'refused' }>

/**
 * Asks the acquirer to send a PROCESSING withdrawal, under our own id. An outcome that is not known is none: it is asked for later.
 *
 * @param weigh what a refusal is worth: that of a first request is certain, unless it was asked to send it again meanwhile
 */
async function askToSend(
  deps: SettleWithdrawalDeps,
  { row, firstAskedAt }: { row: WithdrawalRow; firstAskedAt: Date | null },
  weigh: (refused: Refused, payouts: Payouts) => Promise<PayoutFound> = async (refused) => refused,
): Promise<void> {
  try {
    const { payouts } = payoutsOf(deps, row)
    const prepared = await prepare(deps, row, payouts)
    if (prepared === null) return
    if (prepared.outcome === 'refused') return await bookRefused(deps, row, prepared)
    const { reference } = prepared
    const answer = await payouts.send({ ...toOrder(row), reference, firstAskedAt })
    // Before anything else: it is the only way to ask about this payout again.
    if ('reference' in answer && answer.reference) await keepReference(deps, row, answer.reference)
    const outcome = answer.outcome === 'refused' ? await weigh(answer, payouts) : answer
    const booked = await book(
      deps,
      row,
      outcome,
      (before) => outcome === answer && outcome.outcome === 'refused' && !isSameRequest(before.asked_at, row.asked_at),
    )
    if (booked === 'open') await scheduleCheck(deps, row)
  } catch (error) {
    // Whatever it was: the money may have left.
    await postponeCheck(deps, row, error)
  }
}

/** Has the acquirer name a payout where it does so before money moves, and keeps the name. Null: the withdrawal has moved on. */
async function prepare(
  deps: SettleWithdrawalDeps,
  row: WithdrawalRow,
  payouts: Payouts,
): Promise<{ outcome: 'prepared'; reference: string | null } | Refused | null> {
  if (!payouts.prepare || row.acquirer_reference !== null)
    return { outcome: 'prepared', reference: row.acquirer_reference }
  const prepared = await payouts.prepare(toOrder(row))
  if (prepared.outcome === 'refused') return prepared
  // Another process may have been quicker: then its name is the one.
  const reference = await insertReference(deps.db, row, prepared.reference)
  return reference === null ? null : { outcome: 'prepared', reference }
}

/** Nothing was sent, unless another process has had the payout named meanwhile: then it may be under way. */
async function bookRefused(deps: SettleWithdrawalDeps, row: WithdrawalRow, refused: Refused): Promise<void> {
  await book(deps, row, refused, (before) => before.acquirer_reference !== null)
}

async function keepReference(deps: SettleWithdrawalDeps, row: WithdrawalRow, reference: string): Promise<void> {
  const kept = await insertReference(deps.db, row, reference)
  if (kept !== null && kept !== reference)
    deps.log.error(
      { withdrawalId: row.id, acquirer: row.acquirer },
      'the acquirer has two payouts for one withdrawal: look at both there',
    )
}

function toOrder({ id, amount, pix_key: key, pix_key_type: type }: WithdrawalRow): PayoutOrder {
  return { payoutId: toTxid(id), amount: cents(amount), pixKey: { key, type } }
}

/** By what the acquirer knows it. */
export function toPayoutKey({ id, acquirer_reference: reference }: WithdrawalRow): PayoutKey {
  return { payoutId: toTxid(id), reference }
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
