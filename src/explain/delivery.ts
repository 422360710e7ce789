import { toAttemptErrorCode } from '../webhooks/attempt-errors.ts'
import type { DeliveryRow } from '../webhooks/read-store.ts'
import type { Facts } from './facts.ts'
import { type Sentence, say, sayNext } from './sentences.ts'

/** Whether the merchant's webhook was delivered, if not why, and when the next attempt is. */
export function describeDelivery({
  record,
  deliveries,
  now,
}: Pick<Facts, 'record' | 'deliveries' | 'now'>): Sentence[] {
  // Without those to endpoints that the merchant has disabled or deleted.
  const sent = deliveries.filter(({ state }) => state !== 'canceled')
  if (record.webhook_url === null && sent.length === 0) return [say('webhook_none', {})]
  // A record's deliveries to one address are sent in order: the first unfinished one delays the others.
  const open = sent.find(({ state }) => state === 'pending' || state === 'waiting')
  const last = sent.findLast(({ endpoint_id }) => !open || endpoint_id === open.endpoint_id)
  if (!last) return [say('webhook_nothing_yet', {})]
  if (open) return describeOpen(open, last, now)
  const failed = sent.find(({ sequence, state }) => sequence === last.sequence && state !== 'delivered')
  return [describeEnd(failed ?? last)]
}

function describeOpen(open: DeliveryRow, last: DeliveryRow, now: Date): Sentence[] {
  const isBehind = open.id !== last.id
  const attempt = open.attempts.at(-1)?.number ?? null
  return [
    say('webhook_undelivered', {
      type: isBehind ? last.type : null,
      behind: isBehind ? open.type : null,
      attempt,
      ...outcomeOf(open),
    }),
    ...sayNext(attempt === null ? 'deliver' : 'deliver_again', { at: open.next_attempt_at, now }),
  ]
}

function describeEnd(last: DeliveryRow): Sentence {
  const { event_id: eventId, type } = last
  switch (last.state) {
    case 'delivered':
      return say('webhook_delivered', { at: last.finished_at })
    case 'gone':
      return say('webhook_refused', { type, eventId })
    default:
      return say('webhook_given_up', { type, eventId, ...outcomeOf(last) })
  }
}

function outcomeOf({ last_status: httpStatus, last_error: error }: DeliveryRow) {
  return { httpStatus, error, errorCode: toAttemptErrorCode(error) }
}
