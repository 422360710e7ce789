import type { Cents } from '../src/lib/money.ts'
import { newReturnId } from '../src/pix/ids.ts'
import { type ControlOutcome, refused } from './control.ts'
import type { Network } from './network.ts'
import { tellOfPayout } from './payouts.ts'
import { findPayout, insertPayoutReturn } from './payouts-store.ts'
import { stateOf } from './settlement.ts'
import { inTransaction } from './transaction.ts'

/** Acts as the receiver of a payout who sends back all or a part of it. The result's id is the return's. */
export async function returnPayout(
  network: Network,
  { payoutId, amount }: { payoutId: string; amount?: Cents },
): Promise<ControlOutcome> {
  const returnedAt = network.clock.now()
  const outcome = await inTransaction(network.pool, async (client): Promise<ControlOutcome> => {
    const payout = await findPayout(client, payoutId, { isLocked: true })
    if (!payout || stateOf(payout, returnedAt) !== 'done') return refused('payout_unknown')
    const left = payout.returns.reduce((rest, one) => rest - one.amount, payout.amount)
    if (left === 0) return refused('nothing_left')
    const returned = amount ?? left
    if (returned < 1 || returned > left) return refused('amount_invalid')
    const returnId = newReturnId({ ispb: payout.receiver.bankAccount.ispb, at: returnedAt })
    await insertPayoutReturn(client, { payoutId, returned: { returnId, amount: returned, returnedAt } })
    return { ok: true, id: returnId }
  })
  if (outcome.ok) tellOfPayout(network, { id: payoutId, settlesAt: returnedAt, rejection: null })
  return outcome
}
