import { randomUUID } from 'node:crypto'
import type { Sql, Tx } from '../db/sql.ts'
import { together } from '../lib/at-once.ts'
import { compare } from '../lib/compare.ts'
import { insertDeliveries, insertEvents, insertForInserted, lockUnfinished } from './store.ts'

export type RecordType = 'transaction' | 'withdrawal'

/** One status change of a record. */
export type NewEvent = {
  merchantId: string
  recordType: RecordType
  recordId: string
  /** Counts the record's status changes, from 1. */
  sequence: number
  /** The record's status, in upper case. */
  status: string
  occurredAt: Date
  /** The record's mutable fields as they are after the change; null while they still have their initial values. */
  snapshot: object | null
  webhookUrl: string | null
}

/**
 * Commits events together with the change that caused them, and a delivery for each event that has a webhook URL.
 * Call it in the transaction that holds the records' locks: the events of a record must be enqueued in the order of
 * their sequence.
 */
export async function enqueueEvents(tx: Tx, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(toRow).sort(byRecord)
  const due = rows.filter((row) => row.webhookUrl !== null)
  // Checks under its lock whether an earlier delivery is unfinished. Without the lock, a worker that finishes it at
  // this moment would not see the new row, and nobody would ever promote it from `waiting`.
  const followers = due.filter((row) => row.sequence > 1)
  const [, unfinished] = await together(insertEvents(tx, rows), lockUnfinished(tx, followers))
  if (due.length === 0) return
  const behind = new Set(unfinished)
  const deliveries = due.map((row) => {
    const isWaiting = behind.has(row.recordId)
    behind.add(row.recordId)
    return { ...row, ...splitUrl(row.webhookUrl ?? ''), state: isWaiting ? 'waiting' : 'pending' }
  })
  await insertDeliveries(tx, deliveries)
}

/**
 * The same for records that the statement itself inserts, so that both commit without another round trip: further
 * parts of its `with`, after a part named `inserted` that returns `id` and `merchant_id` of the new records. No event
 * precedes a first one.
 */
export function firstEvents(events: NewEvent[]): Sql {
  const rows = events.map(toRow)
  const deliveries = rows.flatMap((row) =>
    row.webhookUrl === null ? [] : [{ ...row, ...splitUrl(row.webhookUrl), state: 'pending' }],
  )
  return insertForInserted(rows, deliveries)
}

/** Splits off the scheme, host and port of a URL: deliveries with the same ones share a connection budget. */
function splitUrl(url: string): { url: string; receiver: string } {
  return { url, receiver: new URL(url).origin }
}

function toRow(event: NewEvent) {
  return { ...event, id: randomUUID(), type: `${event.recordType}.${event.status.toLowerCase()}` }
}

/** Everyone locks rows in the same order: two batches in opposite order would deadlock. */
function byRecord(a: NewEvent, b: NewEvent): number {
  return compare(a.merchantId, b.merchantId) || compare(a.recordId, b.recordId) || a.sequence - b.sequence
}
