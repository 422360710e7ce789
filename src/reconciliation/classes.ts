/** What is compared: incoming payments, money that went back to its payer, money that was sent out. */
export type Subject = 'payment' | 'return' | 'payout'

/**
 * The eleven classes of discrepancies between an acquirer (`atAcquirer`) and the ledger (`inLedger`).
 * discrepancy-class-labels.ts says what each means, and docs/reconciliation.md has a table of them.
 */
export const classNames = [
  'late',
  'missing_in_ledger',
  'missing_at_acquirer',
  'amount',
  'fee',
  'duplicate',
  'unattributed',
  'cut_off',
  'return',
  'unreadable',
  'payout',
] as const

export type DiscrepancyClass = (typeof classNames)[number]

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
 * may name a person, so the signed statements leave it out, and it is deleted once the discrepancy is closed;
 * `rawSha256` is kept.
 */
export type Side = {
  amount: number
  at: string
  state?: string
  fee?: number
  postedAt?: string
  /** The part of the amount that was returned under MED. */
  med?: number
  raw?: string
  rawSha256?: string
}

/** A side without the raw text of an unreadable entry. Its hash stays, and is enough to compare it. */
export function withoutRaw(side: Side | null): Side | null {
  if (side === null) return null
  const { raw: _, ...kept } = side
  return kept
}

/**
 * The part of a side that tells whether it has changed since an earlier run. For an unreadable entry this is only the
 * hash. If its time is unknown, the time of the window is used, which differs from run to run.
 */
export function toCompared(side: Side | null): Partial<Side> | null {
  return side?.rawSha256 === undefined ? side : { rawSha256: side.rawSha256 }
}

/** A discrepancy as a comparison finds it. */
export type Found = {
  class: DiscrepancyClass
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
