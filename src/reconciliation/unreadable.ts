import type { UnreadableEntry } from '../acquirers/acquirer.ts'
import type { Window } from '../lib/brasilia.ts'
import { refusal } from '../lib/errors.ts'
import { fromTxid } from '../pix/ids.ts'
import { takeOtherCells } from '../suspense/other-cell.ts'
import { mayHaveCharge, type SettleDeps, settleOwned } from '../transactions/settle.ts'
import { suspendUnattributed } from '../transactions/suspend.ts'
import type { Found, Subject } from './classes.ts'
import type { DifferenceRow } from './store.ts'

/**
 * The discrepancy that a run stores for an unreadable entry. A payment with an endToEndId can be queried individually,
 * and is posted once that answer can be read; a person must investigate anything else.
 */
export function toUnreadable(subject: Subject, { reference, at, raw }: UnreadableEntry, window: Window): Found {
  const time = at ?? window.from
  const canBeQueried = subject === 'payment' && !reference.startsWith('sha256:')
  return {
    class: 'unreadable',
    subject,
    reference,
    merchantId: null,
    recordId: null,
    at: time,
    isTiming: false,
    atAcquirer: { amount: 0, at: time.toISOString(), raw },
    inLedger: null,
    proposal: { action: canBeQueried ? 'settle' : 'investigate' },
    alarm: null,
  }
}

/**
 * Queries a payment that could not be read in a list, and posts it or places it in suspense if it can be read now.
 *
 * @throws {AcquirerUnavailable} while it cannot be read
 */
export async function settleUnreadable(
  deps: SettleDeps,
  { acquirer: name, reference: endToEndId }: Pick<DifferenceRow, 'acquirer' | 'reference'>,
): Promise<void> {
  const acquirer = deps.acquirers.named(name)
  const payment = await acquirer.findPayment(endToEndId)
  if (!payment)
    throw refusal(
      'difference_not_possible',
      'not_confirmed',
      `${name} does not have ${endToEndId} when it is queried individually, so nothing was posted. Try again later, or dismiss it with the reason.`,
    )
  const id = payment.txid === null ? null : fromTxid(payment.txid)
  const owner = id === null ? null : await deps.settlement.findOwner(id)
  const isSettled =
    owner && mayHaveCharge(owner, name) && (await settleOwned(deps, owner, { acquirer: name, endToEndId }))
  if (isSettled && isSettled !== 'unpaid') return
  if ((await takeOtherCells(deps, name, [payment])).length === 0) return
  await suspendUnattributed(deps, { acquirer, payment })
}
