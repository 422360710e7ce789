import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { type Acquirer, AcquirerUnavailable, type Payment } from '../acquirers/acquirer.ts'
import type { Job } from '../jobs/jobs.ts'
import { fromTxid } from '../pix/ids.ts'
import { orphanJob } from '../transactions/poll.ts'
import { checkRefundsOf } from '../transactions/refund-send.ts'
import { settleReturns } from '../transactions/returns.ts'
import { type SettleDeps, settleOwned, type Told, wasAsked } from '../transactions/settle.ts'
import { holdOrphan } from '../transactions/suspend.ts'

/**
 * A payment may overtake the commit of its transaction. A payment that names an unknown transaction counts as
 * unattributed only after this time.
 */
const earlyMs = 5 * 60_000

const ToldPayload = Type.Object({ acquirer: Type.String(), endToEndId: Type.String() })

/** The worker's jobs for payments that no callback announced and that name no transaction. */
export function orphanJobs(deps: SettleDeps): Record<string, Job> {
  return {
    [orphanJob]: async (payload) => {
      const found = await findOutOfOrphan(deps, Value.Parse(ToldPayload, payload))
      // The acquirer lists it, so it will show it.
      if (found === 'early' || found === 'unconfirmed') throw new AcquirerUnavailable('its owner is not certain yet')
    },
  }
}

/**
 * held: it is in suspense. settled: it belongs to a transaction after all. early: its transaction may still appear.
 * unconfirmed: the acquirer shows no such payment.
 */
export type Orphan = 'held' | 'settled' | 'early' | 'unconfirmed'

/**
 * Looks up a payment that seems to belong to no transaction: asks the acquirer, and places it in suspense if it was
 * received and belongs to none. Safe to repeat.
 *
 * @throws {AcquirerUnavailable} when the acquirer cannot be asked
 */
export async function findOutOfOrphan(deps: SettleDeps, told: Told): Promise<Orphan> {
  // Not a received payment: a returned payout has the id of a return, and its withdrawal handles it.
  if (told.endToEndId.startsWith('D')) return 'unconfirmed'
  const acquirer = deps.acquirers.named(told.acquirer)
  const payment = await acquirer.findPayment(told.endToEndId)
  if (payment?.endToEndId !== told.endToEndId) return 'unconfirmed'
  const id = payment.txid === null ? null : fromTxid(payment.txid)
  const owner = id === null ? null : await deps.settlement.findOwner(id)
  if (owner && wasAsked(owner, told.acquirer))
    return (await settleOwned(deps, owner, told)) === 'unpaid' ? 'unconfirmed' : 'settled'
  const isEarly = deps.clock.now().getTime() < payment.paidAt.getTime() + earlyMs
  if (id !== null && !owner && isEarly) return 'early'
  return await hold(deps, acquirer, payment)
}

async function hold(deps: SettleDeps, acquirer: Acquirer, payment: Payment): Promise<Orphan> {
  const { endToEndId } = payment
  const owner = await holdOrphan(deps, { acquirer, payment })
  if (owner) {
    await checkRefundsOf(deps, owner)
    await settleReturns(deps, { merchantId: owner.merchant_id, id: owner.id, payment })
  } else
    deps.log.warn(
      { acquirer: acquirer.name, endToEndId },
      'a payment belongs to no transaction: it is in the suspense account',
    )
  return owner ? 'settled' : 'held'
}
