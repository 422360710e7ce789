import { inReais } from '../lib/money.ts'
import type { Facts } from './facts.ts'
import { describeStop } from './stop.ts'
import type { WithdrawalRecord } from './store.ts'
import { describeTold } from './told.ts'
import { atTime, due, notAsked, sentences, withStop } from './words.ts'

type WithdrawalFacts = Facts<WithdrawalRecord>

/** Where a withdrawal stands and why, whether the shop knows, and what happens next. */
export function summarizeWithdrawal(facts: WithdrawalFacts): string {
  return sentences(`${facts.record.status}: ${describeStanding(facts)}`, describeTold(facts))
}

function describeStanding(facts: WithdrawalFacts): string {
  const { record, now } = facts
  const amount = inReais(record.amount)
  switch (record.status) {
    case 'PENDING':
      return describePending(facts)
    case 'PROCESSING':
      return describeProcessing(facts)
    case 'PROCESSED':
      return sentences(
        `${amount} left at ${record.processed_date ? atTime(record.processed_date, now) : 'an unknown time'}.`,
        notAsked(facts) ||
          due('The acquirer', 'asked whether the receiver has sent it back', { at: record.check_at, now }),
      )
    case 'FAILED':
      return `nothing left, and ${amount} with its fee is given back: ${withStop(record.error_message ?? 'the acquirer gave no reason')}`
    case 'CANCELED':
      return `the shop canceled it before anything left, and ${amount} with its fee is given back.`
    case 'REJECTED':
      return `it was rejected before anything left, and ${amount} with its fee is given back: ${withStop(record.error_message ?? 'no reason was given')}`
    case 'REFUNDED':
      return `${withStop(record.error_message ?? 'the receiver sent the money back')} The fee stays.`
  }
}

function describePending(facts: WithdrawalFacts): string {
  const { record, brake, now } = facts
  const amount = inReais(record.amount)
  const decide = `\`npx guiche withdrawal approve ${record.id}\` sends it, \`npx guiche withdrawal reject ${record.id} --reason …\` gives the money back.`
  switch (record.hold) {
    case 'approval':
      return sentences(`${amount} is above what leaves without the operator's approval.`, decide)
    case 'duplicate':
      return sentences(
        `it looks like another one, of the same amount to the same key shortly before, and is held until the shop confirms it (POST /withdrawal/${record.id}/confirm) or the operator decides.`,
        decide,
      )
    case null:
      return sentences(
        `${amount} with its fee is set aside and nothing has been sent yet.`,
        notAsked(facts) || (brake ? describeStop(brake, now) : due('It', 'sent', { at: record.check_at, now })),
      )
  }
}

function describeProcessing(facts: WithdrawalFacts): string {
  const { record, exchanges, now } = facts
  const last = exchanges.findLast(({ outcome }) => outcome === 'unknown' || outcome === 'error')
  const how = last ? ` (last: ${last.error}, at ${atTime(last.at, now)})` : ''
  return sentences(
    `the acquirer was asked to send ${inReais(record.amount)}, and what became of it is not known yet${how}; it stays set aside until it is.`,
    notAsked(facts) || due('The acquirer', 'asked again', { at: record.check_at, now }),
  )
}
