import { inReais } from '../lib/money.ts'
import type { NextStep, Sentence, SentenceData } from './sentences.ts'

/** Renders sentences for the command line, in English with times in UTC. */
export function toEnglish(sentences: Sentence[], now: Date): string {
  return sentences.map((sentence) => toSentence(sentence, createTexts(now))).join(' ')
}

function toSentence({ code, data }: Sentence, texts: Texts): string {
  // The type system cannot see that code and data belong together when the table is indexed by a variable.
  return (texts[code] as (data: Sentence['data']) => string)(data)
}

type Texts = { [Code in keyof SentenceData]: (data: SentenceData[Code]) => string }

function createTexts(now: Date): Texts {
  const time = (at: Date) => atTime(at, now)
  return {
    charge_unknown: ({ reason, at }) =>
      `the acquirer did not answer${reason && at ? ` (${reason.text}, at ${time(at)})` : ''}, so it is unknown whether the charge exists.`,
    charge_unpaid: ({ until }) => `not paid yet; the QR code is valid until ${until ? time(until) : 'it expires'}.`,
    charge_expired: ({ at }) => `the QR code expired at ${time(at)} and no payment is known.`,
    payment_reported: ({ isBeingConfirmed }) =>
      isBeingConfirmed
        ? 'A callback reported a payment, and Guichê is checking it with the acquirer.'
        : 'A callback reported a payment, but the acquirer does not confirm it.',
    unpaid_fails: ({ at }) =>
      `Without a payment it fails soon after ${time(at)}, after a last check with the acquirer.`,
    charge_failed: ({ reason }) => withStop(reason?.text ?? 'the acquirer gave no reason'),
    late_payment_counts: () => 'A payment that still arrives is credited.',
    paid: ({ amount, at, fee }) =>
      `${inReais(amount)} arrived at ${at ? time(at) : 'an unknown time'}${fee > 0 ? `; the fee is ${inReais(fee)}` : ''}.`,
    refunded_in_part: ({ amount }) => `${inReais(amount)} of it was refunded.`,
    refund_failed: ({ amount, reason }) =>
      `The last refund, of ${inReais(amount)}, was refused: ${withStop(reason?.text ?? 'no reason was given')}`,
    dispute_closed: () => 'It was disputed; the dispute was rejected or canceled.',
    refund_unknown: ({ amount, at }) =>
      `a refund of ${inReais(amount)} was requested at ${time(at)}, and its outcome is not yet known.`,
    refund_under_way: () => 'a refund is in progress.',
    refund_reserved: () => 'The amount is reserved.',
    refunded: ({ amount }) => `all of the ${inReais(amount)} was returned to the payer.`,
    attribution_reversed: ({ amount, suspensePaymentId }) =>
      `the attribution was reversed: the payment was not for this transaction, and its ${inReais(amount)} returned to suspense; see \`npx guiche suspense show ${suspensePaymentId}\`.`,
    disputed: ({ amount, since }) =>
      `the payer's bank disputes ${inReaisOr(amount)}${since ? `, since ${time(since)}` : ''}; the amount is blocked until the dispute is decided.`,
    decide_dispute: ({ transactionId }) =>
      `If the acquirer does not report the decision, enter it: \`npx guiche infraction accept | reject --transaction ${transactionId}\`.`,
    dispute_accepted: ({ amount }) =>
      `the dispute of ${inReaisOr(amount)} was accepted; the amount stays blocked until the acquirer reports its return.`,
    dispute_returned: ({ amount }) => `${inReaisOr(amount)} was returned to the payer after a dispute.`,
    dispute_left: ({ amount }) => `The remaining ${inReais(amount)} can still be refunded or disputed.`,
    paid_again: ({ amount, acquirer, endToEnd, status, reason }) => {
      const what = `It was paid again: ${inReais(amount)} at ${acquirer} (${endToEnd})`
      if (status === 'returned') return `${what}; the duplicate was returned to the payer.`
      if (status === 'returning') return `${what}; the duplicate is being returned.`
      if (status === 'matched') return `${what}; the duplicate was attributed to another transaction.`
      return `${what}; the duplicate is in suspense${reason ? `, because its return failed (${reason.text})` : ''}; see \`npx guiche suspense\`.`
    },
    withdrawal_over_limit: ({ amount }) =>
      `${inReais(amount)} is more than may be sent without the operator's approval.`,
    withdrawal_maybe_sent: ({ amount }) =>
      `the database has lost its last commits or was restored, so ${inReais(amount)} may have been sent already: look it up at the acquirer first.`,
    withdrawal_like_another: ({ withdrawalId }) =>
      `it looks like a duplicate of a recent withdrawal of the same amount to the same key, and is pending review until the merchant confirms it (POST /withdrawal/${withdrawalId}/confirm) or the operator decides.`,
    decide_withdrawal: ({ withdrawalId }) =>
      `\`npx guiche withdrawal approve ${withdrawalId}\` sends it, \`npx guiche withdrawal reject ${withdrawalId} --reason …\` returns the money to the balance.`,
    withdrawal_reserved: ({ amount }) => `${inReais(amount)} and its fee are reserved, and nothing has been sent yet.`,
    withdrawal_unknown: ({ amount, error, at }) =>
      `the acquirer was asked to send ${inReais(amount)}, and the outcome is not yet known${error && at ? ` (last: ${error}, at ${time(at)})` : ''}; the money stays reserved until it is known.`,
    withdrawal_sent: ({ amount, at }) => `${inReais(amount)} was sent at ${at ? time(at) : 'an unknown time'}.`,
    withdrawal_failed: ({ amount, reason }) =>
      `nothing was sent, and ${inReais(amount)} and its fee are back in the balance: ${withStop(reason?.text ?? 'the acquirer gave no reason')}`,
    withdrawal_canceled: ({ amount }) =>
      `the merchant canceled it before it was sent, and ${inReais(amount)} and its fee are back in the balance.`,
    withdrawal_rejected: ({ amount, reason }) =>
      `it was rejected before it was sent, and ${inReais(amount)} and its fee are back in the balance: ${withStop(reason?.text ?? 'no reason was given')}`,
    withdrawal_returned: ({ reason }) =>
      `${withStop(reason?.text ?? 'the receiver sent the money back')} The fee is kept.`,
    payouts_stopped: ({ since, reasons }) =>
      `Payouts and refunds are frozen since ${time(since)}${reasons.length === 0 ? '' : ` (${reasons.map(({ text }) => text).join(' ')})`}; \`npx guiche ledger release\` ends the freeze.`,
    acquirer_not_configured: ({ acquirer }) =>
      `Its acquirer ${acquirer} is not configured, so Guichê cannot query it: configure it again, without a route if it should get no new charges.`,
    next: ({ step, at, isLate }) => {
      const [who, what] = steps[step]
      return isLate
        ? `${who} was due to be ${what} at ${time(at)} but has not been. Check that the service is running.`
        : `${who} is ${what} at ${time(at)}.`
    },
    webhook_none: () => 'No webhook: it was created without a webhookUrl.',
    webhook_nothing_yet: () => 'No webhook event is due yet.',
    webhook_undelivered: ({ type, behind, attempt, ...last }) => {
      const what = type === null ? 'The webhook' : `The webhook ${type} waits for ${behind}, which`
      if (attempt === null) return `${what} has not been delivered yet.`
      return `${what} has not been delivered yet: ${describeOutcome(last)} at attempt ${attempt}.`
    },
    webhook_delivered: ({ at }) => (at ? `The webhook was delivered at ${time(at)}.` : 'The webhook was delivered.'),
    webhook_refused: ({ type, eventId }) =>
      `The webhook ${type} was not delivered: the receiver answered 410, which means that it wants no more events. ${again(eventId)}`,
    webhook_given_up: ({ type, eventId, ...last }) =>
      `The webhook ${type} was not delivered: all attempts failed; at the last one, ${describeOutcome(last)}. ${again(eventId)}`,
  }
}

const steps: Record<NextStep, [who: string, what: string]> = {
  check_charge: ['The acquirer', 'asked again'],
  check_expired_charge: ['The acquirer', 'asked for the last time'],
  check_refund: ['The acquirer', 'asked about it'],
  send_withdrawal: ['It', 'sent'],
  check_withdrawal: ['The acquirer', 'asked again'],
  check_withdrawal_returned: ['The acquirer', 'asked whether the receiver returned the money'],
  deliver: ['It', 'sent'],
  deliver_again: ['The delivery', 'tried again'],
}

function inReaisOr(amount: number | null): string {
  return amount === null ? 'the payment' : inReais(amount)
}

function again(eventId: string): string {
  return `POST /webhook/delivery/${eventId}/resend sends it again.`
}

function describeOutcome({ httpStatus, error }: { httpStatus: number | null; error: string | null }): string {
  if (httpStatus !== null) return `the receiver answered ${httpStatus}`
  return error === null ? 'the receiver did not answer' : error.charAt(0).toLowerCase() + error.slice(1)
}

/** A time in UTC to the second, with the date only if it is not today. */
function atTime(date: Date, now: Date): string {
  const [day, time] = date.toISOString().split('T')
  const seconds = time?.slice(0, 8) ?? ''
  return day === now.toISOString().slice(0, 10) ? seconds : `${day} ${seconds}`
}

/** Reasons come from other systems, with or without a full stop. */
function withStop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
