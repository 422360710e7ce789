import { type Static, Type } from 'typebox'
import { Envelope, PageQuery, perPageMax } from '../http/page.ts'
import { DateTime, DateTimeFilter, EnumFilter, FreeForm, Nullable, Uuid } from '../http/schemas.ts'
import { type AttemptErrorCode, attemptErrors } from './attempt-errors.ts'
import { eventTypes } from './event-types.ts'
import { positionPattern } from './feed.ts'
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

const payload = {
  id: Uuid('Identifier of the event: `webhook-id` of its delivery'),
  type: Type.Enum([...eventTypes]),
  timestamp: DateTime('When it happened'),
  data: FreeForm({
    description:
      'The transaction or withdrawal as a fetch returned it at that moment, and `sequence`, the number of this status change of the record, from 1',
  }),
}

export const EventPayload = Type.Object(payload)

const position = (description: string) => Type.String({ pattern: positionPattern, description })

export const EventFeed = Type.Object({
  data: Type.Array(
    Type.Object({
      number: Type.Integer({ description: 'Number of the event in the feed: 1, 2, 3 … without a gap' }),
      position: position('Send it as `after` for the events that follow this one'),
      ...payload,
    }),
  ),
  next: position('Send it as `after` for the next page. With filters it is also behind events that do not match'),
  hasMore: Type.Boolean({ description: 'True: request the next page now. False: the feed ends here for now' }),
})

/** Longer than a page needs to be, and shorter than the patience of proxies. */
const waitSecondsMax = 20
export const feedLimitDefault = 100
export const perPageDefault = 20

const feedQuery = {
  after: Type.Optional(
    position('Read the feed after this position: `start`, `end`, or a `next` or `position` that you saved'),
  ),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: perPageMax,
      description: `Events per page of the feed; ${feedLimitDefault} by default`,
    }),
  ),
  wait: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: waitSecondsMax,
      description: 'Wait up to this many seconds for an event, if the feed has none after the position',
    }),
  ),
  type: Type.Optional(EnumFilter(eventTypes, 'Only events of these types; repeat the parameter')),
  recordId: Type.Optional(
    Type.String({ format: 'uuid-any', description: 'Only events of this transaction or withdrawal' }),
  ),
  startDate: Type.Optional(DateTimeFilter('Only events that happened at or after')),
}
const { perPage, ...listQuery } = PageQuery
const listed = {
  ...listQuery,
  perPage: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: perPageMax,
      description: `Items per page of the list; ${perPageDefault} by default`,
    }),
  ),
}

export const EventsQuery = Type.Object({ ...feedQuery, ...listed }, { additionalProperties: false })
export type EventsQuery = Static<typeof EventsQuery>
export const feedParameters = ['limit', 'wait', 'type', 'recordId', 'startDate'] as const
export const listParameters = ['page', 'perPage', 'cursor'] as const

export const EventParams = Type.Object({ id: Type.String({ format: 'uuid-any' }) })

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
