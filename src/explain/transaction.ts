import { inReais } from '../lib/money.ts'
import type { Facts } from './facts.ts'
import { describeStop } from './stop.ts'
import type { TransactionRecord } from './store.ts'
import { describeTold } from './told.ts'
import { atTime, due, notAsked, sentences, withStop } from './words.ts'

type TransactionFacts = Facts<TransactionRecord>

/** Where a transaction stands and why, whether the shop knows, and what happens next. */
export function summarizeTransaction(facts: TransactionFacts): string {
  const { status } = facts.record
  return sentences(`${status}: ${describeStanding(facts)}`, describeSurplus(facts), describeTold(facts))
}

function describeStanding(facts: TransactionFacts): string {
  switch (facts.record.status) {
    case 'PENDING':
      return describePending(facts)
    case 'PIX_QRCODE_GENERATED':
      return describeUnpaid(facts)
    case 'FAILED':
      return sentences(
        `${withStop(facts.record.error_message ?? 'the acquirer gave no reason')}`,
        'Should a payment arrive after all, it is booked.',
      )
    case 'PAID':
      return describePaid(facts)
    case 'PROCESSING_REFUND':
      return describeRefunding(facts)
    case 'REFUNDED':
      return describeUndone(facts) ?? `all of the ${inReais(facts.record.amount_paid ?? 0)} went back to the payer.`
    default:
      return describeContest(facts)
  }
}

function describePending(facts: TransactionFacts): string {
  const { record, exchanges, now } = facts
  const last = exchanges.findLast(({ outcome }) => outcome === 'unknown' || outcome === 'error')
  const how = last ? ` (${last.error}, at ${atTime(last.at, now)})` : ''
  return sentences(
    `the acquirer did not answer${how}, so it is not known whether the charge exists.`,
    notAsked(facts) || due('It', 'asked again', { at: record.check_at, now }),
  )
}

function describeUnpaid(facts: TransactionFacts): string {
  const { record, notices, now } = facts
  const { pix_expires_at: expiresAt, check_at: at } = record
  const told = notices.at(-1)
  const claimed =
    told === undefined
      ? ''
      : told.state === 'received'
        ? 'A callback told of a payment, and the acquirer is being asked to confirm it.'
        : 'A callback told of a payment, but the acquirer does not confirm it.'
  const isExpired = expiresAt !== null && expiresAt <= now
  return isExpired
    ? sentences(
        `the code expired at ${atTime(expiresAt, now)} and no payment is known.`,
        claimed,
        notAsked(facts) || due('The acquirer', 'asked a last time', { at, now }),
      )
    : sentences(
        `nobody has paid yet; the code is good until ${expiresAt ? atTime(expiresAt, now) : 'it expires'}.`,
        claimed,
        notAsked(facts) ||
          (at
            ? `Without a payment it fails soon after ${atTime(at, now)}, when the acquirer has been asked a last time.`
            : ''),
      )
}

function describePaid({ record, refunds, infractions, now }: TransactionFacts): string {
  const { amount_paid: paid, payment_date: at, fee_amount: fee } = record
  const refunded = sumOf(refunds.filter(({ status }) => status === 'REFUNDED'))
  const lastRefund = refunds.at(-1)
  const isContestOver = infractions.some(({ state }) => state === 'rejected' || state === 'canceled')
  return sentences(
    `${inReais(paid ?? 0)} arrived at ${at ? atTime(at, now) : 'an unknown time'}${fee ? `, of which ${inReais(fee)} are the fee` : ''}.`,
    refunded > 0 ? `${inReais(refunded)} of it went back to the payer.` : '',
    lastRefund?.status === 'FAILED'
      ? `The last refund, of ${inReais(lastRefund.amount)}, was refused: ${withStop(lastRefund.error_message ?? 'no reason was given')}`
      : '',
    isContestOver ? 'A contest of it came to nothing.' : '',
  )
}

function describeRefunding(facts: TransactionFacts): string {
  const { refunds, brake, now } = facts
  const refund = refunds.find(({ status }) => status === 'PROCESSING')
  if (!refund) return 'a refund is under way.'
  return sentences(
    `a refund of ${inReais(refund.amount)} was asked for at ${atTime(refund.created_at, now)}, and what became of it is not known yet.`,
    'What it needs is set aside.',
    notAsked(facts) ||
      (brake ? describeStop(brake, now) : due('The acquirer', 'asked about it', { at: refund.check_at, now })),
  )
}

/** The money is the operator's to find a place for. */
function describeUndone({ record, refunds }: TransactionFacts): string | null {
  const id = refunds.find((refund) => refund.suspense_payment_id !== null)?.suspense_payment_id
  if (!id) return null
  return `the payment was not for this transaction: its ${inReais(record.amount_paid ?? 0)} went back into suspense; see \`npx guiche orphan show ${id}\`.`
}

function describeContest({ record, infractions, now }: TransactionFacts): string {
  const contest = infractions.at(-1)
  const amount = contest ? inReais(contest.amount) : 'the payment'
  switch (record.status) {
    case 'BLOCKED':
      return sentences(
        `the payer's bank contests ${amount}${contest ? `, since ${atTime(contest.opened_at, now)}` : ''}; it is blocked until that is decided.`,
        `Where the acquirer does not tell how: \`npx guiche infraction accept | reject --transaction ${record.id}\`.`,
      )
    case 'PROCESSING_INFRACTION':
      return `the contest of ${amount} was accepted; it stays blocked until the acquirer tells that the money went back.`
    default:
      return `${amount} went back to the payer after a contest. This is final.`
  }
}

/** Nobody books a second payment by itself: it belongs to no charge any more. */
function describeSurplus({ surplus }: TransactionFacts): string {
  const all = surplus.map(({ end_to_end: id, acquirer, amount, status, error_message: error }) => {
    const what = `It was paid once more, with ${inReais(amount)} at ${acquirer} (${id})`
    if (status === 'returned') return `${what}: that went back to the payer.`
    if (status === 'returning') return `${what}: that is being sent back.`
    return `${what}: that is in suspense${error ? `, because it was not sent back (${error})` : ''}; see \`npx guiche orphan\`.`
  })
  return sentences(...all)
}

function sumOf(parts: { amount: number }[]): number {
  return parts.reduce((sum, { amount }) => sum + amount, 0)
}
