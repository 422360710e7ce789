import { newEndToEndId } from '../../src/pix/ids.ts'
import { toChargeId } from '../location.ts'
import type { Network } from '../network.ts'
import { findNextTxid } from '../store.ts'

/** The fields of one payment in a callback. */
export type ReportedPix = { endToEndId: string; txid?: string }

const otherReceiverKey = 'c2a6d1a5-0f8e-4d6c-9d1c-5d4b6a3f7e90'

/**
 * Returns false payments, as an attacker who knows the callback address could send them: a payment that does not exist,
 * the real payment with the txid of another charge (if there is one), and a payment to another receiver's key.
 */
export async function forge<Pix extends ReportedPix>(network: Network, pix: Pix): Promise<object[]> {
  const newId = () => newEndToEndId({ ispb: pix.endToEndId.slice(1, 9), at: network.clock.now() })
  const other = pix.txid === undefined ? null : await findNextTxid(network.pool, toChargeId(network, pix.txid))
  return [
    { ...pix, endToEndId: newId() },
    ...(other === null ? [] : [{ ...pix, txid: other }]),
    { ...pix, endToEndId: newId(), ...(other !== null && { txid: other }), chave: otherReceiverKey },
  ]
}
