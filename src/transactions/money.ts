import type { Tx } from '../db/sql.ts'
import { type Posting, postAll } from '../ledger/post.ts'
import { feeReturnedByOperator, paid, refundReserved, released, sent } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import type { RefundRow, RefundStatus } from './refund/store.ts'
import type { ChangedTransaction } from './store.ts'

/**
 * The money that comes with a change of a transaction's status. Only a payment moves money of the transaction itself;
 * a refund and a dispute have their own records, which move theirs: see {@link postRefund} and dispute/steps.ts.
 *
 * @param wasPaid whether it had been paid before: then PAID means that a refund or a dispute ended
 */
export function moneyOf(row: ChangedTransaction, { wasPaid, now }: { wasPaid: boolean; now: Date }): Posting[] {
  if (wasPaid || row.status !== 'PAID') return []
  const { id, merchant_id: merchantId, acquirer, amount_paid: amount, fee_amount: fee } = row
  assert(amount !== null && fee !== null, 'a PAID transaction has an amount and a fee')
  const about = { eventKey: `transaction:${id}:paid`, recordType: 'transaction', recordId: id } as const
  return [{ merchantId, ...about, acquirer, now, transfers: paid(amount, fee) }]
}

type RefundMoney = Pick<RefundRow, 'id' | 'merchant_id' | 'amount' | 'fee_amount' | 'fee_returned'>

/** Posts the money of a refund's status: reserved, sent, or released. The refund changes in the same commit. */
export async function postRefund(
  tx: Tx,
  refund: RefundMoney,
  { status, acquirer, now }: { status: RefundStatus; acquirer: string; now: Date },
): Promise<void> {
  const { id, merchant_id: merchantId, amount, fee_amount: fee, fee_returned: feeReturned } = refund
  const about = { recordType: 'refund', recordId: id, acquirer, now } as const
  const ofMerchant = (event: string, transfers: Posting['transfers']): Posting => {
    return { ...about, eventKey: `refund:${id}:${event}`, merchantId, transfers }
  }
  switch (status) {
    case 'PROCESSING': {
      // The payment's fee is returned from the merchant's account of fees. If it has too little, because fees were
      // drawn, the operator's own merchant pays the rest, which is known only under the locks.
      let rest = 0
      const reserved = refundReserved(amount, fee, feeReturned, (missing) => {
        rest = missing
      })
      const posting = ofMerchant('reserved', reserved)
      const ofOperator = { ...posting, merchantId: operatorMerchantId, transfers: feeReturnedByOperator(() => rest) }
      return await postAll(tx, feeReturned === 0 ? [posting] : [posting, ofOperator])
    }
    case 'REFUNDED':
      return await postAll(tx, [ofMerchant('sent', sent('refund_sent', amount, fee))])
    case 'FAILED':
      return await postAll(tx, [ofMerchant('released', released('refund_released', amount, fee, feeReturned))])
  }
}
