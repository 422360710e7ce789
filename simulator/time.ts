import type { Behaviour } from './faults/traits.ts'
import { toChargeId } from './location.ts'
import type { Network } from './network.ts'
import { notifyOfPayout } from './payouts.ts'
import { notifyOfPix } from './pix.ts'
import { type Moved, moveTime } from './time-store.ts'
import { inTransaction } from './transaction.ts'

export const idsMax = 1_000
/** 90 days: as long as the Pix system lets a payment be returned. */
export const secondsMax = 90 * 86_400

/** Charges by their txid, payouts by their id. */
export type AdvanceInput = { txids: string[]; payoutIds: string[]; seconds: number }

/** How many of each have come due. */
export type DueCounts = Record<keyof Moved, number>

/**
 * Lets time pass only for the named charges and payouts: whatever they wait for happens earlier. The clock itself,
 * which all callers share, does not move. The receiver gets the callbacks of what has happened.
 */
export async function advance(network: Network, { txids, payoutIds, seconds }: AdvanceInput): Promise<DueCounts> {
  const now = network.clock.now()
  const chargeIds = txids.map((txid) => toChargeId(network, txid))
  const moved = await inTransaction(
    network.pool,
    async (client) => await moveTime(client, { chargeIds, payoutIds, seconds, now }),
  )
  for (const { id, behaviours } of moved.payments.filter(isDue))
    network.inBackground(async () => await notifyOfPix(network, id, behaviours as Behaviour[]))
  for (const { id } of moved.returns.filter(isDue)) network.inBackground(async () => await notifyOfPix(network, id))
  for (const { id } of moved.payouts.filter(isDue)) notifyOfPayout(network, { id, settlesAt: now, rejection: null })
  return {
    charges: moved.charges.filter(isDue).length,
    payments: moved.payments.filter(isDue).length,
    returns: moved.returns.filter(isDue).length,
    disputes: moved.disputes.filter(isDue).length,
    payouts: moved.payouts.filter(isDue).length,
  }
}

function isDue(one: { isDue: boolean }): boolean {
  return one.isDue
}
