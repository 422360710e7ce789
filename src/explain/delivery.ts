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
  if (record.webhook_url === null) return [say('webhook_none', {})]
  const last = deliveries.at(-1)
  if (!last) return [say('webhook_nothing_yet', {})]
  // A record's deliveries are sent in order: the first unfinished one delays the others.
  const open = deliveries.find(({ state }) => state === 'pending' || state === 'waiting')
  return open ? describeOpen(open, last, now) : [describeEnd(last)]
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
  const { id: eventId, type } = last
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
