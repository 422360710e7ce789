/** What is compared: money that came in, money that went back to its payer, money that was sent out. */
export type Subject = 'payment' | 'return' | 'payout'

/** The eleven ways in which an acquirer and the books can differ, and what each means. docs/reconciliation.md shows the same for people. */
export const classes = {
  late: 'booked on a later day than it was paid, or not booked yet and coming by itself',
  missing_here: 'the acquirer has a payment of a transaction of ours that the books do not have',
  missing_there: 'the books have a payment that the acquirer does not have',
  amount: 'both have the payment, with different amounts',
  fee: 'the acquirer kept another fee than was agreed',
  duplicate: 'a second payment of a transaction, not held yet',
  orphan: 'a payment without a txid of ours, not held yet',
  cut_off: 'the two sides put it on different days, within minutes of midnight',
  return: 'a return of a payment on one side only, or of another amount',
  unreadable: 'an entry in the acquirer’s list that cannot be read',
  payout: 'a payout on one side only, of another amount or in another state',
} as const satisfies Record<string, string>

export type DifferenceClass = keyof typeof classes

export const classNames = Object.keys(classes) as DifferenceClass[]

/**
 * What is proposed:
 * - none: nothing, it is explained by time
 * - settle: what the service does by itself as well, now: ask the acquirer and book what it says
 * - hold: take the payment into suspense, as the service does by itself
 * - correct: transfers that change what the books say the acquirer holds, by `cents`
 * - look: somebody must find out; no entry follows from what is known
 */
export type Proposal =
  | { action: 'none' | 'settle' | 'look' }
  | { action: 'hold'; kind: 'surplus' | 'orphan' }
  | { action: 'correct'; cents: number; account: 'merchant' | 'house' }

/** One side of a difference, as it is kept and shown. Amounts in cents, dates as ISO text; `raw` is an entry that cannot be read. */
export type Side = {
  amount: number
  at: string
  state?: string
  fee?: number
  bookedAt?: string
  med?: number
  raw?: string
}

/** Something that differs, as a comparison finds it. */
export type Found = {
  class: DifferenceClass
  subject: Subject
  reference: string
  merchantId: string | null
  recordId: string | null
  at: Date
  /** Both sides have booked it, in two days. */
  isTiming: boolean
  there: Side | null
  here: Side | null
  proposal: Proposal
  /** Why money must not leave before somebody has looked; null where it may. */
  alarm: string | null
}
