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
  /** As the record has it, in upper case. */
  status: string
  occurredAt: Date
  /** The record's changeable members as they are after the change; null where they still have their initial values. */
  snapshot: object | null
  webhookUrl: string | null
}

/**
 * Commits events with the change that caused them, and a delivery of each that has somewhere to go. Call it inside the
 * transaction that holds the records' locks: a record's events must be enqueued in the order of their sequence.
 */
export async function enqueueEvents(tx: Tx, events: NewEvent[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(toRow).sort(byRecord)
  const due = rows.filter((row) => row.webhookUrl !== null)
  // Whether an earlier one is under way is asked under its lock. Without it a worker that finishes that one at this
  // moment would not see the new row, and nobody would ever let it go.
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
 * The same for records that the statement itself inserts, and so in one commit without a round trip more: further parts of its `with`,
 * after one named `inserted` that returns `id` and `merchant_id` of the records which are new. Nothing is before a first event.
 */
export function firstEvents(events: NewEvent[]): Sql {
  const rows = events.map(toRow)
  const deliveries = rows.flatMap((row) =>
    row.webhookUrl === null ? [] : [{ ...row, ...splitUrl(row.webhookUrl), state: 'pending' }],
  )
  return insertForInserted(rows, deliveries)
}

/** The scheme, host and port of a URL: what shares a budget of connections. */
function splitUrl(url: string): { url: string; receiver: string } {
  return { url, receiver: new URL(url).origin }
}

function toRow(event: NewEvent) {
  return { ...event, id: randomUUID(), type: `${event.recordType}.${event.status.toLowerCase()}` }
}

/** Rows in one order for everyone: two batches in opposite order deadlock. */
function byRecord(a: NewEvent, b: NewEvent): number {
  return compare(a.merchantId, b.merchantId) || compare(a.recordId, b.recordId) || a.sequence - b.sequence
}
