import { inReais } from '../lib/money.ts'
import type { NextStep, Sentence, SentenceData } from './sentences.ts'

/** Sentences in a row as the command line shows them: in English, with times in UTC. */
export function toEnglish(sentences: Sentence[], now: Date): string {
  return sentences.map((sentence) => toSentence(sentence, createTexts(now))).join(' ')
}

function toSentence({ code, data }: Sentence, texts: Texts): string {
  // Code and data belong together, which an index into the table does not show.
  return (texts[code] as (data: Sentence['data']) => string)(data)
}

type Texts = { [Code in keyof SentenceData]: (data: SentenceData[Code]) => string }

function createTexts(now: Date): Texts {
  const time = (at: Date) => atTime(at, now)
  return {
    charge_unknown: ({ error, at }) =>
      `the acquirer did not answer${error && at ? ` (${error}, at ${time(at)})` : ''}, so it is not known whether the charge exists.`,
    charge_unpaid: ({ until }) => `nobody has paid yet; the code is good until ${until ? time(until) : 'it expires'}.`,
    charge_expired: ({ at }) => `the code expired at ${time(at)} and no payment is known.`,
    payment_reported: ({ isBeingConfirmed }) =>
      isBeingConfirmed
        ? 'A callback told of a payment, and the acquirer is being asked to confirm it.'
        : 'A callback told of a payment, but the acquirer does not confirm it.',
    unpaid_fails: ({ at }) =>
      `Without a payment it fails soon after ${time(at)}, when the acquirer has been asked a last time.`,
    charge_failed: ({ reason }) => withStop(reason ?? 'the acquirer gave no reason'),
    late_payment_counts: () => 'Should a payment arrive after all, it is booked.',
    paid: ({ amount, at, fee }) =>
      `${inReais(amount)} arrived at ${at ? time(at) : 'an unknown time'}${fee > 0 ? `, of which ${inReais(fee)} are the fee` : ''}.`,
    refunded_in_part: ({ amount }) => `${inReais(amount)} of it went back to the payer.`,
    refund_failed: ({ amount, reason }) =>
      `The last refund, of ${inReais(amount)}, was refused: ${withStop(reason ?? 'no reason was given')}`,
    dispute_closed: () => 'A dispute of it was rejected or canceled.',
    refund_unknown: ({ amount, at }) =>
      `a refund of ${inReais(amount)} was asked for at ${time(at)}, and what became of it is not known yet.`,
    refund_under_way: () => 'a refund is under way.',
    refund_reserved: () => 'What it needs is set aside.',
    refunded: ({ amount }) => `all of the ${inReais(amount)} went back to the payer.`,
    attribution_reversed: ({ amount, suspensePaymentId }) =>
      `the payment was not for this transaction: its ${inReais(amount)} went back into suspense; see \`npx guiche orphan show ${suspensePaymentId}\`.`,
    disputed: ({ amount, since }) =>
      `the payer's bank disputes ${inReaisOr(amount)}${since ? `, since ${time(since)}` : ''}; it is blocked until the dispute is decided.`,
    decide_dispute: ({ transactionId }) =>
      `If the acquirer does not report the decision: \`npx guiche infraction accept | reject --transaction ${transactionId}\`.`,
    dispute_accepted: ({ amount }) =>
      `the dispute of ${inReaisOr(amount)} was accepted; it stays blocked until the acquirer reports that the money went back.`,
    dispute_returned: ({ amount }) => `${inReaisOr(amount)} went back to the payer after a dispute.`,
    dispute_left: ({ amount }) => `The remaining ${inReais(amount)} can still be refunded or disputed.`,
    paid_again: ({ amount, acquirer, endToEnd, status, error }) => {
      const what = `It was paid once more, with ${inReais(amount)} at ${acquirer} (${endToEnd})`
      if (status === 'returned') return `${what}: that went back to the payer.`
      if (status === 'returning') return `${what}: that is being sent back.`
      return `${what}: that is in suspense${error ? `, because it was not sent back (${error})` : ''}; see \`npx guiche orphan\`.`
    },
    withdrawal_over_limit: ({ amount }) => `${inReais(amount)} is above what leaves without the operator's approval.`,
    withdrawal_like_another: ({ withdrawalId }) =>
      `it looks like another one, of the same amount to the same key shortly before, and is held until the shop confirms it (POST /withdrawal/${withdrawalId}/confirm) or the operator decides.`,
    decide_withdrawal: ({ withdrawalId }) =>
      `\`npx guiche withdrawal approve ${withdrawalId}\` sends it, \`npx guiche withdrawal reject ${withdrawalId} --reason …\` gives the money back.`,
    withdrawal_reserved: ({ amount }) => `${inReais(amount)} with its fee is set aside and nothing has been sent yet.`,
    withdrawal_unknown: ({ amount, error, at }) =>
      `the acquirer was asked to send ${inReais(amount)}, and what became of it is not known yet${error && at ? ` (last: ${error}, at ${time(at)})` : ''}; it stays set aside until it is.`,
    withdrawal_sent: ({ amount, at }) => `${inReais(amount)} left at ${at ? time(at) : 'an unknown time'}.`,
    withdrawal_failed: ({ amount, reason }) =>
      `nothing left, and ${inReais(amount)} with its fee is given back: ${withStop(reason ?? 'the acquirer gave no reason')}`,
    withdrawal_canceled: ({ amount }) =>
      `the shop canceled it before anything left, and ${inReais(amount)} with its fee is given back.`,
    withdrawal_rejected: ({ amount, reason }) =>
      `it was rejected before anything left, and ${inReais(amount)} with its fee is given back: ${withStop(reason ?? 'no reason was given')}`,
    withdrawal_returned: ({ reason }) => `${withStop(reason ?? 'the receiver sent the money back')} The fee stays.`,
    payouts_stopped: ({ since, reason }) =>
      `No money leaves since ${time(since)} (${reason}): it goes on after \`npx guiche ledger release\`.`,
    acquirer_not_configured: ({ acquirer }) =>
      `Its acquirer ${acquirer} is not configured here, so nobody can ask it: configure it again, in no route if it is to get no more charges.`,
    next: ({ step, at, isLate }) => {
      const [who, what] = steps[step]
      return isLate
        ? `${who} was to be ${what} at ${time(at)} and has not been: does the service run?`
        : `${who} is ${what} at ${time(at)}.`
    },
    webhook_none: () => 'The shop gave no webhook URL, so it is told nothing.',
    webhook_nothing_yet: () => 'There is nothing yet to tell the shop of.',
    webhook_undelivered: ({ type, behind, attempt, ...last }) => {
      const of = type === null ? '' : ` of ${type}, which waits behind ${behind}`
      if (attempt === null) return `The shop has not been told yet${of}.`
      return `The shop has not been told yet${of}: ${whatCame(last)} at attempt ${attempt}.`
    },
    webhook_delivered: ({ at }) => (at ? `The shop was told at ${time(at)}.` : 'The shop was told.'),
    webhook_refused: ({ type, eventId }) =>
      `The shop has not been told of ${type}: its receiver answered 410, which means that it wants no more. ${again(eventId)}`,
    webhook_given_up: ({ type, eventId, ...last }) =>
      `The shop has not been told of ${type}: all attempts failed, and at the last ${whatCame(last)}. ${again(eventId)}`,
  }
}

const steps: Record<NextStep, [who: string, what: string]> = {
  check_charge: ['It', 'asked again'],
  check_expired_charge: ['The acquirer', 'asked a last time'],
  check_refund: ['The acquirer', 'asked about it'],
  send_withdrawal: ['It', 'sent'],
  check_withdrawal: ['The acquirer', 'asked again'],
  check_withdrawal_returned: ['The acquirer', 'asked whether the receiver has sent it back'],
  deliver: ['It', 'told'],
  deliver_again: ['It', 'tried again'],
}

function inReaisOr(amount: number | null): string {
  return amount === null ? 'the payment' : inReais(amount)
}

function again(eventId: string): string {
  return `POST /webhook/delivery/${eventId}/resend tells it again.`
}

function whatCame({ httpStatus, error }: { httpStatus: number | null; error: string | null }): string {
  if (httpStatus !== null) return `the receiver answered ${httpStatus}`
  return error === null ? 'the receiver did not answer' : error.charAt(0).toLowerCase() + error.slice(1)
}

/** A moment in UTC, to the second; the date only where it is another day than now. */
function atTime(date: Date, now: Date): string {
  const [day, time] = date.toISOString().split('T')
  const seconds = time?.slice(0, 8) ?? ''
  return day === now.toISOString().slice(0, 10) ? seconds : `${day} ${seconds}`
}

/** Reasons come from elsewhere, with or without a full stop. */
function withStop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
