import type { Window } from '../lib/brasilia.ts'
import { inReais } from '../lib/money.ts'
import type { Found, Proposal, Side, Subject } from './classes.ts'

/** A payment that is not posted and younger than this is still within the service's usual delay. */
export const graceMs = 15 * 60_000
/** Within this distance from midnight, clocks and delays may put a payment on two different days. */
export const cutOffMs = 10 * 60_000

/**
 * Both sides of one payment, of the returns of one payment, or of one payout: `there` the acquirer, `here` the ledger.
 */
export type Pair = {
  subject: Subject
  /** An endToEndId, or our id of a payout. */
  key: string
  there: { amount: number; med: number; at: Date; state: 'processing' | 'done' | 'refused'; fee: number | null } | null
  here: Booked | null
  /** The transaction that the payment names, where it is not posted. */
  owner: { merchantId: string; id: string; isPaid: boolean } | null
  /** The list has an earlier payment that names the same transaction. */
  isLater: boolean
  /** The sum of confirmed corrections: of the amount, and of the fee. */
  corrected: { amount: number; fee: number }
}

type Booked = {
  merchantId: string
  recordId: string
  /** For returns, the sum of those made; `med` is the part under MED. */
  amount: number
  med: number
  /** The sum of our own refunds in progress. */
  processing: number
  at: Date
  bookedAt: Date
  state: string
  isHeld: boolean
}

export type Rules = {
  window: Window
  now: Date
  /** True when a day is closed: then it matters on which day each side has a payment. */
  isDaily: boolean
  /** The agreed fee of an amount; null where none was agreed. */
  agreedFee: (subject: Subject, amount: number) => number | null
}

/** The discrepancies of one pair; none where both sides agree, or where it is outside the window. A pure function. */
export function compare(pair: Pair, rules: Rules): Found[] {
  if (!liesIn(rules.window, pair)) return []
  switch (pair.subject) {
    case 'payment':
      return [...comparePayment(pair, rules), ...compareFee(pair, rules)]
    case 'return':
      return compareReturn(pair, rules)
    case 'payout':
      return [...comparePayout(pair, rules), ...compareFee(pair, rules)]
  }
}

/** A pair is in the window when either side dates it there. */
function liesIn({ from, to }: Window, { there, here }: Pair): boolean {
  return [there?.at, here?.at].some((at) => at !== undefined && from <= at && at < to)
}

function comparePayment(pair: Pair, rules: Rules): Found[] {
  const { there, here } = pair
  if (there && !here) return [compareUnbooked(pair, there, rules)]
  if (!here) return []
  const booked = here.amount + pair.corrected.amount
  if (!there) {
    if (booked === 0) return []
    return [toFound(pair, { class: 'missing_there', proposal: correct(-booked) })]
  }
  if (there.amount !== booked) {
    // Money in suspense belongs to no merchant yet, so there is no balance to correct.
    const proposal: Proposal = here.isHeld ? { action: 'look' } : correct(there.amount - booked)
    return [toFound(pair, { class: 'amount', proposal })]
  }
  return rules.isDaily && !here.isHeld ? compareDays(pair, there.at, here.bookedAt, rules) : []
}

function compareUnbooked(pair: Pair, there: NonNullable<Pair['there']>, { now }: Rules): Found {
  const { owner } = pair
  if (!owner) return toFound(pair, { class: 'orphan', proposal: { action: 'hold', kind: 'orphan' } })
  if (owner.isPaid || pair.isLater)
    return toFound(pair, { class: 'duplicate', proposal: { action: 'hold', kind: 'surplus' } })
  if (isYoung(there.at, now)) return toFound(pair, { class: 'late', proposal: { action: 'none' } })
  return toFound(pair, { class: 'missing_here', proposal: { action: 'settle' } })
}

/** Reported in the close of the earlier of the two days. */
function compareDays(pair: Pair, paidAt: Date, bookedAt: Date, { window }: Rules): Found[] {
  const [first, last] = paidAt < bookedAt ? [paidAt, bookedAt] : [bookedAt, paidAt]
  const isOfTwoDays = window.from <= first && first < window.to && last >= window.to
  if (!isOfTwoDays) return []
  const midnight = window.to.getTime()
  const isNear = midnight - first.getTime() <= cutOffMs && last.getTime() - midnight <= cutOffMs
  const found = toFound(pair, { class: isNear ? 'cut_off' : 'late', proposal: { action: 'none' } })
  return [{ ...found, isTiming: true }]
}

/** Only where the acquirer reports its fee and an agreed fee is configured. */
function compareFee(pair: Pair, { agreedFee }: Rules): Found[] {
  const { subject, there, corrected } = pair
  if (!there || there.fee === null || there.state !== 'done') return []
  const agreed = agreedFee(subject, there.amount)
  if (agreed === null) return []
  const expected = agreed - corrected.fee
  if (there.fee === expected) return []
  const proposal: Proposal = { action: 'correct', cents: expected - there.fee, account: 'house' }
  const found = toFound(pair, { class: 'fee', proposal })
  return [{ ...found, here: { amount: pair.here?.amount ?? 0, fee: expected, at: there.at.toISOString() } }]
}

/** Compares the sums of all returns of one payment: the parts do not matter. */
function compareReturn(pair: Pair, { now }: Rules): Found[] {
  const { there, here } = pair
  const outThere = there?.amount ?? 0
  const outHere = (here?.amount ?? 0) - pair.corrected.amount
  if (outThere === outHere) return []
  const isComing = there !== null && isYoung(there.at, now)
  // An answered refund is posted within seconds; a return under MED at the next check of the payment.
  const isKnown = here !== null && (here.processing > 0 || here.isHeld || (there?.med ?? 0) > here.med)
  if (isComing && isKnown) return [toFound(pair, { class: 'late', proposal: { action: 'none' } })]
  if (outThere > outHere && isKnown) return [toFound(pair, { class: 'return', proposal: { action: 'settle' } })]
  // The payment is not posted, or in suspense: that is a discrepancy of its own, and the return is investigated after
  // it.
  if (!here || here.isHeld) return [toFound(pair, { class: 'return', proposal: { action: 'look' } })]
  return [toFound(pair, { class: 'return', proposal: correct(outHere - outThere) })]
}

const isGone: ReadonlySet<string> = new Set(['PROCESSED', 'REFUNDED'])

function comparePayout(pair: Pair, { now }: Rules): Found[] {
  const { there, here } = pair
  const outThere = there?.state === 'done' ? there.amount : 0
  const outHere = (here && isGone.has(here.state) ? here.amount : 0) - pair.corrected.amount
  const isUnderWay = here?.state === 'PROCESSING'
  if (isUnderWay) {
    if (!there || there.state === 'processing') return []
    if (isYoung(there.at, now)) return [toFound(pair, { class: 'late', proposal: { action: 'none' } })]
    if (there.state === 'refused' || there.amount === here.amount)
      return [toFound(pair, { class: 'payout', proposal: { action: 'settle' } })]
  }
  if (outThere === outHere) return []
  const proposal: Proposal = here ? correct(outHere - outThere) : { ...correct(outHere - outThere), account: 'house' }
  const found = toFound(pair, { class: 'payout', proposal })
  if (outThere < outHere) return [found]
  const whose = here ? `more than withdrawal ${here.recordId} has` : 'and no withdrawal has it'
  return [{ ...found, alarm: `${inReais(outThere - outHere)} left under ${pair.key}, ${whose}` }]
}

function correct(cents: number): Extract<Proposal, { action: 'correct' }> {
  return { action: 'correct', cents, account: 'merchant' }
}

function isYoung(at: Date, now: Date): boolean {
  return now.getTime() - at.getTime() < graceMs
}

function toFound(pair: Pair, { class: name, proposal }: Pick<Found, 'class' | 'proposal'>): Found {
  const { there, here, owner, subject } = pair
  return {
    class: name,
    subject,
    reference: pair.key,
    merchantId: here?.merchantId ?? owner?.merchantId ?? null,
    recordId: here?.recordId ?? owner?.id ?? null,
    at: there?.at ?? here?.at ?? new Date(0),
    isTiming: false,
    there: there && toThere(subject, there),
    here: here && toHere(subject, here, pair.corrected.amount),
    proposal,
    alarm: null,
  }
}

function toThere(subject: Subject, { amount, med, at, state, fee }: NonNullable<Pair['there']>): Side {
  return {
    amount,
    at: at.toISOString(),
    ...(subject === 'payout' && { state }),
    ...(subject === 'return' && med > 0 && { med }),
    ...(fee !== null && { fee }),
  }
}

function toHere(subject: Subject, here: Booked, corrected: number): Side {
  return {
    // A correction that takes money away increases the amount that left.
    amount: subject === 'payment' ? here.amount + corrected : here.amount - corrected,
    at: here.at.toISOString(),
    ...(subject === 'payment' && { bookedAt: here.bookedAt.toISOString() }),
    ...(subject !== 'payment' && { state: here.state }),
    ...(subject === 'return' && here.med > 0 && { med: here.med }),
  }
}
