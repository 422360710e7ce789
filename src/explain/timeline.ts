import { theOperator } from '../audit/record.ts'
import { inReais } from '../lib/money.ts'
import { type AttemptErrorCode, toAttemptErrorCode } from '../webhooks/attempt-errors.ts'
import type { Facts } from './facts.ts'
import { type Reason, toReason } from './sentences.ts'
import type { DisputeRecord, RefundRecord, TransferRecord, WithdrawalRecord } from './store.ts'

const kinds: (keyof TimelineData)[] = [
  'request',
  'operator',
  'callback',
  'acquirer',
  'refund',
  'dispute',
  'status',
  'ledger',
  'delivery',
]

/** The data of each kind of entry. Amounts are in cents. */
export type TimelineData = {
  request: {
    type: 'transaction' | 'withdrawal'
    clientId: string
    clientName: string
    amount: number
    externalCode: string | null
    pixKeyType: string | null
    hold: WithdrawalRecord['review_reason']
  }
  operator: { actor: string; action: string; details: Record<string, unknown> | null }
  callback: { step: 'received' | 'finished'; acquirer: string; endToEnd: string; state: string }
  acquirer: { acquirer: string; operation: string; outcome: string; reason: Reason | null; durationMs: number }
  refund: {
    /** `reversed`: an attribution was reversed, so the money returned to suspense. */
    step: 'requested' | 'sent' | 'refused' | 'reversed'
    id: string
    amount: number
    status: RefundRecord['status']
    reason: Reason | null
  }
  dispute: {
    step: 'opened' | DisputeRecord['state']
    id: string
    amount: number
    state: DisputeRecord['state']
  }
  status: { status: string; reason: Reason | null }
  ledger: Pick<TransferRecord, 'kind' | 'debit' | 'credit' | 'amount'> & { eventKey: string }
  delivery: {
    eventId: string
    type: string
    attempt: number
    status: number | null
    error: string | null
    errorCode: AttemptErrorCode | null
    durationMs: number
  }
}

/** One event of the timeline: `what` in English for the command line, `data` for programs and the dashboard. */
export type TimelineEntry<Moment = Date> = {
  [Kind in keyof TimelineData]: { at: Moment; kind: Kind; what: string; data: TimelineData[Kind] }
}[keyof TimelineData]

/** The events of a record in order. Within the same millisecond, causes come before effects. */
export function toTimeline(facts: Facts, isForMerchant = false): TimelineEntry[] {
  const entries = [
    toRequest(facts),
    ...toOperatorEntries(facts, isForMerchant),
    ...toCallbackEntries(facts),
    ...toAcquirerEntries(facts),
    ...toRefundEntries(facts),
    ...toDisputeEntries(facts),
    ...toStatusEntries(facts),
    ...toLedgerEntries(facts),
    ...toDeliveryEntries(facts),
  ]
  return entries.toSorted(
    (left, right) => left.at.getTime() - right.at.getTime() || kinds.indexOf(left.kind) - kinds.indexOf(right.kind),
  )
}

function toRequest({ record }: Facts): TimelineEntry {
  const { type, client_id: clientId, client_name: clientName, amount, external_code: externalCode } = record
  const isWithdrawal = type === 'withdrawal'
  const request = record.type === 'transaction' ? 'a charge' : `a withdrawal to a PIX key (${record.pix_key_type})`
  const code = record.external_code === null ? '' : `, external code ${record.external_code}`
  const review =
    record.type === 'withdrawal' && record.initial_review_reason
      ? `; pending review: ${record.initial_review_reason}`
      : ''
  return {
    at: record.created_at,
    kind: 'request',
    what: `${record.client_name} requested ${request} of ${inReais(record.amount)}${code}${review}`,
    data: {
      ...{ type, clientId, clientName, amount, externalCode },
      pixKeyType: isWithdrawal ? record.pix_key_type : null,
      hold: isWithdrawal ? record.initial_review_reason : null,
    },
  }
}

/**
 * A merchant’s user sees the names of the merchant’s own users. Instead of the operator’s users it sees "operator",
 * with the text that was written for the merchant and no other details.
 */
function toOperatorEntries({ actions, merchantActors }: Facts, isForMerchant: boolean): TimelineEntry[] {
  return actions.map(({ at, action, ...found }) => {
    const isHidden = isForMerchant && !merchantActors.includes(found.actor)
    const actor = isHidden ? theOperator : found.actor
    const details = isHidden && action !== 'withdrawal.reject' ? null : found.details
    const reason = typeof details?.reason === 'string' ? `: ${details.reason}` : ''
    return { at, kind: 'operator', what: `${actor} ${action}${reason}`, data: { actor, action, details } }
  })
}

function toCallbackEntries({ notices }: Facts): TimelineEntry[] {
  const ends = {
    received: '',
    settled: 'settled: the acquirer confirmed it',
    unconfirmed: 'had no effect: the acquirer did not confirm it',
    unmatched: 'had no effect: no transaction here has this payment',
  }
  return notices.flatMap(({ acquirer, end_to_end: endToEnd, state, received_at, finished_at }) => {
    const data = { acquirer, endToEnd, state }
    const reported: TimelineEntry = {
      at: received_at,
      kind: 'callback',
      what: `${acquirer} reported ${endToEnd}`,
      data: { ...data, step: 'received' },
    }
    const done: TimelineEntry[] = finished_at
      ? [
          {
            at: finished_at,
            kind: 'callback',
            what: `the callback of ${endToEnd} ${ends[state]}`,
            data: { ...data, step: 'finished' },
          },
        ]
      : []
    return [reported, ...done]
  })
}

const questions: Record<string, string> = {
  createCharge: 'was asked for a charge',
  findCharge: 'was asked for the charge',
  removeCharge: 'was asked to remove the charge',
  findPayment: 'was asked for the payment',
  refund: 'was asked to refund',
  findRefund: 'was asked about the refund',
  preparePayout: 'was asked for its id of the payout',
  sendPayout: 'was asked to send',
  findPayout: 'was asked about the payout',
}

const answers = {
  refused: 'it refused',
  found: 'found',
  nothing: 'not found',
  processing: 'in progress',
  done: 'done',
  unknown: 'no answer, so the outcome is unknown',
  error: 'internal error',
}

function toAcquirerEntries({ exchanges }: Facts): TimelineEntry[] {
  return exchanges.map(({ at, acquirer, operation, outcome, error, duration_ms: durationMs }) => ({
    at,
    kind: 'acquirer',
    what: `${acquirer} ${questions[operation] ?? operation}: ${answers[outcome]}${error ? ` (${error})` : ''}, ${durationMs} ms`,
    data: { acquirer, operation, outcome, reason: toReason(error), durationMs },
  }))
}

function toRefundEntries({ refunds }: Facts): TimelineEntry[] {
  return refunds.flatMap((refund) => {
    const { id, amount, status, error_message: error, created_at, finished_at, suspense_payment_id: undone } = refund
    const data = { id, amount, status, reason: toReason(error) }
    const reais = inReais(amount)
    if (undone !== null)
      return [
        {
          at: created_at,
          kind: 'refund',
          what: `the attribution was reversed: ${reais} returned to suspense`,
          data: { ...data, step: 'reversed' },
        },
      ]
    const requested: TimelineEntry = {
      at: created_at,
      kind: 'refund',
      what: `${reais} requested`,
      data: { ...data, step: 'requested' },
    }
    const ended = status === 'REFUNDED' ? 'returned' : `refused: ${error ?? 'no reason was given'}`
    if (!finished_at) return [requested]
    const step = status === 'REFUNDED' ? 'sent' : 'refused'
    return [requested, { at: finished_at, kind: 'refund', what: `${reais} ${ended}`, data: { ...data, step } }]
  })
}

function toDisputeEntries({ disputes }: Facts): TimelineEntry[] {
  return disputes.flatMap(({ id, amount, state, opened_at, decided_at, finished_at }) => {
    const data = { id, amount, state }
    const entry = (at: Date, step: TimelineData['dispute']['step']): TimelineEntry => ({
      at,
      kind: 'dispute',
      what: `of ${inReais(amount)} ${step}`,
      data: { ...data, step },
    })
    // A dispute that was accepted may still end otherwise: then the acceptance is earlier than the end.
    const followsAcceptance = state === 'accepted' || state === 'returned'
    const wasAccepted = decided_at !== null && (followsAcceptance || (finished_at !== null && decided_at < finished_at))
    return [
      entry(opened_at, 'opened'),
      ...(wasAccepted ? [entry(decided_at, 'accepted')] : []),
      ...(finished_at ? [entry(finished_at, state)] : []),
    ]
  })
}

function toStatusEntries({ record }: Facts): TimelineEntry[] {
  const { statuses, status_dates: dates, error_message: error } = record
  return statuses.map((status, index) => ({
    at: dates[index] ?? record.created_at,
    kind: 'status',
    what: index === statuses.length - 1 && error !== null ? `${status}: ${error}` : status,
    data: { status, reason: index === statuses.length - 1 ? toReason(error) : null },
  }))
}

function toLedgerEntries({ transfers }: Facts): TimelineEntry[] {
  return transfers.map(({ created_at, kind, debit, credit, amount, event_key: eventKey }) => ({
    at: created_at,
    kind: 'ledger',
    what: `${kind} ${inReais(amount)}, ${debit} → ${credit}`,
    data: { kind, debit, credit, amount, eventKey },
  }))
}

/** The origin only: path and query may contain a secret. */
function toDeliveryEntries({ deliveries }: Facts): TimelineEntry[] {
  return deliveries.flatMap(({ event_id: eventId, type, url, attempts }) =>
    attempts.map(({ number, started_at, duration_ms: durationMs, status, error }) => ({
      at: started_at,
      kind: 'delivery' as const,
      what: `${type} to ${new URL(url).origin}: ${status ?? error ?? 'no answer'}, attempt ${number}, ${durationMs} ms`,
      data: { eventId, type, attempt: number, status, error, errorCode: toAttemptErrorCode(error), durationMs },
    })),
  )
}
