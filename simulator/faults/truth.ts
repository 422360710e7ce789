import type { Network } from '../network.ts'
import { listArrived, sumPaidOut } from './truth-store.ts'

/** A payment as it really happened, whatever this PSP reports. */
export type TruePayment = {
  endToEndId: string
  /** The txid of the charge that was paid. */
  paysTxid: string
  /** The txid in the Pix: null if it was dropped. */
  txid: string | null
  /** True if the charge was paid before, and for every payment of a static code. */
  isSecond: boolean
  amount: number
  paidAt: Date
  behaviours: string[]
  /** Cents returned, by anyone. */
  returned: number
}

/**
 * Everything that really happened. Tests compare a gateway's ledger with it. `balance`: that of the account, in cents,
 * before the PSP's fees.
 */
export type Truth = { payments: TruePayment[]; balance: number }

export async function readTruth({ pool, clock }: Network): Promise<Truth> {
  const now = clock.now()
  const payments = (await listArrived(pool, now)).map((row) => ({
    endToEndId: row.end_to_end_id,
    paysTxid: row.charge_txid,
    txid: row.names_charge ? row.charge_txid : null,
    isSecond: row.is_second,
    amount: Number(row.amount),
    paidAt: row.paid_at,
    behaviours: row.behaviours,
    returned: Number(row.returned),
  }))
  const kept = payments.reduce((sum, { amount, returned }) => sum + amount - returned, 0)
  return { payments, balance: kept - (await sumPaidOut(pool, now)) }
}
