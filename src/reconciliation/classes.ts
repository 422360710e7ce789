/** What is compared: incoming payments, money that went back to its payer, money that was sent out. */
export type Subject = 'payment' | 'return' | 'payout'

/**
 * The eleven classes of discrepancies between an acquirer (`atAcquirer`) and the ledger (`inLedger`).
 * docs/reconciliation.md has the same table.
 */
export const classes = {
  late: 'posted on a later day than it was paid, or not posted yet and still within the service’s usual delay',
  missing_in_ledger: 'the acquirer has a payment of one of our transactions that the ledger does not have',
  missing_at_acquirer: 'the ledger has a payment that the acquirer does not have',
  amount: 'both have the payment, with different amounts',
  fee: 'the acquirer kept another fee than agreed',
  duplicate: 'a second payment of a transaction, not in suspense yet',
  unattributed: 'a payment without one of our txids, not in suspense yet',
  cut_off: 'the two sides have it on different days, within minutes of midnight',
  return: 'a return of a payment on one side only, or of another amount',
  unreadable: 'an entry in the acquirer’s list that cannot be read',
  payout: 'a payout on one side only, of another amount or in another state',
} as const satisfies Record<string, string>

export type DifferenceClass = keyof typeof classes

export const classNames = Object.keys(classes) as DifferenceClass[]

/**
 * What is proposed:
 * - none: nothing, the discrepancy resolves over time
 * - settle: query the acquirer and post what it confirms, as the service does automatically
 * - suspend: place the payment in suspense, as the service does automatically
 * - correct: post transfers that change the acquirer's balance in the ledger by `cents`, against the merchant's
 *   accounts, or against the operator's own (`house`)
 * - investigate: a person must find out; what is known does not say what to post
 */
export type Proposal =
  | { action: 'none' | 'settle' | 'investigate' }
  | { action: 'suspend'; kind: 'duplicate' | 'unattributed' }
  | { action: 'correct'; cents: number; account: 'merchant' | 'house' }

/**
 * One side of a discrepancy, as stored and shown. Amounts in cents, dates as ISO text. `raw` is an unreadable entry. It
 * may name a person, so no statement has it, and it is deleted when the discrepancy ends; its hash is kept.
 */
export type Side = {
  amount: number
  at: string
  state?: string
  fee?: number
  postedAt?: string
  med?: number
  raw?: string
  rawSha256?: string
}

/** What may be kept of a side: an unreadable entry is compared by its hash. */
export function withoutRaw(side: Side | null): Side | null {
  if (side === null) return null
  const { raw: _, ...kept } = side
  return kept
}

/** What of a side is compared with an earlier one. The time of an unreadable entry may be that of the run's window. */
export function toCompared(side: Side | null): Partial<Side> | null {
  return side?.rawSha256 === undefined ? side : { rawSha256: side.rawSha256 }
}

/** A discrepancy as a comparison finds it. */
export type Found = {
  class: DifferenceClass
  subject: Subject
  reference: string
  merchantId: string | null
  recordId: string | null
  at: Date
  /** Both sides have it, on different days. */
  isTiming: boolean
  atAcquirer: Side | null
  inLedger: Side | null
  proposal: Proposal
  /** Why payouts must freeze until a person has investigated; null where they need not. */
  alarm: string | null
}
