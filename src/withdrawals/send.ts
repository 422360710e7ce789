import type { Acquirer, MoneyOut, PayoutFound, PayoutKey, PayoutOrder, Payouts } from '../acquirers/acquirer.ts'
import { isSameRequest, mayBeUnderWay, nextAskedAt } from '../acquirers/repeat.ts'
import type { Tx } from '../db/sql.ts'
import { assertPayoutsAllowed } from '../ledger/payout-freeze.ts'
import { assert } from '../lib/assert.ts'
import { AppError } from '../lib/errors.ts'
import { cents } from '../lib/money.ts'
import { toTxid } from '../pix/ids.ts'
import { changeStatus } from './change.ts'
import { postponeCheck, scheduleCheck } from './postpone.ts'
import { book, type SettleWithdrawalDeps } from './settle.ts'
import { insertReference, lockWithdrawal, updateAsked, type WithdrawalRow } from './store.ts'

/**
 * While a response may still arrive no other process checks: longer than all of the adapter's requests for one
 * payout, ten seconds each at most.
 */
export const sendLeaseMs = 120_000

/**
 * Sends a PENDING withdrawal that needs no review: PROCESSING in one commit, then the request to the acquirer outside
 * of any, then its result in another. It is sent here at most once: a process that finds it PROCESSING first looks
 * the payout up. While payouts are frozen it stays as it is, and the sweep tries again.
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

/** Sends a PROCESSING withdrawal again that the acquirer does not know: the first request may still be on its way. */
export async function sendAgain(deps: SettleWithdrawalDeps, row: WithdrawalRow): Promise<void> {
  const now = deps.clock.now()
  const isUnderWay = mayBeUnderWay(row.asked_at ?? row.status_dates.at(-1) ?? null, now)
  const askedAt = nextAskedAt(row.asked_at, now)
  if (!(await updateAsked(deps.db, row, row.asked_at, askedAt))) return await scheduleCheck(deps, row)
  const firstAskedAt = row.status_dates.at(-1) ?? null
  await askToSend(deps, { row: { ...row, asked_at: askedAt }, firstAskedAt }, async (refused, payouts) => {
    if (!isUnderWay) return refused
    await updateAsked(deps.db, row, askedAt, row.asked_at)
    // Only what the acquirer says about that very payout is certain.
    return (await payouts.find(toPayoutKey(row))) ?? { outcome: 'processing', endToEndId: null }
  })
}

type Refused = Extract<MoneyOut, { outcome: 'refused' }>

/**
 * Asks the acquirer to send a PROCESSING withdrawal, under our own id. An unknown outcome is not recorded: it is
 * looked up later.
 *
 * @param weigh decides whether a refusal is certain: that of a first request is, unless the request was repeated
 *   meanwhile
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
    // First of all: the reference is the only way to look this payout up again.
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
    // Whatever the error was: the money may have been sent.
    await postponeCheck(deps, row, error)
  }
}

/**
 * For acquirers that assign a reference before money moves: requests it and stores it. Null: the status has changed
 * meanwhile.
 */
async function prepare(
  deps: SettleWithdrawalDeps,
  row: WithdrawalRow,
  payouts: Payouts,
): Promise<{ outcome: 'prepared'; reference: string | null } | Refused | null> {
  if (!payouts.prepare || row.acquirer_reference !== null)
    return { outcome: 'prepared', reference: row.acquirer_reference }
  const prepared = await payouts.prepare(toOrder(row))
  if (prepared.outcome === 'refused') return prepared
  // Another process may have been faster: its reference counts.
  const reference = await insertReference(deps.db, row, prepared.reference)
  return reference === null ? null : { outcome: 'prepared', reference }
}

/**
 * Records a refusal: nothing was sent, unless another process has received a reference meanwhile; then the payout may
 * be in progress.
 */
async function bookRefused(deps: SettleWithdrawalDeps, row: WithdrawalRow, refused: Refused): Promise<void> {
  await book(deps, row, refused, (before) => before.acquirer_reference !== null)
}

async function keepReference(deps: SettleWithdrawalDeps, row: WithdrawalRow, reference: string): Promise<void> {
  const kept = await insertReference(deps.db, row, reference)
  if (kept !== null && kept !== reference)
    deps.log.error(
      { withdrawalId: row.id, acquirer: row.acquirer },
      'the acquirer has two payouts for one withdrawal: check both at the acquirer',
    )
}

function toOrder({ id, amount, pix_key: key, pix_key_type: type }: WithdrawalRow): PayoutOrder {
  return { payoutId: toTxid(id), amount: cents(amount), pixKey: { key, type } }
}

/** The ids by which the acquirer knows the payout. */
export function toPayoutKey({ id, acquirer_reference: reference }: WithdrawalRow): PayoutKey {
  return { payoutId: toTxid(id), reference }
}

/**
 * The acquirer that a withdrawal was created for. Throws {@link AcquirerUnavailable} when it can no longer be asked.
 */
export function payoutsOf(deps: SettleWithdrawalDeps, row: WithdrawalRow): { acquirer: Acquirer; payouts: Payouts } {
  const acquirer = deps.acquirers.named(row.acquirer)
  assert(acquirer.payouts, 'the acquirer of a withdrawal sends money out')
  return { acquirer, payouts: acquirer.payouts }
}

/** Whether payouts are frozen. */
export async function isStopped(db: Parameters<typeof assertPayoutsAllowed>[0]): Promise<boolean> {
  try {
    await assertPayoutsAllowed(db)
    return false
  } catch (error) {
    if (error instanceof AppError && error.code === 'payouts_stopped') return true
    throw error
  }
}

/**
 * PENDING to PROCESSING; null when there is nothing to send: it was canceled, is pending review or in progress, or
 * payouts are frozen.
 */
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
