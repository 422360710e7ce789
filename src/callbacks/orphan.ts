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

/** A payment may overtake the commit of its transaction: one that names a transaction which is not there counts as nobody's only then. */
const earlyMs = 5 * 60_000

const ToldPayload = Type.Object({ acquirer: Type.String(), endToEndId: Type.String() })

/** What the worker runs for payments that no callback told of and that name no transaction. */
export function orphanJobs(deps: SettleDeps): Record<string, Job> {
  return {
    [orphanJob]: async (payload) => {
      const found = await findOutOfOrphan(deps, Value.Parse(ToldPayload, payload))
      // It is in the acquirer's list: it will be there.
      if (found === 'early' || found === 'unconfirmed') throw new AcquirerUnavailable('its owner is not certain yet')
    },
  }
}

/** held: it is in suspense; settled: a transaction's after all; early: its transaction may come yet; unconfirmed: the acquirer shows none. */
export type Orphan = 'held' | 'settled' | 'early' | 'unconfirmed'

/**
 * Finds out about a payment that seems to be for no transaction: asks the acquirer, and takes it into suspense if it came in and is nobody's.
 * However often it is called.
 *
 * @throws {AcquirerUnavailable} when the acquirer cannot be asked
 */
export async function findOutOfOrphan(deps: SettleDeps, told: Told): Promise<Orphan> {
  // Nothing that came in: what was paid out and sent back has the id of a return, and is its withdrawal's affair.
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
    deps.log.warn({ acquirer: acquirer.name, endToEndId }, 'a payment is for no transaction: it is held in suspense')
  return owner ? 'settled' : 'held'
}
