import { otherAmountReason } from '../acquirers/bacen/charge.ts'
import { type RejectionCode, rejectedWithoutReason, rejections, writeRejection } from '../acquirers/bacen/spi-codes.ts'
import { type FreezeReason, payoutsFrozenMessage } from '../ledger/payout-freeze.ts'
import type { SuspenseStatus } from '../suspense/status.ts'
import { failureMessages } from '../transactions/status.ts'
import type { AttemptErrorCode } from '../webhooks/attempt-errors.ts'
import { returnedInPartMessage, returnedMessage } from '../withdrawals/settle.ts'

/**
 * Everything that can be said about a record: each sentence has a code and its data. Amounts are in cents. The command
 * line renders sentences in English and UTC (`english.ts`), the dashboard in its user's language and Brasília time.
 */
export type SentenceData<Moment = Date> = {
  /** The acquirer did not answer, so it is unknown whether the charge exists. */
  charge_unknown: { reason: Reason | null; at: Moment | null }
  charge_unpaid: { until: Moment | null }
  charge_expired: { at: Moment }
  /** A callback reported a payment; the acquirer is being asked, or has not confirmed it. */
  payment_reported: { isBeingConfirmed: boolean }
  unpaid_fails: { at: Moment }
  charge_failed: { reason: Reason | null }
  late_payment_counts: object
  paid: { amount: number; at: Moment | null; fee: number }
  refunded_in_part: { amount: number }
  refund_failed: { amount: number; reason: Reason | null }
  dispute_closed: object
  refund_unknown: { amount: number; at: Moment }
  refund_under_way: object
  refund_reserved: object
  refunded: { amount: number }
  attribution_reversed: { amount: number; suspensePaymentId: string }
  /** `amount` is null if the dispute itself is unknown. */
  disputed: { amount: number | null; since: Moment | null }
  decide_dispute: { transactionId: string }
  dispute_accepted: { amount: number | null }
  dispute_returned: { amount: number | null }
  /** The part of the payment that was neither returned after a dispute nor refunded. */
  dispute_left: { amount: number }
  paid_again: {
    amount: number
    acquirer: string
    endToEnd: string
    status: SuspenseStatus
    reason: Reason | null
  }
  withdrawal_over_limit: { amount: number }
  /** The database lost its last commits, so the withdrawal may have been sent before. */
  withdrawal_maybe_sent: { amount: number }
  withdrawal_like_another: { withdrawalId: string }
  decide_withdrawal: { withdrawalId: string }
  withdrawal_reserved: { amount: number }
  withdrawal_unknown: { amount: number; error: string | null; at: Moment | null }
  withdrawal_sent: { amount: number; at: Moment | null }
  withdrawal_failed: { amount: number; reason: Reason | null }
  withdrawal_canceled: { amount: number }
  withdrawal_rejected: { amount: number; reason: Reason | null }
  withdrawal_returned: { reason: Reason | null }
  payouts_stopped: { since: Moment; reasons: FreezeReason[] }
  acquirer_not_configured: { acquirer: string }
  /** The next automatic step of the service. `isLate`: its time has passed and nothing was done. */
  next: { step: NextStep; at: Moment; isLate: boolean }
  webhook_none: object
  webhook_nothing_yet: object
  /** `type` and `behind` are set if an earlier event of the record delays this one. */
  webhook_undelivered: { type: string | null; behind: string | null } & LastAttempt
  webhook_delivered: { at: Moment | null }
  webhook_refused: { type: string; eventId: string }
  webhook_given_up: { type: string; eventId: string } & Omit<LastAttempt, 'attempt'>
}

type LastAttempt = {
  /** Null before the first attempt. */
  attempt: number | null
  httpStatus: number | null
  error: string | null
  errorCode: AttemptErrorCode | null
}

export type NextStep =
  | 'check_charge'
  | 'check_expired_charge'
  | 'check_refund'
  | 'send_withdrawal'
  | 'check_withdrawal'
  | 'check_withdrawal_returned'
  | 'deliver'
  | 'deliver_again'

export type Sentence<Moment = Date> = {
  [Code in keyof SentenceData]: { code: Code; data: SentenceData<Moment>[Code] }
}[keyof SentenceData]

export function say<Code extends keyof SentenceData>(code: Code, data: SentenceData[Code]): Sentence {
  return { code, data } as Sentence
}

/** The service is probably not running when a step is later than this. */
const lateMs = 60_000

/** When the service takes this step; nothing if it does not do so automatically. */
export function sayNext(step: NextStep, { at, now }: { at: Date | null; now: Date }): Sentence[] {
  return at === null ? [] : [say('next', { step, at, isLate: now.getTime() - at.getTime() > lateMs })]
}

/** The sentence that the acquirer cannot be queried, instead of those that apply when it can. */
export function ifConfigured(
  { isConfigured, record }: { isConfigured: boolean; record: { acquirer: string } },
  otherwise: () => Sentence[],
): Sentence[] {
  return isConfigured ? otherwise() : [say('acquirer_not_configured', { acquirer: record.acquirer })]
}

/**
 * Why something failed. Records store the text in English. The code is null for a text that a PSP or a person wrote.
 */
export type Reason = { text: string; code: ReasonCode | null }

const ownReasons = {
  code_expired: failureMessages.expired,
  charge_removed: failureMessages.removed,
  charge_canceled: failureMessages.canceled,
  charge_of_other_amount: otherAmountReason,
  rejected_without_reason: rejectedWithoutReason,
  returned_by_receiver: returnedMessage,
  returned_in_part_by_receiver: returnedInPartMessage,
  payouts_frozen: payoutsFrozenMessage,
}

/** Sentences with data in them, such as the status of an answer. The first that matches is the reason. */
const patterns = {
  acquirer_not_configured: /^The acquirer \S+ is not configured any more/,
  acquirer_circuit_open: /^The acquirer did not answer lately/,
  acquirer_silent: /^The acquirer did not answer in time/,
  acquirer_not_reached: /^The acquirer could not be reached/,
  acquirer_refused: /^The acquirer (?:refused|is not available)/,
  acquirer_token_refused: /^The acquirer answered \d{3} to the request for a token/,
  acquirer_path_missing: /^The acquirer answered 404 because it has no such path/,
  acquirer_redirected: /^The acquirer answered \d{3} and points to/,
  acquirer_failed: /^The acquirer answered \d{3}$/,
  acquirer_unreadable: /^The acquirer (?:answered|accepted|began|has more)/,
  stopped: /^This operation was aborted$/,
}

export type ReasonCode = keyof typeof ownReasons | keyof typeof patterns | RejectionCode

const codes = new Map<string, ReasonCode>([
  ...(Object.keys(ownReasons) as (keyof typeof ownReasons)[]).map((code) => [ownReasons[code], code] as const),
  ...(Object.keys(rejections) as RejectionCode[]).map((code) => [writeRejection(code), code] as const),
])

export function toReason(text: string | null): Reason | null {
  if (text === null) return null
  const matching = (Object.keys(patterns) as (keyof typeof patterns)[]).find((code) => patterns[code].test(text))
  return { text, code: codes.get(text) ?? matching ?? null }
}
