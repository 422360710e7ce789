import type { Db, Tx } from '../db/sql.ts'
import type { RecordFilter, RecordKey, Window } from './record-filter-store.ts'
import { findChainBreaches, findOverdrafts, findUnbalancedMerchants, findUnequalBalances } from './verify-store.ts'

/** An inconsistency in the ledger. */
export type Breach = { rule: string; merchantId: string | null; recordId: string | null; detail: string }

/** How a feature's records are checked against the ledger, which does not know what a payment is. */
export type Verification = {
  findBreaches: (db: Db | Tx, filter?: RecordFilter) => Promise<Breach[]>
  /**
   * The records to check for a window: those that changed in it according to their own dates, and those whose rules
   * depend on one of `known`, the records that something was posted for.
   */
  findTouched: (db: Db | Tx, window: Window, known: RecordKey[]) => Promise<RecordKey[]>
}

/**
 * What must hold within the ledger:
 * - each merchant's balances add up to zero (trial balance);
 * - no account that must not be negative is negative, and no debt is positive;
 * - the running balances in the transfers follow from one another;
 * - each balance is what its last transfer left, and so the sum of its transfers.
 */
export async function findLedgerBreaches(db: Db | Tx): Promise<Breach[]> {
  return [...(await findAccountBreaches(db)), ...(await findTransferBreaches(db, null))]
}

/** Inconsistencies that the balances alone show, of all merchants. */
export async function findAccountBreaches(db: Db | Tx): Promise<Breach[]> {
  const unbalanced = (await findUnbalancedMerchants(db)).map(({ merchant_id, sum }) => ({
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
  return [...unbalanced, ...overdrafts]
}

/** Inconsistencies of all transfers, or of those since a moment and of their accounts. */
export async function findTransferBreaches(db: Db | Tx, since: Date | null): Promise<Breach[]> {
  const unequal = (await findUnequalBalances(db, since)).map(({ merchant_id, account, balance, sum }) => ({
    rule: 'balance_is_sum',
    merchantId: merchant_id,
    recordId: null,
    detail: `the balance of ${account} is ${balance}, but its last transfer left ${sum}`,
  }))
  const unchained = (await findChainBreaches(db, since)).map(({ merchant_id, record_id, account, id }) => ({
    rule: 'running_balance',
    merchantId: merchant_id,
    recordId: record_id,
    detail: `the running balance of ${account} at transfer ${id} does not follow from the transfer before it`,
  }))
  return [...unequal, ...unchained]
}
