import { insertOwnReturn, openDispute } from '../disputes.ts'
import type { Network } from '../network.ts'
import type { NewPix } from '../pix-store.ts'
import { notifyOfReturn } from '../returns.ts'
import { slowMs } from '../settlement.ts'
import { inTransaction } from '../transaction.ts'
import type { Behaviour } from './traits.ts'

/** How long after the payment its payer disputes it. */
export const disputedAfterMs = 2 * 86_400_000

/**
 * Stores what follows a payment automatically: a return, a dispute. Each is stored immediately, and shown only from its
 * own time on, also after a restart. The callback about a return is sent only if this process still runs then. From the
 * beginning, the return reduces what can be returned, and the dispute prevents a second one.
 */
export async function scheduleFollowUps(network: Network, pix: NewPix, behaviours: Behaviour[]): Promise<void> {
  const { endToEndId, paidAt } = pix
  if (behaviours.includes('returned')) {
    const at = new Date(paidAt.getTime() + slowMs)
    const input = { endToEndId, amount: pix.amount, nature: 'ORIGINAL', at, settlesAt: at } as const
    const row = await inTransaction(network.pool, async (client) => await insertOwnReturn(client, input))
    notifyOfReturn(network, row)
  }
  if (behaviours.includes('contested')) {
    await openDispute(network, { endToEndId }, new Date(paidAt.getTime() + disputedAfterMs))
  }
}
