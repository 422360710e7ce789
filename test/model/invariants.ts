import { findPayoutFreeze } from '../../src/ledger/store.ts'
import { failureMessages } from '../../src/transactions/status.ts'
import { findBreaches } from '../../src/verification.ts'
import { findAccountFaults } from './accounts.ts'
import { feeBy, feeReturnedBy } from './memory.ts'
import { readAll, type Seen, sum } from './read.ts'
import type { World } from './world.ts'

/**
 * Every transition in docs/statuses.md, written down independently, so that a mistake in the service's own table shows.
 */
const moves: Record<string, string[]> = {
  PENDING: ['PIX_QRCODE_GENERATED', 'FAILED', 'PROCESSING', 'CANCELED', 'REJECTED'],
  PIX_QRCODE_GENERATED: ['PAID', 'FAILED'],
  FAILED: ['PAID'],
  PAID: ['PROCESSING_REFUND', 'BLOCKED', 'INFRACTION'],
  PROCESSING_REFUND: ['REFUNDED', 'PAID', 'BLOCKED', 'INFRACTION'],
  REFUNDED: ['INFRACTION'],
  BLOCKED: ['PROCESSING_INFRACTION', 'PAID', 'PROCESSING_REFUND', 'INFRACTION'],
  PROCESSING_INFRACTION: ['INFRACTION', 'PAID', 'PROCESSING_REFUND', 'BLOCKED'],
  INFRACTION: ['BLOCKED', 'PROCESSING_REFUND'],
  PROCESSING: ['PROCESSED', 'FAILED'],
  PROCESSED: ['REFUNDED'],
}

/** Checks everything that must hold after any step, whatever was interrupted. Returns the violations as sentences. */
export async function findFaults(world: World): Promise<string[]> {
  const seen = await readAll(world.db, world.clock.now())
  const breaches = (await findBreaches(world.db)).map(({ rule, detail }) => `the verifier: ${rule}: ${detail}`)
  return [
    ...breaches,
    ...findPaymentFaults(world, seen),
    ...findRefundFaults(world, seen),
    ...findWithdrawalFaults(world, seen),
    ...findDisputeFaults(seen),
    ...findAccountFaults(world, seen),
    ...findHistoryFaults(world, seen),
    ...(await findPayoutFreezeFaults(world, seen)),
    ...world.errors.flatMap(({ message }) => (message.startsWith('Broken invariant') ? [message] : [])),
  ]
}

function findPaymentFaults({ memory }: World, { transactions, bank }: Seen): string[] {
  const credited = transactions.filter(({ end_to_end }) => end_to_end !== null)
  const twice = credited.filter(
    (one, index) => credited.findIndex((other) => other.end_to_end === one.end_to_end) < index,
  )
  return [
    ...twice.map(({ end_to_end }) => `payment ${end_to_end} is credited twice`),
    ...transactions
      .filter(
        (row) =>
          row.status === 'FAILED' &&
          row.pix_uri !== null &&
          row.error_message === failureMessages.canceled &&
          row.is_payable,
      )
      .map(({ id }) => `transaction ${id} is canceled, and the bank still lets it be paid`),
    ...credited.flatMap((row) => {
      const pix = bank.pix.find(({ end_to_end_id }) => end_to_end_id === row.end_to_end)
      if (pix?.txid !== row.txid || pix.amount !== row.amount_paid)
        return [`transaction ${row.id} is paid with ${row.amount_paid}, and the bank has ${pix?.amount ?? 'nothing'}`]
      const at = row.status_dates[row.statuses.indexOf('PAID')] ?? new Date(0)
      const fee = Math.min(pix.amount, feeBy(memory.rules, row.merchant_id, 'transaction', pix.amount, at))
      return fee === row.fee_amount ? [] : [`transaction ${row.id} has a fee of ${row.fee_amount}, not ${fee}`]
    }),
  ]
}

function findRefundFaults({ memory }: World, { transactions, refunds, bank }: Seen): string[] {
  const sent = bank.returns.filter(({ nature }) => nature === 'ORIGINAL')
  const endToEndOf = new Map(transactions.map(({ id, end_to_end }) => [id, end_to_end]))
  const returnedBy = ({ transaction_id: id, amount, created_at: at }: Seen['refunds'][number]) => {
    const payment = transactions.find((one) => one.id === id)
    const former = refunds.filter(
      (one) => one.transaction_id === id && one.status === 'REFUNDED' && one.created_at < at,
    )
    const before = sum(former, (one) => one.amount)
    return payment ? feeReturnedBy(memory.rules, payment, { amount, before, at }) : 0
  }
  return [
    ...refunds.flatMap((row) => {
      const atBank = sent.find(({ id }) => id === row.payout)
      const fee = feeBy(memory.rules, row.merchant_id, 'refund', row.amount, row.created_at)
      if (fee !== row.fee_amount) return [`refund ${row.id} has a fee of ${row.fee_amount}, not ${fee}`]
      const returned = returnedBy(row)
      if (returned !== row.fee_returned)
        return [`refund ${row.id} brings ${row.fee_returned} of a fee back, not ${returned}`]
      const isDone = atBank?.is_settled === true && atBank.rejection === null
      if (row.status === 'REFUNDED' && !isDone) return [`refund ${row.id} is REFUNDED and has not left the bank`]
      if (row.status === 'FAILED' && atBank && !(atBank.is_settled && atBank.rejection !== null))
        return [`refund ${row.id} is FAILED and left the bank`]
      return []
    }),
    ...sent.flatMap(({ id, end_to_end_id, amount }) => {
      const row = refunds.find(({ payout }) => payout === id)
      const isOurs = row?.amount === amount && endToEndOf.get(row.transaction_id) === end_to_end_id
      return isOurs ? [] : [`the bank sent a return ${id} of ${amount} that nobody asked for`]
    }),
  ]
}

function findWithdrawalFaults({ memory }: World, { withdrawals, bank }: Seen): string[] {
  return [
    ...withdrawals.flatMap((row) => {
      const atBank = bank.payouts.find(({ id }) => id === row.payout)
      const fee = feeBy(memory.rules, row.merchant_id, 'withdrawal', row.amount, row.created_at)
      if (fee !== row.fee_amount) return [`withdrawal ${row.id} has a fee of ${row.fee_amount}, not ${fee}`]
      const isDone = atBank?.is_settled === true && atBank.rejection === null
      if (/^(?:PROCESSED|REFUNDED)$/.test(row.status) && !isDone)
        return [`withdrawal ${row.id} is ${row.status} and has not left the bank`]
      if (row.status === 'FAILED' && atBank && !(atBank.is_settled && atBank.rejection !== null))
        return [`withdrawal ${row.id} is FAILED and left the bank`]
      if (/^(?:PENDING|CANCELED|REJECTED)$/.test(row.status) && atBank)
        return [`withdrawal ${row.id} is ${row.status} and was sent`]
      if (row.returned > (atBank?.returned ?? 0)) return [`withdrawal ${row.id} got more back than its receiver sent`]
      return []
    }),
    ...bank.payouts.flatMap(({ id, amount, pix_key }) => {
      const row = withdrawals.find(({ payout }) => payout === id)
      if (row?.amount !== amount || row.pix_key !== pix_key)
        return [`the bank sent a payout ${id} that nobody asked for`]
      return memory.mayBeSent.has(row.id) ? [] : [`withdrawal ${row.id} was sent although it was pending review`]
    }),
  ]
}

function findDisputeFaults({ transactions, disputes, bank }: Seen): string[] {
  return transactions.flatMap((row) => {
    const posted = disputes.filter((one) => one.transaction_id === row.id)
    const returned = bank.returns.filter(
      (one) => one.end_to_end_id === row.end_to_end && one.nature !== 'ORIGINAL' && one.is_settled,
    )
    const isMore = sum(posted, (one) => one.returned_amount) > sum(returned, ({ amount }) => amount)
    return isMore ? [`transaction ${row.id} has more returned under MED than the bank`] : []
  })
}

function findHistoryFaults({ memory }: World, { transactions, withdrawals, events }: Seen): string[] {
  const counts = new Map(events.map(({ record_id, count, last }) => [record_id, { count, last }]))
  return [...transactions, ...withdrawals].flatMap(({ id, statuses }) => {
    const before = memory.histories.get(id) ?? ['PENDING']
    memory.histories.set(id, statuses)
    const faults: string[] = []
    if (before.some((status, index) => statuses[index] !== status)) faults.push(`the past of ${id} was rewritten`)
    const wrong = statuses.slice(1).findIndex((to, index) => !moves[statuses[index] ?? '']?.includes(to))
    if (wrong >= 0) faults.push(`${id} moved from ${statuses[wrong]} to ${statuses[wrong + 1]}`)
    const { count, last } = counts.get(id) ?? { count: 0, last: 0 }
    const changes = statuses.length - 1
    if (count !== changes || last !== changes) faults.push(`${id} has ${count} events for ${changes} changes`)
    return faults
  })
}

/**
 * Money leaves only while payouts are not frozen, and only the model freezes them: the service's own verification finds
 * nothing.
 */
async function findPayoutFreezeFaults({ memory, db }: World, { bank }: Seen): Promise<string[]> {
  const payoutFreeze = await findPayoutFreeze(db)
  const left = countSent(bank)
  return [
    ...((payoutFreeze !== null) === memory.isFrozen
      ? []
      : [`payouts are ${payoutFreeze ? `frozen: ${payoutFreeze.reason}` : 'not frozen'}`]),
    ...(memory.isFrozen && left > memory.sentBeforeFreeze ? ['money left during the payout freeze'] : []),
  ]
}

/** How many payouts and refunds the bank has accepted. */
export function countSent({ payouts, returns }: Seen['bank']): number {
  return payouts.length + returns.filter(({ nature }) => nature === 'ORIGINAL').length
}
