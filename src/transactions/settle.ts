import type { Logger } from 'pino'
import type { Acquirer, Charge, Payment } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Db } from '../db/sql.ts'
import { feeFor } from '../ledger/fees.ts'
import { post } from '../ledger/post.ts'
import { paid } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { AccountHolder } from '../pix/holder.ts'
import { fromTxid, toTxid } from '../pix/ids.ts'
import { changeStatus } from './change.ts'
import { bookReturns } from './returns.ts'
import { findTransaction, lockTransaction } from './store.ts'

export type SettleDeps = { db: Db; clock: Clock; acquirers: Acquirers; log: Logger; nudgeDeliveries: () => void }

/** settled: PAID now; already: booked before; surplus: paid, but by another payment before; unpaid: the acquirer knows of no payment. */
export type Settled = 'settled' | 'already' | 'surplus' | 'unpaid'

/** An error, because somebody has to send that money back. */
export const surplusMessage = 'a transaction was paid a second time, and the second payment is not booked'

/**
 * Asks the acquirer whether a transaction was paid and, if so, makes it PAID: status, history, event and ledger in one commit.
 * However often it is called, one payment is booked once.
 *
 * @param hint an endToEndId that a callback named. Asked for by itself, since some PSPs' charges do not list their payments.
 * @throws {AcquirerUnavailable} when the outcome is not known
 */
export async function settleTransaction(
  deps: SettleDeps,
  { merchantId, id, hint }: { merchantId: string; id: string; hint?: string },
): Promise<Settled> {
  const row = await findTransaction(deps.db, merchantId, id)
  assert(row, 'a transaction to settle exists')
  if (row.end_to_end !== null && (hint === undefined || hint === row.end_to_end)) return 'already'
  const acquirer = deps.acquirers.get(row.acquirer)
  assert(acquirer, 'the acquirer of a transaction is configured')
  const charge = await acquirer.findCharge(toTxid(id))
  const payment = await findConfirmedPayment(acquirer, charge, { id, hint })
  return payment ? await bookPayment(deps, { merchantId, id, payment, charge, receiver: acquirer.receiver }) : 'unpaid'
}

/** A callback is a hint, never proof: only what the acquirer says when it is asked counts, and only under our own txid. */
async function findConfirmedPayment(
  acquirer: Acquirer,
  charge: Charge | null,
  { id, hint }: { id: string; hint: string | undefined },
): Promise<Payment | null> {
  const listed = charge?.payments.find((payment) => hint === undefined || payment.endToEndId === hint)
  if (listed) return listed
  const named = hint === undefined ? null : await acquirer.findPayment(hint)
  // Some PSPs give a txid back in another case.
  return named?.txid && fromTxid(named.txid) === id ? named : null
}

type Confirmed = { merchantId: string; id: string; payment: Payment; charge: Charge | null; receiver: AccountHolder }

async function bookPayment(
  deps: SettleDeps,
  { merchantId, id, payment, charge, receiver }: Confirmed,
): Promise<Settled> {
  const settled = await deps.db.transaction(async (tx): Promise<Settled> => {
    const row = await lockTransaction(tx, merchantId, id)
    assert(row, 'a transaction to settle exists')
    if (row.end_to_end === payment.endToEndId) return 'already'
    if (row.end_to_end !== null) {
      deps.log.error({ transactionId: id, endToEndId: payment.endToEndId }, surplusMessage)
      return 'surplus'
    }
    const now = deps.clock.now()
    const { amount } = payment
    const fee = Math.min(amount, await feeFor(tx, { merchantId, operation: 'transaction', amount, now }))
    const code = charge && row.pix_uri === null ? { pix_uri: charge.uri, pix_expires_at: charge.expiresAt } : {}
    // Paid before the answer to our own request for a code was known.
    const coded =
      row.status === 'PENDING' ? { to: 'PIX_QRCODE_GENERATED' as const, now, checkAt: null, set: code } : null
    const booked = await changeStatus(tx, coded ? await changeStatus(tx, row, coded) : row, {
      to: 'PAID',
      now,
      checkAt: null,
      set: {
        ...code,
        amount_paid: amount,
        payment_date: payment.paidAt,
        end_to_end: payment.endToEndId,
        payer: payment.payer,
        receiver,
        fee_amount: fee,
        error_message: null,
      },
    })
    await post(tx, {
      merchantId,
      eventKey: `transaction:${id}:paid`,
      recordType: 'transaction',
      recordId: id,
      now,
      transfers: paid(amount, fee),
    })
    await bookReturns(tx, booked, payment, now)
    return 'settled'
  })
  if (settled === 'settled') deps.nudgeDeliveries()
  return settled
}
