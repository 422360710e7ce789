import type { Db, Tx } from '../db/sql.ts'
import { findChainBreaches, findOverdrafts, findUnequalBalances, findUnevenMerchants } from './verify-store.ts'

/** Something in the books that cannot be right. */
export type Breach = { rule: string; merchantId: string; recordId: string | null; detail: string }

/** Looks for breaches of one kind. Features add their own: the ledger does not know what a payment is. */
export type FindBreaches = (db: Db | Tx) => Promise<Breach[]>

/**
 * What must hold in the ledger by itself:
 * - each merchant's balances add up to zero (trial balance);
 * - each balance equals the sum of its transfers;
 * - the running balances in the transfers follow from one another;
 * - no account that may not is below zero.
 */
export async function findLedgerBreaches(db: Db | Tx): Promise<Breach[]> {
  const found = [
    (await findUnevenMerchants(db)).map(({ merchant_id, sum }) => ({
      rule: 'trial_balance',
      merchantId: merchant_id,
      recordId: null,
      detail: `the balances add up to ${sum}, not to 0`,
    })),
    (await findUnequalBalances(db)).map(({ merchant_id, account, balance, sum }) => ({
      rule: 'balance_is_sum',
      merchantId: merchant_id,
      recordId: null,
      detail: `the balance of ${account} is ${balance}, its transfers add up to ${sum}`,
    })),
    (await findChainBreaches(db)).map(({ merchant_id, record_id, account, id }) => ({
      rule: 'running_balance',
      merchantId: merchant_id,
      recordId: record_id,
      detail: `the running balance of ${account} does not follow at transfer ${id}`,
    })),
    (await findOverdrafts(db)).map(({ merchant_id, account, balance }) => ({
      rule: 'no_overdraft',
      merchantId: merchant_id,
      recordId: null,
      detail: `the balance of ${account} is ${balance}`,
    })),
  ]
  return found.flat()
}
