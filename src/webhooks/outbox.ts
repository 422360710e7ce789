import { randomUUID } from 'node:crypto'
import type { Sql, Tx } from '../db/sql.ts'
import { compare } from '../lib/compare.ts'
import type { OwnEvents } from './own-events.ts'
import type { Claimed, OwnLease } from './queue-store.ts'
import { insertEvents, insertForInserted, liveSecretsOf, type OwnDeliveryRow } from './store.ts'

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
 * Commits events together with the change that caused them, and their deliveries: to the record's webhook URL, and to
 * each registered endpoint of the merchant that matches. An endpoint with the address of the webhook URL gets none of
 * its own. Call it in the transaction that holds the records' locks: the events of a record must be enqueued in the
 * order of their sequence.
 *
 * @param own the deliveries that this process leases and sends after the commit: those that nothing precedes
 */
export function enqueueEvents(tx: Tx, events: NewEvent[], own: OwnEvents | null = null): void {
  if (events.length === 0) return
  const rows = events.map(toRow).sort(byRecord)
  const leased = new Set<string>()
  const deliveries = rows.flatMap(toOwnDelivery).map((row): OwnDeliveryRow => {
    // The first of its record in this commit. Whether one of an earlier commit is unfinished, the statement finds out.
    const lease = leased.has(row.recordId) ? null : (own?.reserve(row.receiver) ?? null)
    if (lease) own?.lease(toClaimed(row, lease))
    leased.add(row.recordId)
    return { ...row, ...toLeased(lease) }
  })
  const secretsOf = merchantsOf(deliveries.filter(({ leasedBy }) => leasedBy !== null))
  tx.last(async () => {
    const enqueued = await insertEvents(tx, { events: rows, deliveries, secretsOf })
    own?.enqueued(enqueued)
  })
}

function toLeased(lease: OwnLease | null): Pick<OwnDeliveryRow, 'leasedUntil' | 'leasedBy'> {
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
 * The same for records that the statement itself inserts, so that both commit without another round trip. No event
 * precedes a first one, so `reserve` may lease its delivery for this process.
 */
export function firstEvents(events: NewEvent[], reserve: (receiver: string) => OwnLease | null): FirstEvents {
  const rows = events.map(toRow)
  const reserved: Claimed[] = []
  const deliveries = rows.flatMap(toOwnDelivery).map((row): OwnDeliveryRow => {
    const lease = row.snapshot === null ? reserve(row.receiver) : null
    if (lease) reserved.push(toClaimed(row, lease))
    return { ...row, ...toLeased(lease) }
  })
  const isAnyUnreserved = reserved.length < deliveries.length
  const secrets = liveSecretsOf({ merchantIds: merchantsOf(reserved), now: reserved[0]?.occurredAt ?? new Date(0) })
  return { parts: insertForInserted(rows, deliveries), secrets, reserved, isAnyUnreserved }
}

function toClaimed(row: OwnDelivery, { leasedUntil }: OwnLease): Claimed {
  return { ...row, eventId: row.id, dueAt: row.occurredAt, leasedUntil, attempts: 0, attemptsBefore: 0 }
}

type OwnDelivery = Omit<EventRow, 'webhookUrl' | 'status'> &
  Pick<OwnDeliveryRow, 'url' | 'receiver'> & { endpointId: null }

/** The delivery to the record's own URL, if it has one. */
function toOwnDelivery({ webhookUrl: url, ...row }: EventRow): OwnDelivery[] {
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
