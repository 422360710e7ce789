import { newEndToEndId } from '../../src/pix/ids.ts'
import { toChargeId } from '../location.ts'
import type { Network } from '../network.ts'
import { findNextTxid } from '../store.ts'

/** What a callback tells of one payment. */
type Told = { endToEndId: string; txid?: string }

/** A key that is not this PSP's client's. */
const foreignKey = 'c2a6d1a5-0f8e-4d6c-9d1c-5d4b6a3f7e90'

/**
 * What somebody who has learnt where callbacks are posted makes of a payment: one that never was; the same one for another charge; one
 * that another receiver got.
 */
export async function forge<Pix extends Told>(network: Network, pix: Pix): Promise<object[]> {
  const madeUp = () => newEndToEndId({ ispb: pix.endToEndId.slice(1, 9), at: network.clock.now() })
  const txid = pix.txid ?? null
  const other = txid === null ? null : await findNextTxid(network.pool, toChargeId(network, txid))
  return [
    { ...pix, endToEndId: madeUp() },
    ...(other === null ? [] : [{ ...pix, txid: other }]),
    { ...pix, endToEndId: madeUp(), ...(other !== null && { txid: other }), chave: foreignKey },
  ]
}
