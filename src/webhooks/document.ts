import type { TSchema } from 'typebox'
import { assert } from '../lib/assert.ts'
import type { RecordType } from './outbox.ts'

/** Describes events for the OpenAPI document: as webhooks, which a merchant's receiver gets, and in the event feed. */

export type Described = {
  record: RecordType
  /** What a fetch of the record returns. Its title is the name of the shape in the document. */
  view: TSchema
  statuses: readonly string[]
  example: (status: never) => { updatedAt: string; statusHistory: object[] }
}

/** One operation for each type of event. PENDING has none: the creation of a record sends no event. */
export function describeWebhooks(records: Described[]): Record<string, object> {
  return Object.fromEntries(
    records.flatMap((described) =>
      described.statuses
        .filter((status) => status !== 'PENDING')
        .map((status) => [`${described.record}.${status.toLowerCase()}`, { post: describe(described, status) }]),
    ),
  )
}

/** The schemas of the events of each kind of record: `events` as webhooks, `inFeed` in the feed, with `feedFields`. */
export function describeEvents(records: Described[], feedFields: Record<string, TSchema>) {
  const events = records.map((described) => eventSchema(described, described.view))
  const inFeed = events.map((event, index) => ({
    ...event,
    title: event.title.replace(/Event$/, 'FeedEvent'),
    description: `A change of a ${records[index]?.record}, in the feed`,
    required: [...Object.keys(feedFields), ...event.required],
    properties: { ...feedFields, ...event.properties },
  }))
  return { events, inFeed }
}

function describe(described: Described, status: string) {
  const { record } = described
  return {
    operationId: `on${nameOf(described)}${toPascal(status)}`,
    summary: `A ${record} became ${status}`,
    description:
      'Sent to the `webhookUrl` of the record and to the webhook endpoints that match, at least once and in the order of its changes. Verify the signature before you read the body.',
    tags: ['Webhooks'],
    security: [],
    parameters: signatureHeaders,
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: eventSchema(described, { $ref: `#/components/schemas/${nameOf(described)}` }),
          example: exampleEvent(described, status),
        },
      },
    },
    responses: {
      '2XX': {
        description:
          'Received. Answer within 15 seconds. After anything else the event is sent again later, until the attempts end',
      },
      410: {
        description:
          'No further attempts for this event. A webhook endpoint that answers 410 is disabled: it receives no more events, and its unfinished deliveries are canceled',
      },
    },
  }
}

export function exampleEvent({ record, example }: Described, status: string) {
  const data = example(status as never)
  return {
    id: '9f6c1b5a-0f63-4a53-8f34-6a8f2f3c7f01',
    type: `${record}.${status.toLowerCase()}`,
    timestamp: data.updatedAt,
    data: { ...data, sequence: data.statusHistory.length - 1 },
  }
}

function nameOf({ view }: Described): string {
  const title: unknown = Reflect.get(view, 'title')
  assert(typeof title === 'string', 'the shape of a record has a name')
  return title
}

function eventSchema(described: Described, view: object) {
  const { record, statuses } = described
  const types = statuses.filter((one) => one !== 'PENDING').map((one) => `${record}.${one.toLowerCase()}`)
  return {
    title: `${nameOf(described)}Event`,
    description: `A change of a ${record}, as a webhook`,
    type: 'object',
    required: ['id', 'type', 'timestamp', 'data'],
    properties: {
      id: {
        type: 'string',
        format: 'uuid',
        description: 'Equal to the header `webhook-id`. The same event can arrive twice, with the same id',
      },
      type: { type: 'string', enum: types, description: 'What happened' },
      timestamp: { type: 'string', format: 'date-time', description: 'When it happened' },
      data: {
        description: `The ${record} as a fetch returned it at that time`,
        allOf: [
          view,
          {
            type: 'object',
            required: ['sequence'],
            properties: {
              sequence: {
                type: 'integer',
                description:
                  'Counts the status changes of the record from 1. An event is stale if its number is not above the last one that you saw of this record',
              },
            },
          },
        ],
      },
    },
  }
}

const signatureHeaders = [
  ['webhook-id', 'Identifier of the event', '9f6c1b5a-0f63-4a53-8f34-6a8f2f3c7f01'],
  ['webhook-timestamp', 'Unix time of the attempt, in seconds', '1795262495'],
  [
    'webhook-signature',
    'Signatures by Standard Webhooks, separated by spaces: one of them must match',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ],
].map(([name, description, example]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
  example,
}))

/** `PROCESSING_REFUND` → `ProcessingRefund` */
function toPascal(status: string): string {
  return status
    .toLowerCase()
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}
