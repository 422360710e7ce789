import { randomUUID } from 'node:crypto'
import type { Sql, Tx } from '../db/sql.ts'
import { together } from '../lib/at-once.ts'
import { compare } from '../lib/compare.ts'
import type { OwnEvents } from './own-events.ts'
import type { Claimed, OwnLease } from './queue-store.ts'
import {
  type DeliveryRow,
  type EndpointDelivery,
  insertDeliveries,
  insertEvents,
  insertForInserted,
  liveSecretsOf,
  lockUnfinished,
} from './store.ts'

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
export async function enqueueEvents(tx: Tx, events: NewEvent[], own: OwnEvents | null = null): Promise<void> {
  if (events.length === 0) return
  const rows = events.map(toRow).sort(byRecord)
  // Checks under its lock whether an earlier delivery is unfinished. Without the lock, a worker that finishes it at
  // this moment would not see the new row, and nobody would ever promote it from `waiting`. All rows are locked by one
  // statement, in one order: those of records without a URL may be due to endpoints.
  const followers = rows.filter(({ sequence }) => sequence > 1)
  const lock = async () => await lockUnfinished(tx, followers)
  const hasUrl = followers.some(({ webhookUrl }) => webhookUrl !== null)
  const [toEndpoints, locked] = await together(insertEvents(tx, rows), hasUrl ? lock() : Promise.resolve(null))
  const due = toDeliveries(rows, toEndpoints)
  if (due.length === 0) return
  const unfinished = locked ?? (toEndpoints.some(({ sequence }) => sequence > 1) ? await lock() : [])
  const behind = new Set(unfinished.map(laneOf))
  const deliveries = due.map((row) => {
    const isWaiting = behind.has(laneOf(row))
    behind.add(laneOf(row))
    const state: DeliveryRow['state'] = isWaiting ? 'waiting' : 'pending'
    const lease = own && !isWaiting && isToOwnUrl(row) ? leaseIn(own, row) : null
    return { ...row, state, ...toLeased(lease) }
  })
  const merchantIds = own ? merchantsOf(deliveries.filter(({ leasedBy }) => leasedBy !== null)) : []
  const isAnyUnreserved = deliveries.some(({ leasedBy }) => leasedBy === null)
  const inserted = insertDeliveries(tx, deliveries, merchantIds)
  tx.last(inserted.then((secrets) => own?.enqueued({ secrets, isAnyUnreserved })))
}

function leaseIn(own: OwnEvents, row: OwnDelivery): OwnLease | null {
  const lease = own.reserve(row.receiver)
  if (lease) own.lease(toClaimed(row, lease))
  return lease
}

function toLeased(lease: OwnLease | null): Pick<DeliveryRow, 'leasedUntil' | 'leasedBy'> {
  return { leasedUntil: lease?.leasedUntil ?? null, leasedBy: lease?.instance ?? null }
}

function merchantsOf(rows: { merchantId: string }[]): string[] {
  return [...new Set(rows.map(({ merchantId }) => merchantId))]
}

/** In the order of the events. */
function toDeliveries(rows: EventRow[], toEndpoints: EndpointDelivery[]): (OwnDelivery | EndpointDelivery)[] {
  if (toEndpoints.length === 0) return rows.flatMap(toOwnDelivery)
  const keyOf = ({ recordId, sequence }: { recordId: string; sequence: number }) => `${recordId} ${sequence}`
  const ofEvent = new Map<string, EndpointDelivery[]>()
  for (const one of toEndpoints) ofEvent.set(keyOf(one), [...(ofEvent.get(keyOf(one)) ?? []), one])
  return rows.flatMap((row) => {
    const others = (ofEvent.get(keyOf(row)) ?? []).filter(({ url }) => url !== row.webhookUrl)
    return [...toOwnDelivery(row), ...others]
  })
}

/** What is delivered in order: the events of one record to one address. */
function laneOf({ recordId, endpointId }: { recordId: string; endpointId: string | null }): string {
  return `${recordId} ${endpointId}`
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
  const deliveries = rows.flatMap(toOwnDelivery).map((row): DeliveryRow => {
    const lease = row.snapshot === null ? reserve(row.receiver) : null
    if (lease) reserved.push(toClaimed(row, lease))
    return { ...row, state: 'pending', ...toLeased(lease) }
  })
  const isAnyUnreserved = reserved.length < deliveries.length
  const secrets = liveSecretsOf({ merchantIds: merchantsOf(reserved), now: reserved[0]?.occurredAt ?? new Date(0) })
  return { parts: insertForInserted(rows, deliveries), secrets, reserved, isAnyUnreserved }
}

function toClaimed(row: OwnDelivery, { leasedUntil }: OwnLease): Claimed {
  return { ...row, eventId: row.id, dueAt: row.occurredAt, leasedUntil, attempts: 0, attemptsBefore: 0 }
}

type OwnDelivery = Omit<EventRow, 'webhookUrl' | 'status'> &
  Pick<DeliveryRow, 'url' | 'receiver'> & { endpointId: null }

function isToOwnUrl(row: OwnDelivery | EndpointDelivery): row is OwnDelivery {
  return row.endpointId === null
}

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
