import { type Static, Type } from 'typebox'
import { Envelope, PageQuery, perPageMax } from '../http/page.ts'
import { DateTime, DateTimeFilter, EnumFilter, Nullable, Uuid } from '../http/schemas.ts'
import { type AttemptErrorCode, attemptErrors } from './attempt-errors.ts'
import { type Described, describeEvents, exampleEvent } from './document.ts'
import { eventTypes } from './event-types.ts'
import { positionPattern } from './feed.ts'
import { deliveryStates } from './read-store.ts'

export const EventView = Type.Object(
  {
    id: Uuid('Identifier of the event: `webhook-id` of its delivery'),
    type: Type.String({ description: 'Such as transaction.paid' }),
    recordType: Type.Enum(['transaction', 'withdrawal']),
    recordId: Uuid('Identifier of the transaction or withdrawal'),
    sequence: Type.Integer({ description: 'Number of this status change of the record, from 1' }),
    createdAt: DateTime('When it happened'),
    delivery: Nullable('string', 'State of its delivery to the record’s `webhookUrl`; null when it has none'),
  },
  {
    title: 'EventSummary',
    description: 'One status change, and the state of its delivery',
    examples: [
      {
        id: '9f6c1b5a-0f63-4a53-8f34-6a8f2f3c7f01',
        type: 'transaction.paid',
        recordType: 'transaction',
        recordId: '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1',
        sequence: 2,
        createdAt: '2026-11-21T12:01:35.000Z',
        delivery: 'delivered',
      },
    ],
  },
)

export const EventList = Envelope('EventPage', EventView)
export const ListEventsQuery = Type.Object(PageQuery, { additionalProperties: false })

const EventTypes = Type.Enum([...eventTypes], { title: 'EventType', description: 'What can happen to a record' })

const position = (description: string) => Type.String({ pattern: positionPattern, description })

const examplePosition = '7-9f6c1b5a'

/** The responses of `GET /event/{id}` (`event`) and of `GET /event` (`events`: the feed or the list). */
export function toEventViews(records: Described[]) {
  const example = records.slice(0, 1).map((described) => exampleEvent(described, 'PAID'))
  const { events, inFeed } = describeEvents(records, {
    number: Type.Integer({
      description: 'Number of the event in the feed: 1, 2, 3 … without a gap, unless the feed is filtered',
    }),
    position: position('Send it as `after` for the events that follow this one'),
  })
  const description = 'A status change, as its webhook has it'
  const event = { title: 'Event', description, oneOf: events, examples: example }
  const feed = Type.Object(
    {
      data: Type.Array(Type.Unsafe({ title: 'FeedEvent', description: 'An event of the feed', oneOf: inFeed })),
      next: position('Send it as `after` for the next page. With filters it is also behind events that do not match'),
      hasMore: Type.Boolean({ description: 'True: request the next page now. False: the feed ends here for now' }),
    },
    { title: 'FeedPage', description: 'Events after a position' },
  )
  const eventsView = {
    description: 'The feed with `after`, else the list',
    anyOf: [feed, EventList],
    examples: [
      {
        data: example.map((one) => ({ number: 7, position: examplePosition, ...one })),
        next: examplePosition,
        hasMore: false,
      },
    ],
  }
  return { event, events: eventsView }
}

/** The longest wait for an event: long, so that few answers are empty, but shorter than proxies usually wait. */
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
  type: Type.Optional(EnumFilter(EventTypes, 'Only events of these types; repeat the parameter')),
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

export const EventParams = Type.Object({
  id: Type.String({ format: 'uuid-any', description: 'Identifier of the event' }),
})

export const ErrorCode = Type.Unsafe<AttemptErrorCode | null>({
  type: ['string', 'null'],
  title: 'AttemptErrorCode',
  enum: [...Object.keys(attemptErrors), null],
  description: 'The error as a code; null without an error, or if its text gives the HTTP status or other details',
})

const State = Type.Enum([...deliveryStates], {
  title: 'DeliveryState',
  description:
    'waiting: behind an earlier event of its record; pending: to be tried; delivered; exhausted: all attempts failed; gone: the receiver answered 410; canceled: its endpoint was disabled or deleted',
})

export const DeliveryView = Type.Object(
  {
    eventId: Uuid('Identifier of the event: `webhook-id`'),
    endpointId: Nullable('string', 'The registered endpoint; null for the record’s own `webhookUrl`', 'uuid'),
    type: Type.String(),
    recordId: Uuid('Identifier of the transaction or withdrawal'),
    sequence: Type.Integer(),
    url: Type.String(),
    state: State,
    nextAttemptAt: Nullable('string', 'When it is tried next', 'date-time'),
    lastStatus: Nullable('integer', 'HTTP status of the last response'),
    lastError: Nullable('string', 'Why the last attempt failed'),
    lastErrorCode: ErrorCode,
    createdAt: DateTime('When the event happened'),
    finishedAt: Nullable('string', 'When it was delivered or given up', 'date-time'),
    attempts: Type.Array(
      Type.Object(
        {
          number: Type.Integer(),
          startedAt: DateTime('Start of the attempt'),
          durationInMilliseconds: Type.Integer(),
          status: Nullable('integer', 'HTTP status of the response; null when there was none'),
          error: Nullable('string', 'Why the attempt failed'),
          errorCode: ErrorCode,
          response: Nullable(
            'string',
            'The first 2 kB of the response’s body; null if there was no response or it had no text',
          ),
        },
        { title: 'DeliveryAttempt', description: 'One request to your receiver' },
      ),
    ),
  },
  {
    title: 'Delivery',
    description: 'The delivery of an event to your receiver, with its attempts',
    examples: [
      {
        eventId: '9f6c1b5a-0f63-4a53-8f34-6a8f2f3c7f01',
        endpointId: null,
        type: 'transaction.paid',
        recordId: '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1',
        sequence: 2,
        url: 'https://shop.example.com/webhooks/pix',
        state: 'delivered',
        nextAttemptAt: null,
        lastStatus: 204,
        lastError: null,
        lastErrorCode: null,
        createdAt: '2026-11-21T12:01:35.000Z',
        finishedAt: '2026-11-21T12:01:35.210Z',
        attempts: [
          {
            number: 1,
            startedAt: '2026-11-21T12:01:35.020Z',
            durationInMilliseconds: 190,
            status: 204,
            error: null,
            errorCode: null,
            response: null,
          },
        ],
      },
    ],
  },
)

export const DeliveryList = Envelope('DeliveryPage', DeliveryView)

export const ListDeliveriesQuery = Type.Object(
  {
    state: Type.Optional(State),
    recordId: Type.Optional(
      Type.String({ format: 'uuid-any', description: 'Only deliveries of this transaction or withdrawal' }),
    ),
    eventId: Type.Optional(Type.String({ format: 'uuid-any', description: 'Only the deliveries of this event' })),
    endpointId: Type.Optional(
      Type.String({ format: 'uuid-any', description: 'Only deliveries to this registered endpoint' }),
    ),
    ...PageQuery,
  },
  { additionalProperties: false },
)

export const ResendParams = Type.Object({
  eventId: Type.String({ format: 'uuid-any', description: 'Identifier of the event' }),
})
export const ResendQuery = Type.Object(
  {
    endpointId: Type.Optional(
      Type.String({
        format: 'uuid-any',
        description: 'Only to this endpoint; without it, to every address it was sent to',
      }),
    ),
  },
  { additionalProperties: false },
)
export const ResendView = Type.Object(
  {
    eventId: Uuid('Identifier of the event'),
    state: Type.Enum(['pending', 'waiting']),
  },
  {
    title: 'Resent',
    description: 'A delivery whose schedule starts again',
    examples: [{ eventId: '9f6c1b5a-0f63-4a53-8f34-6a8f2f3c7f01', state: 'pending' }],
  },
)
