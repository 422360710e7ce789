import { toFreezeReasons } from '../ledger/payout-freeze.ts'
import { describeDelivery } from './delivery.ts'
import type { Facts } from './facts.ts'
import { ifConfigured, type Sentence, say, sayNext, toReason } from './sentences.ts'
import type { WithdrawalRecord } from './store.ts'

type WithdrawalFacts = Facts<WithdrawalRecord>

/** Explains the status of a withdrawal, whether its webhook was delivered, and what happens next. */
export function describeWithdrawal(facts: WithdrawalFacts): Sentence[] {
  return [...describeStatus(facts), ...describeDelivery(facts)]
}

function describeStatus(facts: WithdrawalFacts): Sentence[] {
  const { record, now } = facts
  const { amount } = record
  const reason = toReason(record.error_message)
  switch (record.status) {
    case 'PENDING':
      return describePending(facts)
    case 'PROCESSING':
      return describeProcessing(facts)
    case 'PROCESSED':
      return [
        say('withdrawal_sent', { amount, at: record.processed_date }),
        ...ifConfigured(facts, () => sayNext('check_withdrawal_returned', { at: record.check_at, now })),
      ]
    case 'FAILED':
      return [say('withdrawal_failed', { amount, reason })]
    case 'CANCELED':
      return [say('withdrawal_canceled', { amount })]
    case 'REJECTED':
      return [say('withdrawal_rejected', { amount, reason })]
    case 'REFUNDED':
      return [say('withdrawal_returned', { reason })]
  }
}

function describePending(facts: WithdrawalFacts): Sentence[] {
  const { record, payoutFreeze, now } = facts
  const { id: withdrawalId, amount } = record
  switch (record.review_reason) {
    case 'approval':
      return [
        say(record.commits_lost_at === null ? 'withdrawal_over_limit' : 'withdrawal_maybe_sent', { amount }),
        say('decide_withdrawal', { withdrawalId }),
      ]
    case 'duplicate':
      return [say('withdrawal_like_another', { withdrawalId }), say('decide_withdrawal', { withdrawalId })]
    case null:
      return [
        say('withdrawal_reserved', { amount }),
        ...ifConfigured(facts, () =>
          payoutFreeze
            ? [
                say('payouts_stopped', {
                  since: payoutFreeze.engaged_at,
                  reasons: toFreezeReasons(payoutFreeze.reason),
                }),
              ]
            : sayNext('send_withdrawal', { at: record.check_at, now }),
        ),
      ]
  }
}

function describeProcessing(facts: WithdrawalFacts): Sentence[] {
  const { record, exchanges, now } = facts
  const last = exchanges.findLast(({ outcome }) => outcome === 'unknown' || outcome === 'error')
  return [
    say('withdrawal_unknown', { amount: record.amount, error: last?.error ?? null, at: last?.at ?? null }),
    ...ifConfigured(facts, () => sayNext('check_withdrawal', { at: record.check_at, now })),
  ]
}
