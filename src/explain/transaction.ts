import { toFreezeReasons } from '../ledger/payout-freeze.ts'
import { describeDelivery } from './delivery.ts'
import type { Facts } from './facts.ts'
import { ifConfigured, type Sentence, say, sayNext, toReason } from './sentences.ts'
import type { TransactionRecord } from './store.ts'

type TransactionFacts = Facts<TransactionRecord>

/** Explains the status of a transaction, whether its webhook was delivered, and what happens next. */
export function describeTransaction(facts: TransactionFacts): Sentence[] {
  return [...describeStatus(facts), ...describeDuplicates(facts), ...describeDelivery(facts)]
}

function describeStatus(facts: TransactionFacts): Sentence[] {
  const { record } = facts
  switch (record.status) {
    case 'PENDING':
      return describePending(facts)
    case 'PIX_QRCODE_GENERATED':
      return describeUnpaid(facts)
    case 'FAILED':
      return [say('charge_failed', { reason: toReason(record.error_message) }), say('late_payment_counts', {})]
    case 'PAID':
      return describePaid(facts)
    case 'PROCESSING_REFUND':
      return describeRefunding(facts)
    case 'REFUNDED':
      return describeReversal(facts) ?? [say('refunded', { amount: record.amount_paid ?? 0 })]
    default:
      return describeDispute(facts)
  }
}

function describePending(facts: TransactionFacts): Sentence[] {
  const { record, exchanges, now } = facts
  const last = exchanges.findLast(({ outcome }) => outcome === 'unknown' || outcome === 'error')
  return [
    say('charge_unknown', { reason: toReason(last?.error ?? null), at: last?.at ?? null }),
    ...ifConfigured(facts, () => sayNext('check_charge', { at: record.check_at, now })),
  ]
}

function describeUnpaid(facts: TransactionFacts): Sentence[] {
  const { record, notices, now } = facts
  const { pix_expires_at: expiresAt, check_at: at } = record
  const last = notices.at(-1)
  const reported = last ? [say('payment_reported', { isBeingConfirmed: last.state === 'received' })] : []
  if (expiresAt !== null && expiresAt <= now) {
    return [
      say('charge_expired', { at: expiresAt }),
      ...reported,
      ...ifConfigured(facts, () => sayNext('check_expired_charge', { at, now })),
    ]
  }
  return [
    say('charge_unpaid', { until: expiresAt }),
    ...reported,
    ...ifConfigured(facts, () => (at ? [say('unpaid_fails', { at })] : [])),
  ]
}

function describePaid({ record, refunds, disputes }: TransactionFacts): Sentence[] {
  const { amount_paid: amount, payment_date: at, fee_amount: fee } = record
  const refunded = sumOf(refunds.filter(({ status }) => status === 'REFUNDED'))
  const lastRefund = refunds.at(-1)
  const isDisputeOver = disputes.some(({ state }) => state === 'rejected' || state === 'canceled')
  return [
    say('paid', { amount: amount ?? 0, at, fee: fee ?? 0 }),
    ...(refunded > 0 ? [say('refunded_in_part', { amount: refunded })] : []),
    ...(lastRefund?.status === 'FAILED'
      ? [say('refund_failed', { amount: lastRefund.amount, reason: toReason(lastRefund.error_message) })]
      : []),
    ...(isDisputeOver ? [say('dispute_closed', {})] : []),
  ]
}

function describeRefunding(facts: TransactionFacts): Sentence[] {
  const { refunds, payoutFreeze, now } = facts
  const refund = refunds.find(({ status }) => status === 'PROCESSING')
  if (!refund) return [say('refund_under_way', {})]
  return [
    say('refund_unknown', { amount: refund.amount, at: refund.created_at }),
    say('refund_reserved', {}),
    ...ifConfigured(facts, () =>
      payoutFreeze
        ? [say('payouts_stopped', { since: payoutFreeze.engaged_at, reasons: toFreezeReasons(payoutFreeze.reason) })]
        : sayNext('check_refund', { at: refund.check_at, now }),
    ),
  ]
}

/**
 * A refund that reverses an attribution: the money is in suspense again, and the operator decides what happens to it.
 */
function describeReversal({ record, refunds }: TransactionFacts): Sentence[] | null {
  const id = refunds.find((refund) => refund.suspense_payment_id !== null)?.suspense_payment_id
  if (!id) return null
  return [say('attribution_reversed', { amount: record.amount_paid ?? 0, suspensePaymentId: id })]
}

/** A payment may have several disputes, and each may cover a part of it. */
function describeDispute({ record, disputes, refunds }: TransactionFacts): Sentence[] {
  const inDispute = (state: 'open' | 'accepted') => {
    const found = disputes.filter((one) => one.state === state)
    const amount = found.reduce((sum, one) => sum + one.amount - one.returned_amount, 0)
    return { amount: found.length === 0 ? null : amount, since: found[0]?.opened_at ?? null }
  }
  switch (record.status) {
    case 'BLOCKED':
      return [say('disputed', inDispute('open')), say('decide_dispute', { transactionId: record.id })]
    case 'PROCESSING_INFRACTION':
      return [say('dispute_accepted', { amount: inDispute('accepted').amount })]
    default: {
      const returned = disputes.reduce((sum, one) => sum + one.returned_amount, 0)
      const refunded = sumOf(refunds.filter(({ status }) => status === 'REFUNDED'))
      const left = (record.amount_paid ?? 0) - record.amount_returned - refunded
      return [
        say('dispute_returned', { amount: returned === 0 ? null : returned }),
        ...(left > 0 ? [say('dispute_left', { amount: left })] : []),
      ]
    }
  }
}

/** A duplicate payment is never credited automatically: its charge is already paid. */
function describeDuplicates({ duplicates }: TransactionFacts): Sentence[] {
  return duplicates.map(({ end_to_end: endToEnd, error_message: error, acquirer, amount, status }) =>
    say('paid_again', { amount, acquirer, endToEnd, status, reason: toReason(error) }),
  )
}

function sumOf(parts: { amount: number }[]): number {
  return parts.reduce((sum, { amount }) => sum + amount, 0)
}
