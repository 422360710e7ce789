import { randomUUID } from 'node:crypto'
import type { Sql, Tx } from '../db/sql.ts'
import { compare } from '../lib/compare.ts'
import type { OwnEvents } from './own-events.ts'
import type { Claimed, OwnLease } from './queue-store.ts'
import { insertEvents, insertForInserted, liveSecretsOf, type RecordUrlDeliveryRow } from './store.ts'

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
 * Inserts events and their deliveries, at the end of the transaction that makes the change. Each event is delivered to
 * the record's webhook URL and to every registered endpoint of the merchant that receives its type; an endpoint with
 * the same URL as the record gets no second delivery. The transaction must hold the records' locks: the events of a
 * record must be enqueued in the order of their sequence.
 *
 * @param own the deliveries that this process leases and sends after the commit: those that nothing precedes
 */
export function enqueueEvents(tx: Tx, events: NewEvent[], ownEvents: OwnEvents | null = null): void {
  if (events.length === 0) return
  const rows = events.map(toRow).sort(byRecord)
  const seen = new Set<string>()
  const deliveries = rows.flatMap(toRecordUrlDelivery).map((row): RecordUrlDeliveryRow => {
    // Only the first delivery of each record in this commit may be leased. The statement finds out whether a delivery
    // of an earlier commit is unfinished.
    const lease = seen.has(row.recordId) ? null : (ownEvents?.reserve(row.receiver) ?? null)
    if (lease) ownEvents?.lease(toClaimed(row, lease))
    seen.add(row.recordId)
    return { ...row, ...toLeased(lease) }
  })
  const secretsOf = merchantsOf(deliveries.filter(({ leasedBy }) => leasedBy !== null))
  tx.sendLast(async () => {
    const enqueued = await insertEvents(tx, { events: rows, deliveries, secretsOf })
    ownEvents?.enqueued(enqueued)
  })
}

function toLeased(lease: OwnLease | null): Pick<RecordUrlDeliveryRow, 'leasedUntil' | 'leasedBy'> {
  return { leasedUntil: lease?.leasedUntil ?? null, leasedBy: lease?.instance ?? null }
}

function merchantsOf(rows: { merchantId: string }[]): string[] {
  return [...new Set(rows.map(({ merchantId }) => merchantId))]
}

export type FirstEvents = {
  /**
   * Further parts of the `with` of a statement that inserts records, after a part named `inserted` that returns `id`,
   * `merchant_id` and `webhook_url` of the new ones.
   */
  parts: Sql
  /** A value for the same statement: what the reserved deliveries are signed with, for {@link readLiveSecrets}. */
  secrets: Sql
  /** The deliveries that this process has leased, and sends when they are committed. */
  reserved: Claimed[]
  /** Deliveries to the records' own URLs that anybody may claim. */
  isAnyUnreserved: boolean
}

/**
 * Like {@link enqueueEvents}, for records that the same statement inserts, which saves a round trip. No event precedes
 * the first one of a record, so `reserve` may lease its delivery for this process. A delivery with a snapshot is not
 * leased: its body is built from the snapshot, and not from the new record.
 */
export function firstEvents(events: NewEvent[], reserve: (receiver: string) => OwnLease | null): FirstEvents {
  const rows = events.map(toRow)
  const reserved: Claimed[] = []
  const deliveries = rows.flatMap(toRecordUrlDelivery).map((row): RecordUrlDeliveryRow => {
    const lease = row.snapshot === null ? reserve(row.receiver) : null
    if (lease) reserved.push(toClaimed(row, lease))
    return { ...row, ...toLeased(lease) }
  })
  const isAnyUnreserved = reserved.length < deliveries.length
  const secrets = liveSecretsOf({ merchantIds: merchantsOf(reserved), now: reserved[0]?.occurredAt ?? new Date(0) })
  return { parts: insertForInserted(rows, deliveries), secrets, reserved, isAnyUnreserved }
}

function toClaimed(row: RecordUrlDelivery, { leasedUntil }: OwnLease): Claimed {
  return { ...row, eventId: row.id, dueAt: row.occurredAt, leasedUntil, attempts: 0, attemptsBefore: 0 }
}

type RecordUrlDelivery = Omit<EventRow, 'webhookUrl' | 'status'> &
  Pick<RecordUrlDeliveryRow, 'url' | 'receiver'> & { endpointId: null }

/** The delivery to the record's own URL, if it has one. */
function toRecordUrlDelivery({ webhookUrl: url, ...row }: EventRow): RecordUrlDelivery[] {
  return url === null ? [] : [{ ...row, endpointId: null, url, receiver: receiverOf(url) }]
}

/** The scheme, host and port of a URL: deliveries with the same ones share a connection budget. */
export function receiverOf(url: string): string {
  return new URL(url).origin
}

type EventRow = ReturnType<typeof toRow>

function toRow(event: NewEvent) {
  return { ...event, id: randomUUID(), type: `${event.recordType}.${event.status.toLowerCase()}` }
}

/** Everyone locks rows in the same order: two batches in opposite order would deadlock. */
function byRecord(a: NewEvent, b: NewEvent): number {
  return compare(a.merchantId, b.merchantId) || compare(a.recordId, b.recordId) || a.sequence - b.sequence
}
