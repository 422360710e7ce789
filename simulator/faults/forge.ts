import { newEndToEndId } from '../../src/pix/ids.ts'
import { toChargeId } from '../location.ts'
import type { Network } from '../network.ts'
import { findNextTxid } from '../store.ts'

/** The fields of one payment in a callback. */
export type ReportedPix = { endToEndId: string; txid?: string }

const otherReceiverKey = 'c2a6d1a5-0f8e-4d6c-9d1c-5d4b6a3f7e90'

/**
 * Callbacks that an attacker who knows the callback address could forge from a real payment: a payment that does not
 * exist, the same payment for another charge, and a payment of another receiver.
 */
export async function forge<Pix extends ReportedPix>(network: Network, pix: Pix): Promise<object[]> {
  const madeUp = () => newEndToEndId({ ispb: pix.endToEndId.slice(1, 9), at: network.clock.now() })
  const txid = pix.txid ?? null
  const other = txid === null ? null : await findNextTxid(network.pool, toChargeId(network, txid))
  return [
    { ...pix, endToEndId: madeUp() },
    ...(other === null ? [] : [{ ...pix, txid: other }]),
    { ...pix, endToEndId: madeUp(), ...(other !== null && { txid: other }), chave: otherReceiverKey },
  ]
}
