import type { Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { AppError } from '../lib/errors.ts'
import { type Account, type Balances, clearingAccount, type RecordType, type TransferKind } from './accounts.ts'
import { insertTransfers, type LockedAccounts, lockBalances, type TransferToInsert } from './store.ts'

export type Transfer = { kind: TransferKind; debit: Account; credit: Account; amount: number }

export type Posting = {
  merchantId: string
  /**
   * The business event to post, such as `transaction:<id>:paid`. The database rejects a second posting of the same
   * event.
   */
  eventKey: string
  recordType: RecordType
  recordId: string
  /** The acquirer that holds or held the money: the record's acquirer. Null when no transfer involves an acquirer. */
  acquirer: string | null
  now: Date
  /** Returns the transfers to make, given the balances under the lock. Transfers of zero are left out. */
  transfers: (balances: Balances) => Transfer[]
}

/**
 * Posts one business event: locks the merchant's accounts and computes the transfers. The transfers and the new
 * balances are written at the end of the caller's transaction, together with its COMMIT. Call it last in a
 * transaction, after the locks on records: all code locks records before accounts.
 *
 * @throws {AppError} `insufficient_balance` when the available balance would be negative
 */
export async function post(tx: Tx, posting: Posting): Promise<void> {
  await postAll(tx, [posting])
}

/**
 * Posts any number of events in their order, for many merchants: the accounts of all are locked in one order, and the
 * running balances of each merchant are computed in memory. A merchant with many payments is locked once for all of
 * them.
 *
 * @throws {AppError} `insufficient_balance` when the available balance of a merchant would be negative; nothing is
 *   posted then
 */
export async function postAll(tx: Tx, postings: Posting[]): Promise<void> {
  if (postings.length === 0) return
  const lockedOf = await lockBalances(tx, [...new Set(postings.map(({ merchantId }) => merchantId))], postings)
  const rows = postings.flatMap((posting) => {
    const locked = lockedOf.get(posting.merchantId)
    assert(locked, 'a merchant has accounts')
    return applyPosting(posting, locked)
  })
  if (rows.length > 0) tx.sendLast(async () => await insertTransfers(tx, rows))
}

/** Applies a posting to the balances, and returns its transfers with the balances that each left. */
function applyPosting(posting: Posting, { balances, clearing }: LockedAccounts): TransferToInsert[] {
  const { merchantId, eventKey, recordType, recordId, acquirer, now } = posting
  const move = (account: Account, change: number): { account: string; balance: number } => {
    balances[account] += change
    if (account !== 'acquirer') return { account, balance: balances[account] }
    assert(acquirer, 'a transfer with an acquirer names it')
    const name = clearingAccount(acquirer)
    const balance = (clearing.get(name) ?? 0) + change
    clearing.set(name, balance)
    return { account: name, balance }
  }
  const transfers = posting.transfers(balances).filter(({ amount }) => amount !== 0)
  const rows = transfers.map((transfer, position) => {
    assert(Number.isSafeInteger(transfer.amount) && transfer.amount > 0, 'a transfer is of a positive amount')
    const { kind, amount } = transfer
    const debited = move(transfer.debit, 0 - amount)
    const credited = move(transfer.credit, amount)
    const sides = { debit: debited.account, credit: credited.account }
    const left = { debitBalance: debited.balance, creditBalance: credited.balance }
    return { kind, amount, ...sides, ...left, merchantId, eventKey, recordType, recordId, now, position }
  })
  // The database refuses overdrafts of other accounts too (ledger_no_overdraft). This one has a message for the caller.
  if (balances.available < 0) throw insufficientBalance()
  return rows
}

export function insufficientBalance(): AppError {
  return new AppError('insufficient_balance', {
    detail: 'The available balance does not cover the amount and its fee. GET /balance shows the balance.',
  })
}

/** How much of `amount` an account can give: all of it, or its whole balance. */
export function upTo(balance: number, amount: number): number {
  return Math.max(0, Math.min(balance, amount))
}
