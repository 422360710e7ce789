import type { Account } from '../ledger/accounts.ts'
import type { TransferRecord } from './store.ts'

/** The lines of a statement, in the order in which they are shown. */
export const statementLines = [
  'paid',
  'sent',
  'sending',
  'fee',
  'refunded',
  'refunding',
  'refundFee',
  'feeReturned',
  'blocked',
  'returned',
  'attributionReversed',
  'other',
] as const

export type StatementLine = (typeof statementLines)[number]

/** In cents. The lines add up to `net`: by how much the record changed what the merchant has, or owes. */
export type Statement = { lines: { line: StatementLine; amount: number }[]; net: number }

/** Reserved and blocked money is not counted as the merchant's. */
const merchantAccounts: readonly Account[] = ['available', 'debt']

/** The statement of a record, from its transfers alone. Null if nothing was posted for it. */
export function toStatement(transfers: TransferRecord[]): Statement | null {
  const sums = new Map<StatementLine, number>()
  const add = (line: StatementLine, amount: number) => sums.set(line, (sums.get(line) ?? 0) + amount)
  for (const transfer of transfers) {
    const { debit, credit, amount } = transfer
    const change = (merchantAccounts.includes(credit) ? amount : 0) - (merchantAccounts.includes(debit) ? amount : 0)
    const line = lineOf(transfer)
    const setAside = setAsideOf(transfer)
    if (change !== 0) add(setAside ?? line, change)
    // Money that was set aside leaves: it moves from the line of what is in progress to the line of what was done.
    else if (setAside !== null && !merchantAccounts.includes(credit)) {
      add(setAside, amount)
      add(line, -amount)
    }
  }
  const lines = statementLines.flatMap((line) => {
    const amount = sums.get(line) ?? 0
    return amount === 0 ? [] : [{ line, amount }]
  })
  return transfers.length === 0 ? null : { lines, net: lines.reduce((sum, { amount }) => sum + amount, 0) }
}

/** The line for money in progress, if the transfer debits or credits `blocked` or `reserved`; otherwise null. */
function setAsideOf({ debit, credit, record_type: type }: TransferRecord): StatementLine | null {
  if (debit === 'blocked' || credit === 'blocked') return 'blocked'
  if (debit !== 'reserved' && credit !== 'reserved') return null
  return type === 'withdrawal' ? 'sending' : 'refunding'
}

function lineOf({ kind, debit, record_type: type }: TransferRecord): StatementLine {
  switch (kind) {
    case 'payment':
      return 'paid'
    case 'fee':
      return debit === 'reserved' && type === 'refund' ? 'refundFee' : 'fee'
    case 'refund_sent':
      return 'refunded'
    case 'fee_returned':
    case 'fee_return_reversed':
      return 'feeReturned'
    case 'infraction_returned':
    case 'withdrawal_returned':
      return 'returned'
    case 'withdrawal_sent':
      return 'sent'
    case 'match_undone':
      // The part of the fee that the merchant's fees cover; the rest is `fee_returned`.
      return debit === 'fees' ? 'feeReturned' : 'attributionReversed'
    default:
      return 'other'
  }
}
