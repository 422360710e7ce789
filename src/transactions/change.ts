import type { Tx } from '../db/sql.ts'
import { type Posting, postAll } from '../ledger/post.ts'
import { assert } from '../lib/assert.ts'
import { pipelined } from '../lib/concurrent.ts'
import { enqueueEvents, type NewEvent } from '../webhooks/outbox.ts'
import type { OwnEvents } from '../webhooks/own-events.ts'
import { moneyOf } from './money.ts'
import { isTransition } from './status.ts'
import {
  type Change,
  type Changeable,
  type ChangedTransaction,
  type LockedTransaction,
  type NewTransaction,
  nothingListed,
  nothingPaid,
  type TransactionRow,
  toChanged,
  updateTransactions,
} from './store.ts'

/** Moves one locked transaction to another status, like {@link changeStatuses}. */
export async function changeStatus(
  tx: Tx,
  row: LockedTransaction,
  change: Omit<Move, 'row'>,
): Promise<ChangedTransaction> {
  const [changed] = await changeStatuses(tx, [{ ...change, row }])
  assert(changed, 'a changed transaction is returned')
  return changed
}

export type Move = Omit<Change, 'at'> & { now: Date }

/**
 * Moves locked transactions to other statuses: rows, histories, events and ledger transfers, in the caller's commit.
 * Every status change after the creation goes through here, so none happens without its transfers.
 *
 * @param before postings that need the same accounts: all are locked at once, in one order
 * @param ownEvents collects the webhooks that this process sends itself after the commit
 */
export async function changeStatuses(
  tx: Tx,
  moves: Move[],
  { before = [], ownEvents = null }: { before?: Posting[]; ownEvents?: OwnEvents | null } = {},
): Promise<ChangedTransaction[]> {
  if (moves.length === 0) return []
  const changes = moves.map(({ now, ...change }) => {
    const { row, to } = change
    assert(isTransition(row.status, to), `a transaction may move from ${row.status} to ${to}`)
    // The clocks of several machines differ a little, but the dates of a history must never decrease.
    const last = row.status_dates.at(-1)
    return { ...change, at: last && last > now ? last : now }
  })
  const enqueue = (rows: ChangedTransaction[]) =>
    enqueueEvents(
      tx,
      rows.map((row) => toEvent(row, toSnapshot(row))),
      ownEvents,
    )
  const postMoney = async (rows: ChangedTransaction[]) => {
    const money = moves.flatMap(({ row: { end_to_end }, now }, index) => {
      const row = rows[index]
      return row ? moneyOf(row, { wasPaid: end_to_end !== null, now }) : []
    })
    await postAll(tx, [...before, ...money])
  }
  // An unpaid transaction has no refunds to read: its events and transfers are sent in the same round trip. They are
  // sent in this order, and so lock in this order: records and deliveries first, then accounts.
  if (moves.every(({ row }) => row.end_to_end === null)) {
    const changed = changes.map((change) => toChanged(change, nothingListed))
    const updated = updateTransactions(tx, changes)
    enqueue(changed)
    await pipelined(updated, postMoney(changed))
    return changed
  }
  const changed = await updateTransactions(tx, changes)
  enqueue(changed)
  await postMoney(changed)
  return changed
}

/** The event of a transaction's last status change. Its sequence counts from 1: creation as PENDING sends no event. */
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

/** The mutable fields of a transaction, as they are now. */
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

/**
 * The row as it was when the event with this snapshot was written. A null snapshot means that it had just been
 * created, with a code.
 */
export function versionAt(row: TransactionRow, snapshot: unknown): TransactionRow {
  const then = snapshot === null ? initialOf(row) : fromSnapshot(snapshot as Serialized<Changeable>)
  const status = then.statuses?.at(-1)
  assert(status, 'a snapshot has a history')
  return { ...row, ...then, status }
}

function initialOf(row: TransactionRow): Partial<Changeable> {
  return {
    // At first only one acquirer was asked. Other acquirers were added when another acquirer received the money.
    acquirer: row.other_acquirers[0] ?? row.acquirer,
    statuses: row.statuses.slice(0, 2),
    status_dates: row.status_dates.slice(0, 2),
    error_message: null,
    ...nothingPaid,
  }
}

/** A value after a round trip through JSON: dates are text. */
type Serialized<Value> = {
  [Name in keyof Value]: Date extends Value[Name] ? string | null : Value[Name] extends Date[] ? string[] : Value[Name]
}

function fromSnapshot(snapshot: Serialized<Changeable>): Changeable {
  const date = (text: string | null) => (text === null ? null : new Date(text))
  return {
    ...snapshot,
    pix_expires_at: date(snapshot.pix_expires_at),
    status_dates: snapshot.status_dates.map((text) => new Date(text)),
    payment_date: date(snapshot.payment_date),
    infraction_date: date(snapshot.infraction_date),
  }
}

/**
 * Refunds and disputes are handled by the acquirer that holds the money. If another one gave the QR code, they swap
 * places: the one that gave the QR code becomes the first of `other_acquirers`.
 */
export function moneyAt(row: Pick<LockedTransaction, 'acquirer' | 'other_acquirers'>, acquirer: string) {
  if (row.acquirer === acquirer) return {}
  const others = row.other_acquirers.filter((name) => name !== acquirer)
  return { acquirer, other_acquirers: [row.acquirer, ...others] }
}
