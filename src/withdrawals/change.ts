import type { Tx } from '../db/sql.ts'
import type { Balances } from '../ledger/accounts.ts'
import { post, type Transfer } from '../ledger/post.ts'
import { released, returned, sent } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import { enqueueEvents, type NewEvent } from '../webhooks/outbox.ts'
import { type WithdrawalStatus, withdrawalTransitions } from './status.ts'
import { type Changeable, type Settable, updateReturned, updateWithdrawal, type WithdrawalRow } from './store.ts'

export type Change = {
  to: WithdrawalStatus
  now: Date
  checkAt: Date | null
  set: Settable
  /** The amount that the receiver sent back. */
  returnedAmount?: number
}

/**
 * Moves a locked withdrawal to another status: row, history, event and ledger transfers, in the caller's commit.
 * Every status change goes through here, so none happens without its transfers.
 */
export async function changeStatus(tx: Tx, row: WithdrawalRow, change: Change): Promise<WithdrawalRow> {
  assert(
    withdrawalTransitions[row.status].includes(change.to),
    `a withdrawal may move from ${row.status} to ${change.to}`,
  )
  // The clocks of several machines differ a little, but the dates of a history must never decrease.
  const last = row.status_dates.at(-1)
  const at = last && last > change.now ? last : change.now
  const changed = await updateWithdrawal(tx, row, { ...change, at })
  assert(changed, 'a locked withdrawal is unchanged since it was read')
  enqueueEvents(tx, [toEvent(changed)])
  const money = moneyOf(changed, change.returnedAmount ?? 0)
  if (money) await postMoney(tx, row, money, at)
  return changed
}

/**
 * More of a REFUNDED withdrawal was returned: the money becomes the merchant's, the status and its history stay, and
 * no event is sent.
 */
export async function addReturned(
  tx: Tx,
  row: WithdrawalRow,
  change: Omit<Change, 'to'> & { returnedAmount: number; returnedInAll: number },
): Promise<WithdrawalRow> {
  const changed = await updateReturned(tx, row, change)
  assert(changed, 'a locked withdrawal is unchanged since it was read')
  // The event’s name has the sum returned so far, which grows with each part. The parts’ own identifiers may be equal.
  const event = `returned:${change.returnedInAll}`
  await postMoney(tx, row, { event, transfers: returned(change.returnedAmount) }, change.now)
  return changed
}

async function postMoney(tx: Tx, row: WithdrawalRow, money: Money, now: Date): Promise<void> {
  await post(tx, {
    merchantId: row.merchant_id,
    eventKey: `withdrawal:${row.id}:${money.event}`,
    recordType: 'withdrawal',
    recordId: row.id,
    acquirer: row.acquirer,
    now,
    transfers: money.transfers,
  })
}

type Money = { event: string; transfers: (balances: Balances) => Transfer[] }

/** The transfers of a status. The money was reserved when the withdrawal was created. */
function moneyOf({ status, amount, fee_amount: fee }: WithdrawalRow, returnedAmount: number): Money | null {
  switch (status) {
    case 'PENDING':
    case 'PROCESSING':
      return null
    case 'PROCESSED':
      return { event: 'sent', transfers: sent('withdrawal_sent', amount, fee) }
    case 'FAILED':
    case 'CANCELED':
    case 'REJECTED':
      return { event: 'released', transfers: released('withdrawal_released', amount, fee) }
    case 'REFUNDED':
      assert(returnedAmount > 0, 'a REFUNDED withdrawal has a returned amount')
      return { event: 'returned', transfers: returned(returnedAmount) }
  }
}

/**
 * The event of a withdrawal's last status change. Its number begins at 1, because the creation (PENDING) sends no
 * event.
 */
function toEvent(row: WithdrawalRow): NewEvent {
  const occurredAt = row.status_dates.at(-1)
  assert(occurredAt, 'a withdrawal has a history')
  return {
    merchantId: row.merchant_id,
    recordType: 'withdrawal',
    recordId: row.id,
    sequence: row.statuses.length - 1,
    status: row.status,
    occurredAt,
    snapshot: toSnapshot(row),
    webhookUrl: row.webhook_url,
  }
}

/** The mutable fields of a withdrawal, as they are now. */
function toSnapshot(row: WithdrawalRow): Changeable {
  const { statuses, status_dates, amount_withdrawn, processed_date, error_message, end_to_end, end_to_end_refund } = row
  const { payer, receiver } = row
  return {
    statuses,
    status_dates,
    amount_withdrawn,
    processed_date,
    error_message,
    end_to_end,
    end_to_end_refund,
    payer,
    receiver,
  }
}

/** A snapshot after a round trip through JSON: dates are text. */
type Snapshot = Omit<Changeable, 'status_dates' | 'processed_date'> & {
  status_dates: string[]
  processed_date: string | null
}

/**
 * The row as it was when the event with this snapshot was written. After any status change it is no longer pending
 * review.
 */
export function versionAt(row: WithdrawalRow, snapshot: unknown): WithdrawalRow {
  const then = snapshot as Snapshot
  const status = then.statuses.at(-1)
  assert(status, 'a snapshot has a history')
  return {
    ...row,
    ...then,
    status_dates: then.status_dates.map((text) => new Date(text)),
    processed_date: then.processed_date === null ? null : new Date(then.processed_date),
    status,
    review_reason: null,
  }
}
