import { type Acquirer, AcquirerUnavailable, type Payment } from '../acquirers/acquirer.ts'
import { enqueueJobs } from '../jobs/jobs.ts'
import { fromTxid } from '../pix/ids.ts'
import { takeOtherCells } from '../suspense/other-cell.ts'
import { findSuspenseOf } from '../suspense/store.ts'
import { settleReturns } from './dispute/returns.ts'
import { checkRefundsOf } from './refund/send.ts'
import { mayHaveCharge, type ReportedPayment, type SettleDeps, settleOwned } from './settle.ts'
import { settleStatic } from './settle-static.ts'
import { suspendUnattributed } from './suspend.ts'

/** The job that looks up one payment that is listed and seems to belong to no transaction. */
export const settleUnattributedJob = 'transactions.settle-unattributed'

/**
 * A payment may overtake the commit of its transaction. A payment that names an unknown transaction counts as
 * unattributed only after this time.
 */
const earlyMs = 5 * 60_000

/** One job for each payment, unless one is still in the queue. A payment that is listed again gets another job. */
export async function enqueueUnattributed(
  { db }: Pick<SettleDeps, 'db'>,
  acquirer: string,
  payments: Payment[],
): Promise<void> {
  if (payments.length === 0) return
  await enqueueJobs(
    db,
    payments.map(({ endToEndId }) => ({
      name: settleUnattributedJob,
      payload: { acquirer, endToEndId } satisfies ReportedPayment,
      key: `${settleUnattributedJob} ${acquirer} ${endToEndId}`,
    })),
  )
}

/**
 * The same as {@link settleUnattributed} for a payment that the acquirer lists and should therefore show individually.
 *
 * @throws {AcquirerUnavailable} also while its transaction may still appear, or while the acquirer does not show it
 */
export async function settleListedUnattributed(deps: SettleDeps, payment: ReportedPayment): Promise<void> {
  const found = await settleUnattributed(deps, payment)
  if (found === 'early' || found === 'unconfirmed') throw new AcquirerUnavailable('its owner is not certain yet')
}

/**
 * suspended: it is in suspense. other_cell: it belongs to another cell. settled: it belongs to a transaction after all.
 * early: its transaction may still appear. unconfirmed: the acquirer shows no such payment, or it is the return of a
 * payout.
 */
export type Unattributed = 'suspended' | 'other_cell' | 'settled' | 'early' | 'unconfirmed'

/**
 * Looks up a payment that seems to belong to no transaction: asks the acquirer, and places it in suspense if it was
 * received and belongs to none; one by the static code of a payment link becomes a transaction of its own. Safe to
 * repeat.
 *
 * @throws {AcquirerUnavailable} when the acquirer cannot be asked
 */
export async function settleUnattributed(deps: SettleDeps, reported: ReportedPayment): Promise<Unattributed> {
  // Not a received payment: a returned payout has the id of a return, and its withdrawal handles it.
  if (reported.endToEndId.startsWith('D')) return 'unconfirmed'
  const acquirer = deps.acquirers.named(reported.acquirer)
  const payment = await acquirer.findPayment(reported.endToEndId)
  if (payment?.endToEndId !== reported.endToEndId) return 'unconfirmed'
  const id = payment.txid === null ? null : fromTxid(payment.txid)
  const owner = id === null ? null : await deps.settlement.findOwner(id)
  if (owner && mayHaveCharge(owner, reported.acquirer)) {
    const settled = await settleOwned(deps, owner, reported)
    if (settled === 'unpaid') return 'unconfirmed'
    // A payment may name a transaction and be in suspense, for example after its attribution was reversed.
    const isKnown = settled === 'already' || settled === 'gone'
    return isKnown && (await findSuspenseOf(deps.db, reported)) ? await suspend(deps, acquirer, payment) : 'settled'
  }
  if ((await takeOtherCells(deps, reported.acquirer, [payment])).length === 0) return 'other_cell'
  const isEarly = deps.clock.now().getTime() < payment.paidAt.getTime() + earlyMs
  if (id !== null && !owner && isEarly) return 'early'
  const paid = id === null ? await settleStatic(deps, { acquirer, payment }) : null
  if (paid) return await followPaid(deps, paid, payment)
  return await suspend(deps, acquirer, payment)
}

/** What was returned of a payment that has a transaction. */
async function followPaid(
  deps: SettleDeps,
  { merchantId, id }: { merchantId: string; id: string },
  payment: Payment,
): Promise<Unattributed> {
  await checkRefundsOf(deps, { merchant_id: merchantId, id })
  await settleReturns(deps, { merchantId, id, payment })
  return 'settled'
}

async function suspend(deps: SettleDeps, acquirer: Acquirer, payment: Payment): Promise<Unattributed> {
  const { endToEndId } = payment
  const owner = await suspendUnattributed(deps, { acquirer, payment })
  if (owner) return await followPaid(deps, { merchantId: owner.merchant_id, id: owner.id }, payment)
  deps.log.warn(
    { acquirer: acquirer.name, endToEndId },
    'a payment belongs to no transaction: it is in the suspense account',
  )
  return 'suspended'
}
