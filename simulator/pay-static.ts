import { type Cents, fromReais } from '../src/lib/money.ts'
import type { BrCode } from '../src/pix/brcode.ts'
import type { AccountHolder } from '../src/pix/holder.ts'
import { planPixes } from './faults/plan.ts'
import { drawBehaviours } from './faults/profile.ts'
import { toChargeId } from './location.ts'
import type { Network } from './network.ts'
import type { PayInput } from './pay.ts'
import type { NewPix } from './pix-store.ts'
import { receiverKey } from './receiver-account.ts'

/** What a static code without a txid has in its place. */
const noTxid = '***'

/**
 * Plans the Pix of a static code: it names a key and no charge, and can be paid any number of times. Each Pix belongs
 * to a row of charges that no request finds, because its txid is shorter than a charge's.
 */
export async function planStatic(
  network: Network,
  code: BrCode,
  { input, payer }: { input: PayInput; payer: AccountHolder },
): Promise<NewPix[] | 'not_of_this_network' | 'amount_invalid'> {
  if (code.key?.toLowerCase() !== receiverKey) return 'not_of_this_network'
  const amount: Cents | null = input.amount ?? (code.amount === undefined ? null : parseAmount(code.amount))
  if (amount === null || amount < 1) return 'amount_invalid'
  const now = network.clock.now()
  const txid = code.txid ?? noTxid
  const chargeId = toChargeId(network, txid)
  const { baseUrl } = network
  await network.insertCharge({
    id: chargeId,
    txid,
    amount,
    expiresInSeconds: 1,
    createdAt: now,
    baseUrl,
    details: null,
    removedAt: null,
  })
  const profile = await network.faultProfile.current()
  const behaviours = drawBehaviours(profile, { txid, amount, requested: input.behaviour })
  const planned = planPixes(
    { now, chargeId, profile, defaultPayer: payer },
    { txid, amount, expiresAt: now, isPaid: false },
    { requested: { amount, payer: input.payer ? payer : null }, behaviours },
  )
  return planned.map((pix) => ({ ...pix, isSecond: true, txid: txid === noTxid ? null : pix.txid }))
}

/** Real codes have `10`, `10.5` and `10.50`. */
function parseAmount(text: string): Cents | null {
  const [whole = '', fraction = ''] = text.split('.')
  return fromReais(`${whole}.${fraction.padEnd(2, '0')}`)
}
