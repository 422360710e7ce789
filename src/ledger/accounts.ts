import { assert } from '../lib/assert.ts'

/**
 * A merchant's accounts. A balance is credits minus debits, and a merchant's balances add up to zero.
 *
 * - available: what the merchant may withdraw or refund
 * - reserved: set aside for refunds and withdrawals in progress
 * - blocked: set aside while a payment is disputed (MED)
 * - fees: what the operator has earned from the merchant and still has
 * - suspense: received, but not attributed to a transaction
 * - acquirer:<name>: negative, what that acquirer holds for all of these (clearing account). There is one for each
 *   acquirer that has held something.
 * - debt: negative, what the merchant owes, because money that was taken back had already been spent (a dispute, a
 *   reversed attribution, a correction); of the operator's own merchant: its losses
 */
export const fixedAccounts = ['available', 'reserved', 'blocked', 'fees', 'suspense', 'debt'] as const

/** In the transfers of an event `acquirer` means the clearing account of the event's acquirer. */
export type Account = (typeof fixedAccounts)[number] | 'acquirer'

/** `acquirer` is the sum of all clearing accounts. */
export type Balances = Record<Account, number>

const clearingPrefix = 'acquirer:'

/** The name of an acquirer's clearing account. */
export function clearingAccount(acquirer: string): string {
  return `${clearingPrefix}${acquirer}`
}

/** The acquirer of a clearing account; null for any other account. */
export function acquirerOf(account: string): string | null {
  return account.startsWith(clearingPrefix) ? account.slice(clearingPrefix.length) : null
}

/** The account of a transfer, with all clearing accounts as `acquirer`. */
export function toAccount(name: string): Account {
  if (acquirerOf(name) !== null) return 'acquirer'
  const account = fixedAccounts.find((fixed) => fixed === name)
  assert(account, 'an account of the ledger is known')
  return account
}

/** Why a transfer was made: statements show it and filter by it. */
export const transferKinds = [
  'payment',
  'fee',
  'debt_repaid',
  'refund_reserved',
  'refund_sent',
  'refund_released',
  'fee_returned',
  'fee_return_reversed',
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
  'fees_drawn',
  'pay_in',
  'debt_written_off',
  'psp_fee',
  'manual',
  'moved_out',
  'moved_in',
] as const

export type TransferKind = (typeof transferKinds)[number]

/** The operator's own entries that a person writes (src/entries/). */
export const writtenTypes = ['fee_draw', 'pay_in', 'write_off', 'psp_fee', 'manual_entry'] as const

/** All of them: also a merchant's balance that leaves for another cell, or comes from one. */
export const entryTypes = [...writtenTypes, 'move_out', 'move_in'] as const

export type WrittenType = (typeof writtenTypes)[number]

export type EntryType = (typeof entryTypes)[number]

/** What a transfer was made for. */
export const recordTypes = [
  'transaction',
  'refund',
  'infraction',
  'withdrawal',
  'suspense',
  'correction',
  ...entryTypes,
] as const

export type RecordType = (typeof recordTypes)[number]
