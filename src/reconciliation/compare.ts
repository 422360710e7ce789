import { createHash } from 'node:crypto'
import type { Window } from '../lib/brasilia.ts'
import { inReais } from '../lib/money.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import type { Found, Proposal, Side, Subject } from './classes.ts'

/** A payment that is not posted and younger than this is still within the service's usual delay. */
export const graceMs = 15 * 60_000
/**
 * If both sides date a payment at most this far from midnight, they may put it on two different days: clocks differ,
 * and messages are delayed.
 */
export const cutOffMs = 10 * 60_000

/** One payment, the returns of one payment, or one payout: as the acquirer has it, and as the ledger has it. */
export type Pair = {
  subject: Subject
  /** An endToEndId, or our id of a payout. */
  key: string
  atAcquirer: {
    amount: number
    med: number
    at: Date
    state: 'processing' | 'done' | 'refused'
    fee: number | null
  } | null
  inLedger: LedgerRecord | null
  /** The transaction that the payment names, where it is not posted. */
  owner: { merchantId: string; id: string; isPaid: boolean } | null
  /** The list has an earlier payment that names the same transaction. */
  isLater: boolean
  /** The sum of confirmed corrections: of the amount, and of the fee. */
  corrected: { amount: number; fee: number }
}

type LedgerRecord = {
  merchantId: string
  recordId: string
  /** For returns, the sum of those made; `med` is the part under MED. */
  amount: number
  med: number
  /** The sum of our own refunds in progress. */
  processing: number
  at: Date
  postedAt: Date
  state: string
  isInSuspense: boolean
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
  // A payment that the acquirer dates after midnight may be posted before it.
  if (!liesIn(rules.window, pair)) return pair.subject === 'payment' && isEqual(pair) ? compareDays(pair, rules) : []
  switch (pair.subject) {
    case 'payment':
      return [...comparePayment(pair, rules), ...compareFee(pair, rules)]
    case 'return':
      return compareReturn(pair, rules)
    case 'payout':
      return [...comparePayout(pair, rules), ...compareFee(pair, rules)]
  }
}

/**
 * The discrepancy of a record of the ledger that could not be queried at the acquirer, if it is in the window. The
 * service queries it again where that may post something; a person must investigate anything else.
 */
export function toUnqueried(pair: Pair, { window }: Rules, { message: raw }: Error): Found[] {
  const { inLedger, subject, key } = pair
  if (!inLedger || !liesIn(window, pair)) return []
  const isPosted = subject === 'return' || (subject === 'payout' && inLedger.state !== 'PROCESSING')
  const found = toFound(pair, { class: 'unreadable', proposal: { action: isPosted ? 'investigate' : 'settle' } })
  // The hash of the key: the message may differ each time, and a decision must last.
  const rawSha256 = createHash('sha256').update(key).digest('hex')
  return [{ ...found, atAcquirer: { amount: 0, at: inLedger.at.toISOString(), raw, rawSha256 } }]
}

/** A pair is in the window when either side dates it there. */
function liesIn({ from, to }: Window, { atAcquirer, inLedger }: Pair): boolean {
  return [atAcquirer?.at, inLedger?.at].some((at) => at !== undefined && from <= at && at < to)
}

function comparePayment(pair: Pair, rules: Rules): Found[] {
  const { atAcquirer, inLedger } = pair
  if (atAcquirer && !inLedger) return [compareUnposted(pair, atAcquirer, rules)]
  if (!inLedger) return []
  const posted = inLedger.amount + pair.corrected.amount
  if (!atAcquirer) {
    if (posted === 0) return []
    return [toFound(pair, { class: 'missing_at_acquirer', proposal: correct(-posted) })]
  }
  if (atAcquirer.amount !== posted) {
    // Money in suspense belongs to no merchant yet, so there is no balance to correct.
    const proposal: Proposal = inLedger.isInSuspense ? { action: 'investigate' } : correct(atAcquirer.amount - posted)
    return [toFound(pair, { class: 'amount', proposal })]
  }
  return compareDays(pair, rules)
}

/** Whether both sides have a payment, with the same amount. */
function isEqual({ atAcquirer, inLedger, corrected }: Pair): boolean {
  return atAcquirer !== null && inLedger !== null && atAcquirer.amount === inLedger.amount + corrected.amount
}

function compareUnposted(pair: Pair, atAcquirer: NonNullable<Pair['atAcquirer']>, { now }: Rules): Found {
  const { owner } = pair
  if (!owner) return toFound(pair, { class: 'unattributed', proposal: { action: 'suspend', kind: 'unattributed' } })
  if (owner.isPaid || pair.isLater)
    return toFound(pair, { class: 'duplicate', proposal: { action: 'suspend', kind: 'duplicate' } })
  if (isYoung(atAcquirer.at, now)) return toFound(pair, { class: 'late', proposal: { action: 'none' } })
  return toFound(pair, { class: 'missing_in_ledger', proposal: { action: 'settle' } })
}

/** Reported in the close of the earlier of the two days. */
function compareDays(pair: Pair, { isDaily, window }: Rules): Found[] {
  const { atAcquirer, inLedger } = pair
  if (!isDaily || !atAcquirer || !inLedger || inLedger.isInSuspense) return []
  const [paidAt, postedAt] = [atAcquirer.at, inLedger.postedAt]
  const [first, last] = paidAt < postedAt ? [paidAt, postedAt] : [postedAt, paidAt]
  const isOfTwoDays = window.from <= first && first < window.to && last >= window.to
  if (!isOfTwoDays) return []
  const midnight = window.to.getTime()
  const isNear = midnight - first.getTime() <= cutOffMs && last.getTime() - midnight <= cutOffMs
  const found = toFound(pair, { class: isNear ? 'cut_off' : 'late', proposal: { action: 'none' } })
  return [{ ...found, isTiming: true }]
}

/** Only where the acquirer reports its fee and an agreed fee is configured. */
function compareFee(pair: Pair, { agreedFee }: Rules): Found[] {
  const { subject, atAcquirer, corrected } = pair
  if (!atAcquirer || atAcquirer.fee === null || atAcquirer.state !== 'done') return []
  const agreed = agreedFee(subject, atAcquirer.amount)
  if (agreed === null) return []
  const expected = agreed - corrected.fee
  if (atAcquirer.fee === expected) return []
  const proposal: Proposal = { action: 'correct', cents: expected - atAcquirer.fee, account: 'house' }
  const found = toFound(pair, { class: 'fee', proposal })
  return [
    { ...found, inLedger: { amount: pair.inLedger?.amount ?? 0, fee: expected, at: atAcquirer.at.toISOString() } },
  ]
}

/** Compares the sums of all returns of one payment: the parts do not matter. */
function compareReturn(pair: Pair, { now }: Rules): Found[] {
  const { atAcquirer, inLedger } = pair
  const sentAtAcquirer = atAcquirer?.amount ?? 0
  const sentInLedger = (inLedger?.amount ?? 0) - pair.corrected.amount
  if (sentAtAcquirer === sentInLedger) return []
  const isRecent = atAcquirer !== null && isYoung(atAcquirer.at, now)
  // The ledger follows soon: a refund is posted within seconds of the PSP’s answer, a return under MED at the next
  // check of the payment.
  const isKnown =
    inLedger !== null && (inLedger.processing > 0 || inLedger.isInSuspense || (atAcquirer?.med ?? 0) > inLedger.med)
  if (isRecent && isKnown) return [toFound(pair, { class: 'late', proposal: { action: 'none' } })]
  if (sentAtAcquirer > sentInLedger && isKnown)
    return [toFound(pair, { class: 'return', proposal: { action: 'settle' } })]
  // No correction: a payment that is not posted is a discrepancy of its own, which must be resolved first, and a
  // payment in suspense belongs to no merchant whose balance could be corrected.
  if (!inLedger || inLedger.isInSuspense)
    return [toFound(pair, { class: 'return', proposal: { action: 'investigate' } })]
  return [toFound(pair, { class: 'return', proposal: correct(sentInLedger - sentAtAcquirer) })]
}

/** The statuses of a withdrawal whose money has left. */
const sentStates: ReadonlySet<string> = new Set(['PROCESSED', 'REFUNDED'])

function comparePayout(pair: Pair, { now }: Rules): Found[] {
  const { atAcquirer, inLedger } = pair
  const sentAtAcquirer = atAcquirer?.state === 'done' ? atAcquirer.amount : 0
  const sentInLedger = (inLedger && sentStates.has(inLedger.state) ? inLedger.amount : 0) - pair.corrected.amount
  // The acquirer has sent it, and our database does not know it: that commit was lost. The money is still reserved, and
  // must not be sent again.
  if (inLedger?.state === 'PENDING' && sentAtAcquirer > 0)
    return [withAlarm(toFound(pair, { class: 'payout', proposal: { action: 'investigate' } }), pair, sentAtAcquirer)]
  const isUnderWay = inLedger?.state === 'PROCESSING'
  if (isUnderWay) {
    if (!atAcquirer || atAcquirer.state === 'processing') return []
    if (isYoung(atAcquirer.at, now)) return [toFound(pair, { class: 'late', proposal: { action: 'none' } })]
    if (atAcquirer.state === 'refused' || atAcquirer.amount === inLedger.amount)
      return [toFound(pair, { class: 'payout', proposal: { action: 'settle' } })]
    // Its money is still reserved. What is to be corrected shows once its outcome is posted.
    const found = toFound(pair, { class: 'payout', proposal: { action: 'investigate' } })
    return [withAlarm(found, pair, atAcquirer.amount - inLedger.amount)]
  }
  if (sentAtAcquirer === sentInLedger) return []
  // No withdrawal has it, or it is an entry of the operator's own money.
  const isOfOperator = inLedger === null || inLedger.merchantId === operatorMerchantId
  const proposal: Proposal = {
    ...correct(sentInLedger - sentAtAcquirer),
    account: isOfOperator ? 'house' : 'merchant',
  }
  return [withAlarm(toFound(pair, { class: 'payout', proposal }), pair, sentAtAcquirer - sentInLedger)]
}

/** Adds the alarm if more money left than the ledger has. */
function withAlarm(found: Found, { key, inLedger }: Pair, excess: number): Found {
  if (excess <= 0) return found
  const whose =
    inLedger === null
      ? 'and no withdrawal has it'
      : inLedger.state === 'PENDING'
        ? `and withdrawal ${inLedger.recordId} is PENDING`
        : `more than the ledger has for it (record ${inLedger.recordId})`
  return { ...found, alarm: `${inReais(excess)} left under ${key}, ${whose}` }
}

function correct(cents: number): Extract<Proposal, { action: 'correct' }> {
  return { action: 'correct', cents, account: 'merchant' }
}

function isYoung(at: Date, now: Date): boolean {
  return now.getTime() - at.getTime() < graceMs
}

function toFound(pair: Pair, { class: name, proposal }: Pick<Found, 'class' | 'proposal'>): Found {
  const { atAcquirer, inLedger, owner, subject } = pair
  return {
    class: name,
    subject,
    reference: pair.key,
    merchantId: inLedger?.merchantId ?? owner?.merchantId ?? null,
    recordId: inLedger?.recordId ?? owner?.id ?? null,
    at: atAcquirer?.at ?? inLedger?.at ?? new Date(0),
    isTiming: false,
    atAcquirer: atAcquirer && toAcquirerSide(subject, atAcquirer),
    inLedger: inLedger && toLedgerSide(subject, inLedger, pair.corrected.amount),
    proposal,
    alarm: null,
  }
}

function toAcquirerSide(subject: Subject, { amount, med, at, state, fee }: NonNullable<Pair['atAcquirer']>): Side {
  return {
    amount,
    at: at.toISOString(),
    ...(subject === 'payout' && { state }),
    ...(subject === 'return' && med > 0 && { med }),
    ...(fee !== null && { fee }),
  }
}

function toLedgerSide(subject: Subject, inLedger: LedgerRecord, corrected: number): Side {
  return {
    // A correction that takes money away increases the amount that left.
    amount: subject === 'payment' ? inLedger.amount + corrected : inLedger.amount - corrected,
    at: inLedger.at.toISOString(),
    ...(subject === 'payment' && { postedAt: inLedger.postedAt.toISOString() }),
    ...(subject !== 'payment' && { state: inLedger.state }),
    ...(subject === 'return' && inLedger.med > 0 && { med: inLedger.med }),
  }
}
