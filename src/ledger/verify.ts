import type { Db, Tx } from '../db/sql.ts'
import type { Among, RecordKey, Window } from './among-store.ts'
import { findChainBreaches, findOverdrafts, findUnequalBalances, findUnevenMerchants } from './verify-store.ts'

/** Something in the books that cannot be right. */
export type Breach = { rule: string; merchantId: string | null; recordId: string | null; detail: string }

/** How a feature's records are held against the ledger, which does not know what a payment is. */
export type Verification = {
  findBreaches: (db: Db | Tx, among?: Among) => Promise<Breach[]>
  /**
   * Which records are to be looked at for what happened in a window: those that say themselves that they changed in it, and those whose rules look at
   * one of `known`, for which something was booked.
   */
  findTouched: (db: Db | Tx, window: Window, known: RecordKey[]) => Promise<RecordKey[]>
}

/**
 * What must hold in the ledger by itself:
 * - each merchant's balances add up to zero (trial balance);
 * - no account that may not is below zero;
 * - the running balances in the transfers follow from one another;
 * - each balance is what the last of its transfers left, and so their sum.
 */
export async function findLedgerBreaches(db: Db | Tx): Promise<Breach[]> {
  return [...(await findAccountBreaches(db)), ...(await findTransferBreaches(db, null))]
}

/** Those that balances alone tell of, of everybody. */
export async function findAccountBreaches(db: Db | Tx): Promise<Breach[]> {
  const uneven = (await findUnevenMerchants(db)).map(({ merchant_id, sum }) => ({
    rule: 'trial_balance',
    merchantId: merchant_id,
    recordId: null,
    detail: `the balances add up to ${sum}, not to 0`,
  }))
  const overdrafts = (await findOverdrafts(db)).map(({ merchant_id, account, balance }) => ({
    rule: 'no_overdraft',
    merchantId: merchant_id,
    recordId: null,
    detail: `the balance of ${account} is ${balance}`,
  }))
  return [...uneven, ...overdrafts]
}

/** Those of all transfers, or of those since a moment and of the accounts that they are on. */
export async function findTransferBreaches(db: Db | Tx, since: Date | null): Promise<Breach[]> {
  const unequal = (await findUnequalBalances(db, since)).map(({ merchant_id, account, balance, sum }) => ({
    rule: 'balance_is_sum',
    merchantId: merchant_id,
    recordId: null,
    detail: `the balance of ${account} is ${balance}, its transfers left ${sum}`,
  }))
  const unchained = (await findChainBreaches(db, since)).map(({ merchant_id, record_id, account, id }) => ({
    rule: 'running_balance',
    merchantId: merchant_id,
    recordId: record_id,
    detail: `the running balance of ${account} does not follow at transfer ${id}`,
  }))
  return [...unequal, ...unchained]
}
