import type { Db, Tx } from '../db/sql.ts'
import type { Among } from '../ledger/among-store.ts'
import type { Breach, Verification } from '../ledger/verify.ts'
import {
  findTouched,
  findUnequalDisputed,
  findUnequalFeeReturns,
  findUnequalInfractions,
  findUnequalRepayments,
  findUnequalStatuses,
  findUnequalTransfers,
} from './verify-store.ts'

/**
 * What must hold between transactions and the ledger at any moment, because row and transfers share a commit: every
 * payment, refund and dispute has exactly the transfers of its state, every transfer has its record, and the status
 * is the one that they imply.
 */
export async function findTransactionBreaches(db: Db | Tx, among: Among = null): Promise<Breach[]> {
  const transfers = (await findUnequalTransfers(db, among)).map((row) => ({
    rule: row.event_key.startsWith('refund:') ? 'refund_transfers' : 'payment_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.kind} from ${row.debit} to ${row.credit} under ${row.event_key} should be ${row.expected ?? 'none'}, and is ${row.posted ?? 'none'}`,
  }))
  const feeReturns = (await findUnequalFeeReturns(db, among)).map((row) => ({
    rule: 'fee_returned',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.returned} cents of a fee came back with a refund whose share is ${row.share}; the operator should have paid ${row.missing} and paid ${row.paid}`,
  }))
  const repayments = (await findUnequalRepayments(db, among)).map((row) => ({
    rule: 'debt_repaid',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.repaid} cents of a debt were repaid under ${row.event_key}, which is not the amount owed`,
  }))
  const infractions = (await findUnequalInfractions(db, among)).map((row) => ({
    rule: 'infraction_transfers',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `a dispute that is ${row.state ?? 'missing'} has ${row.blocked} cents blocked, ${row.returned} returned and ${row.released} released`,
  }))
  const disputed = (await findUnequalDisputed(db, among)).map((row) => ({
    rule: 'disputed_amounts',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `${row.blocked} cents of a transaction are blocked and ${row.returned} were returned, which does not match its disputes and returns`,
  }))
  const statuses = (await findUnequalStatuses(db, among)).map((row) => ({
    rule: 'transaction_status',
    merchantId: row.merchant_id,
    recordId: row.record_id,
    detail: `a transaction that is ${row.status} should be ${row.expected}`,
  }))
  return [...transfers, ...feeReturns, ...repayments, ...infractions, ...disputed, ...statuses]
}

export const transactionVerification: Verification = { findBreaches: findTransactionBreaches, findTouched }
