import type { Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { together } from '../lib/at-once.ts'
import { enqueueEvents, type NewEvent } from '../webhooks/outbox.ts'
import { mayMove } from './status.ts'
import {
  type Change,
  type Changeable,
  type ChangedTransaction,
  type LockedTransaction,
  type NewTransaction,
  nothingListed,
  type TransactionRow,
  toChanged,
  updateTransactions,
} from './store.ts'

/** Moves one locked transaction to another status, as {@link changeStatuses} does. */
export async function changeStatus(
  tx: Tx,
  row: LockedTransaction,
  change: Omit<Move, 'row'>,
): Promise<ChangedTransaction> {
  const [changed] = await changeStatuses(tx, [{ ...change, row }])
  assert(changed, 'what was changed is given back')
  return changed
}

export type Move = Omit<Change, 'at'> & { now: Date }

/**
 * Moves locked transactions to other statuses: the rows, their histories and the events, in the caller's commit. There is no other way
 * for a status to change.
 */
export async function changeStatuses(tx: Tx, moves: Move[]): Promise<ChangedTransaction[]> {
  if (moves.length === 0) return []
  const changes = moves.map(({ now, ...change }) => {
    const { row, to } = change
    assert(mayMove(row.status, to), `a transaction may move from ${row.status} to ${to}`)
    // Clocks of several machines differ a little; a history never runs backwards.
    const last = row.status_dates.at(-1)
    return { ...change, at: last && last > now ? last : now }
  })
  const enqueue = async (rows: ChangedTransaction[]) =>
    await enqueueEvents(
      tx,
      rows.map((row) => toEvent(row, toSnapshot(row))),
    )
  // What was never paid has no refunds to be read: its events go on their way together with it.
  if (moves.every(({ row }) => row.end_to_end === null)) {
    const changed = changes.map((change) => toChanged(change, nothingListed))
    await together(updateTransactions(tx, changes), enqueue(changed))
    return changed
  }
  const changed = await updateTransactions(tx, changes)
  await enqueue(changed)
  return changed
}

/** The event of a transaction's last status change. They count from 1: creation as PENDING sends no event. */
export function toEvent(row: ChangedTransaction | NewTransaction, snapshot: object | null): NewEvent {
  const status = row.statuses.at(-1)
  const occurredAt = row.status_dates.at(-1)
  assert(status && occurredAt, 'a transaction has a history')
  return {
    merchantId: row.merchant_id,
    recordType: 'transaction',
    recordId: row.id,
    sequence: row.statuses.length - 1,
    status,
    occurredAt,
    snapshot,
    webhookUrl: row.webhook_url,
  }
}

/** What of a transaction changes, as it is now. */
export function toSnapshot(row: Changeable): Changeable {
  const { acquirer, pix_uri, pix_expires_at, statuses, status_dates, amount_paid, payment_date, end_to_end } = row
  const { payer, receiver, fee_amount, infraction_date, error_message, refunds, amount_returned, disputes, returns } =
    row
  return {
    acquirer,
    pix_uri,
    pix_expires_at,
    statuses,
    status_dates,
    amount_paid,
    payment_date,
    end_to_end,
    payer,
    receiver,
    fee_amount,
    infraction_date,
    error_message,
    refunds,
    amount_returned,
    disputes,
    returns,
  }
}

/** The row as it was when the event with this snapshot was written; null: it was just created, with a code. */
export function atSnapshot(row: TransactionRow, snapshot: unknown): TransactionRow {
  const then = snapshot === null ? initialOf(row) : fromSnapshot(snapshot as Wire<Changeable>)
  const status = then.statuses?.at(-1)
  assert(status, 'a snapshot has a history')
  return { ...row, ...then, status }
}

function initialOf(row: TransactionRow): Partial<Changeable> {
  return {
    // Nobody else was asked at first: whoever stands there was put there when the money came to another.
    acquirer: row.other_acquirers[0] ?? row.acquirer,
    statuses: row.statuses.slice(0, 2),
    status_dates: row.status_dates.slice(0, 2),
    amount_paid: null,
    payment_date: null,
    end_to_end: null,
    payer: null,
    receiver: null,
    fee_amount: null,
    infraction_date: null,
    error_message: null,
    amount_returned: 0,
    ...nothingListed,
  }
}

/** As JSON gives it back: dates are text. */
type Wire<Value> = {
  [Name in keyof Value]: Date extends Value[Name] ? string | null : Value[Name] extends Date[] ? string[] : Value[Name]
}

function fromSnapshot(snapshot: Wire<Changeable>): Changeable {
  const date = (text: string | null) => (text === null ? null : new Date(text))
  return {
    ...snapshot,
    pix_expires_at: date(snapshot.pix_expires_at),
    status_dates: snapshot.status_dates.map((text) => new Date(text)),
    payment_date: date(snapshot.payment_date),
    infraction_date: date(snapshot.infraction_date),
  }
}
