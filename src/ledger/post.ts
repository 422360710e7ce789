import type { Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { AppError } from '../lib/errors.ts'
import type { Account, Balances, RecordType, TransferKind } from './accounts.ts'
import { insertTransfers, lockBalances, updateBalances } from './store.ts'

export type Transfer = { kind: TransferKind; debit: Account; credit: Account; amount: number }

export type Posting = {
  merchantId: string
  /** The business event that is posted, such as `transaction:<id>:paid`. A second posting of the same event is refused by the database. */
  eventKey: string
  recordType: RecordType
  recordId: string
  now: Date
  /** Given the balances as they are under the lock, the transfers to make. Those of zero are left out. */
  transfers: (balances: Balances) => Transfer[]
}

/**
 * Posts one business event: locks the merchant's accounts, then writes the transfers and the balances, in the caller's commit.
 * Call it last in a transaction, after the locks on records: everyone locks in that order.
 *
 * @throws {AppError} `insufficient_balance` when an account that may not would go below zero
 */
export async function post(tx: Tx, posting: Posting): Promise<Transfer[]> {
  const balances = await lockBalances(tx, posting.merchantId)
  const transfers = posting.transfers(balances).filter(({ amount }) => amount !== 0)
  const rows = transfers.map((transfer, position) => {
    assert(Number.isSafeInteger(transfer.amount) && transfer.amount > 0, 'a transfer is of a positive amount')
    balances[transfer.debit] -= transfer.amount
    balances[transfer.credit] += transfer.amount
    return { ...transfer, position, debitBalance: balances[transfer.debit], creditBalance: balances[transfer.credit] }
  })
  // The database refuses an overdraft as well (ledger_no_overdraft); here it has a sentence for the caller.
  if (balances.available < 0) throw insufficientBalance()
  if (rows.length === 0) return []
  await insertTransfers(tx, posting, rows)
  await updateBalances(tx, posting.merchantId, balances)
  return transfers
}

export function insufficientBalance(): AppError {
  return new AppError('insufficient_balance', {
    detail: 'The available balance does not cover the amount and its fee. GET /balance shows what there is.',
  })
}

/** What of `amount` an account can give: all of it, or as much as is there. */
export function upTo(balance: number, amount: number): number {
  return Math.max(0, Math.min(balance, amount))
}
