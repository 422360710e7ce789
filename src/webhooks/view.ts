import { toAttemptErrorCode } from './attempt-errors.ts'
import type { DeliveryRow, EventRow } from './read-store.ts'

/** An event as listed by the API. */
export function toEventView(row: EventRow) {
  return {
    id: row.id,
    type: row.type,
    recordType: row.record_type,
    recordId: row.record_id,
    sequence: row.sequence,
    createdAt: row.created_at.toISOString(),
    delivery: row.delivery,
  }
}

/** A delivery with its attempts. */
export function toDeliveryView(row: DeliveryRow) {
  return {
    eventId: row.event_id,
    endpointId: row.endpoint_id,
    type: row.type,
    recordId: row.record_id,
    sequence: row.sequence,
    url: row.url,
    state: row.state,
    nextAttemptAt: row.next_attempt_at?.toISOString() ?? null,
    lastStatus: row.last_status,
    lastError: row.last_error,
    lastErrorCode: toAttemptErrorCode(row.last_error),
    createdAt: row.created_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
    attempts: row.attempts.map((attempt) => ({
      number: attempt.number,
      startedAt: attempt.started_at.toISOString(),
      durationInMilliseconds: attempt.duration_ms,
      status: attempt.status,
      error: attempt.error,
      errorCode: toAttemptErrorCode(attempt.error),
      response: attempt.response,
    })),
  }
}
