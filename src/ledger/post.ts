import type { Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { AppError } from '../lib/errors.ts'
import type { Account, Balances, RecordType, TransferKind } from './accounts.ts'
import { insertTransfers, lockBalances, type TransferToInsert } from './store.ts'

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
export async function post(tx: Tx, posting: Posting): Promise<void> {
  await postAll(tx, [posting])
}

/**
 * Posts any number of events in their order, of many merchants at once: the accounts of all are locked in one order, and the transfers of a
 * merchant follow from one another in memory. A merchant with many payments is locked once for all of them.
 *
 * @throws {AppError} `insufficient_balance` when an account that may not would go below zero; nothing is posted then
 */
export async function postAll(tx: Tx, postings: Posting[]): Promise<void> {
  if (postings.length === 0) return
  const balancesOf = await lockBalances(tx, [...new Set(postings.map(({ merchantId }) => merchantId))])
  const rows = postings.flatMap((posting) => {
    const balances = balancesOf.get(posting.merchantId)
    assert(balances, 'a merchant has accounts')
    return applyPosting(posting, balances)
  })
  if (rows.length > 0) await insertTransfers(tx, rows)
}

/** Changes the balances, and gives the transfers with what each left. */
function applyPosting(posting: Posting, balances: Balances): TransferToInsert[] {
  const { merchantId, eventKey, recordType, recordId, now } = posting
  const transfers = posting.transfers(balances).filter(({ amount }) => amount !== 0)
  const rows = transfers.map((transfer, position) => {
    assert(Number.isSafeInteger(transfer.amount) && transfer.amount > 0, 'a transfer is of a positive amount')
    balances[transfer.debit] -= transfer.amount
    balances[transfer.credit] += transfer.amount
    const left = { debitBalance: balances[transfer.debit], creditBalance: balances[transfer.credit] }
    return { ...transfer, ...left, merchantId, eventKey, recordType, recordId, now, position }
  })
  // The database refuses an overdraft as well (ledger_no_overdraft); here it has a sentence for the caller.
  if (balances.available < 0) throw insufficientBalance()
  return rows
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
