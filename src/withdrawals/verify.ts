import type { Db, Tx } from '../db/sql.ts'
import type { Among } from '../ledger/among-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'
import { findReturnsOutOfRange, findTouched, findUnequalTransfers } from './verify-store.ts'

/**
 * What must hold between withdrawals and the ledger at any moment, because status and transfers share a commit: each
 * withdrawal has exactly the transfers of its status, and every transfer has its withdrawal.
 */
export async function findWithdrawalBreaches(db: Db | Tx, among: Among = null): Promise<Breach[]> {
  const unequal = (await findUnequalTransfers(db, among)).map((row) => ({
    rule: 'withdrawal_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${describe(row.status)} should have ${row.expected ?? 'no'} cents as ${row.kind} of ${row.event_key}, and has ${row.posted ?? 'none'}`,
  }))
  const returns = (await findReturnsOutOfRange(db, among)).map((row) => ({
    rule: 'withdrawal_returned',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${describe(row.status)} got ${row.returned} cents back, and ${row.repaid} cents of a debt were repaid from it`,
  }))
  return [...unequal, ...returns]
}

function describe(status: string | null): string {
  return status === null ? 'a withdrawal that does not exist' : `a withdrawal that is ${status}`
}

export const withdrawalVerification: Verification = { findBreaches: findWithdrawalBreaches, findTouched }
