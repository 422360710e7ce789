/**
 * A merchant's accounts. A balance is credits minus debits, and a merchant's balances add up to zero.
 *
 * - available: what it may draw
 * - reserved: set aside for refunds and withdrawals under way
 * - blocked: set aside while a payment is contested (MED)
 * - fees: what the operator has earned from it
 * - suspense: arrived, and not known for what
 * - acquirer: below zero, what the acquirer holds for all of these
 * - debt: below zero, what the merchant owes, because a contested payment had been spent already
 */
export const accounts = ['available', 'reserved', 'blocked', 'fees', 'acquirer', 'suspense', 'debt'] as const

export type Account = (typeof accounts)[number]

export type Balances = Record<Account, number>

/** Why a transfer was made: what a statement shows and filters by. */
export const transferKinds = [
  'payment',
  'fee',
  'debt_repaid',
  'refund_reserved',
  'refund_sent',
  'refund_released',
  'infraction_blocked',
  'infraction_returned',
  'infraction_released',
  'withdrawal_reserved',
  'withdrawal_sent',
  'withdrawal_released',
  'withdrawal_returned',
  'payment_held',
  'held_returned',
  'held_matched',
  'match_undone',
  'correction',
] as const

export type TransferKind = (typeof transferKinds)[number]

export type RecordType = 'transaction' | 'refund' | 'infraction' | 'withdrawal' | 'suspense' | 'correction'
