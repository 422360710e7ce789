import type { DeliveryRow } from '../webhooks/read-store.ts'
import type { Facts } from './facts.ts'
import { atTime, due } from './words.ts'

/** Whether the shop has been told of what happened, why not, and when it is tried again. */
export function describeTold({ record, deliveries, now }: Pick<Facts, 'record' | 'deliveries' | 'now'>): string {
  if (record.webhook_url === null) return 'The shop gave no webhook URL, so it is told nothing.'
  const last = deliveries.at(-1)
  if (!last) return 'There is nothing yet to tell the shop of.'
  // A record's deliveries go in order: the first that is not finished holds up those behind it.
  const open = deliveries.find(({ state }) => state === 'pending' || state === 'waiting')
  if (open) return describeOpen(open, last, now)
  return describeEnd(last, now)
}

function describeOpen(open: DeliveryRow, last: DeliveryRow, now: Date): string {
  const behind = open.id === last.id ? '' : ` of ${last.type}, which waits behind ${open.type}`
  const next = due('It', open.attempts.length === 0 ? 'told' : 'tried again', { at: open.next_attempt_at, now })
  const attempt = open.attempts.at(-1)
  if (!attempt) return `The shop has not been told yet${behind}. ${next}`.trim()
  return `The shop has not been told yet${behind}: ${whatCame(open)} at attempt ${attempt.number}. ${next}`.trim()
}

function describeEnd(last: DeliveryRow, now: Date): string {
  const again = `POST /webhook/delivery/${last.id}/resend tells it again.`
  switch (last.state) {
    case 'delivered':
      return last.finished_at ? `The shop was told at ${atTime(last.finished_at, now)}.` : 'The shop was told.'
    case 'gone':
      return `The shop has not been told of ${last.type}: its receiver answered 410, which means that it wants no more. ${again}`
    default:
      return `The shop has not been told of ${last.type}: all attempts failed, and at the last ${whatCame(last)}. ${again}`
  }
}

function whatCame({ last_status: status, last_error: error }: DeliveryRow): string {
  if (status !== null) return `the receiver answered ${status}`
  return error === null ? 'the receiver did not answer' : error.charAt(0).toLowerCase() + error.slice(1)
}
