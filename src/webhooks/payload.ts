import { assert } from '../lib/assert.ts'
import type { RecordType } from './outbox.ts'

/** What the record was when the event occurred. A null snapshot means the initial values. */
export type RecordVersion = { merchantId: string; recordId: string; snapshot: unknown }

/**
 * Rebuilds, in the order of the input, what the GET of each record returned at that moment. The wiring passes it in,
 * because webhooks depend on no feature. The same moment must always give the same fields in the same order: a retry
 * repeats its bytes.
 */
export type LoadRecords = Partial<Record<RecordType, (versions: RecordVersion[]) => Promise<unknown[]>>>

export type EventToSend = RecordVersion & {
  eventId: string
  type: string
  recordType: RecordType
  sequence: number
  occurredAt: Date
}

/**
 * Builds the bodies of deliveries, in their order. One that cannot be built is null, and `onError` receives the
 * cause.
 */
export async function buildBodies(
  loadRecords: LoadRecords,
  events: EventToSend[],
  onError: (event: EventToSend, error: unknown) => void,
): Promise<(Buffer | null)[]> {
  const bodies = new Map<string, Buffer>()
  for (const recordType of ['transaction', 'withdrawal'] as const) {
    const ofType = events.filter((event) => event.recordType === recordType)
    if (ofType.length === 0) continue
    await build(ofType).catch(async () => {
      // One body that cannot be built must not delay the others: build them one by one.
      for (const event of ofType) await build([event]).catch((error: unknown) => onError(event, error))
    })
  }
  return events.map((event) => bodies.get(event.eventId) ?? null)

  async function build(some: EventToSend[]): Promise<void> {
    const load = loadRecords[some[0]?.recordType ?? 'transaction']
    assert(load, 'a record type has no loader')
    const records = await load(some.map(({ merchantId, recordId, snapshot }) => ({ merchantId, recordId, snapshot })))
    assert(records.length === some.length, 'a loader gave another number of records than was requested')
    for (const [index, event] of some.entries()) bodies.set(event.eventId, toBody(event, records[index]))
  }
}

function toBody(event: EventToSend, record: unknown): Buffer {
  assert(typeof record === 'object' && record !== null, 'an event has no record')
  const body = {
    id: event.eventId,
    type: event.type,
    timestamp: event.occurredAt.toISOString(),
    data: { ...record, sequence: event.sequence },
  }
  return Buffer.from(JSON.stringify(body))
}
