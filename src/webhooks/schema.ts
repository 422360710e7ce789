import { Type } from 'typebox'
import { Envelope, PageQuery } from '../http/page.ts'
import { DateTime, Nullable, Uuid } from '../http/schemas.ts'
import { type AttemptErrorCode, attemptErrors } from './attempt-errors.ts'
import { deliveryStates } from './read-store.ts'

export const EventView = Type.Object({
  id: Uuid('Identifier of the event: `webhook-id` of its delivery'),
  type: Type.String({ description: 'Such as transaction.paid' }),
  recordType: Type.Enum(['transaction', 'withdrawal']),
  recordId: Uuid('Identifier of the transaction or withdrawal'),
  sequence: Type.Integer({ description: 'Number of this status change of the record, from 1' }),
  createdAt: DateTime('When it happened'),
  delivery: Nullable('string', 'State of its delivery; null when the record has no webhook URL'),
})

export const EventList = Envelope(EventView)
export const ListEventsQuery = Type.Object(PageQuery, { additionalProperties: false })

const ErrorCode = Type.Unsafe<AttemptErrorCode | null>({
  type: ['string', 'null'],
  enum: [...Object.keys(attemptErrors), null],
  description: 'The error as a code; null if the HTTP status says enough, or the sentence has details of its own',
})

export const DeliveryView = Type.Object({
  eventId: Uuid('Identifier of the event: `webhook-id`'),
  type: Type.String(),
  recordId: Uuid('Identifier of the transaction or withdrawal'),
  sequence: Type.Integer(),
  url: Type.String(),
  state: Type.Enum([...deliveryStates], {
    description:
      'waiting: behind an earlier event of its record; pending: to be tried; delivered; exhausted: all attempts failed; gone: the receiver answered 410',
  }),
  nextAttemptAt: Nullable('string', 'When it is tried next', 'date-time'),
  lastStatus: Nullable('integer', 'HTTP status of the last response'),
  lastError: Nullable('string', 'Why the last attempt failed'),
  lastErrorCode: ErrorCode,
  createdAt: DateTime('When the event happened'),
  finishedAt: Nullable('string', 'When it was delivered or given up', 'date-time'),
  attempts: Type.Array(
    Type.Object({
      number: Type.Integer(),
      startedAt: DateTime('Start of the attempt'),
      durationInMilliseconds: Type.Integer(),
      status: Nullable('integer', 'HTTP status of the response; null when there was none'),
      error: Nullable('string', 'Why the attempt failed'),
      errorCode: ErrorCode,
    }),
  ),
})

export const DeliveryList = Envelope(DeliveryView)

export const ListDeliveriesQuery = Type.Object(
  {
    state: Type.Optional(Type.Enum([...deliveryStates])),
    recordId: Type.Optional(
      Type.String({ format: 'uuid-any', description: 'Only deliveries of this transaction or withdrawal' }),
    ),
    eventId: Type.Optional(Type.String({ format: 'uuid-any', description: 'Only the delivery of this event' })),
    ...PageQuery,
  },
  { additionalProperties: false },
)

export const ResendParams = Type.Object({ eventId: Type.String({ format: 'uuid-any' }) })
export const ResendView = Type.Object({
  eventId: Uuid('Identifier of the event'),
  state: Type.Enum(['pending', 'waiting']),
})
