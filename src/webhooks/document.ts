/** The webhooks as the OpenAPI document describes them: requests that Guichê sends and a merchant's receiver answers. */

type Described = {
  record: 'transaction' | 'withdrawal'
  /** The name of the record's shape in the document. */
  schema: string
  statuses: readonly string[]
  example: (status: never) => { updatedAt: string; statusHistory: object[] }
}

/** One operation for each type of event. A creation as PENDING sends no event. */
export function describeWebhooks(records: Described[]): Record<string, object> {
  return Object.fromEntries(
    records.flatMap((described) =>
      described.statuses
        .filter((status) => status !== 'PENDING')
        .map((status) => [`${described.record}.${status.toLowerCase()}`, { post: describe(described, status) }]),
    ),
  )
}

function describe({ record, schema, statuses, example }: Described, status: string) {
  const types = statuses.filter((one) => one !== 'PENDING').map((one) => `${record}.${one.toLowerCase()}`)
  const data = example(status as never)
  const type = `${record}.${status.toLowerCase()}`
  return {
    operationId: `on${schema}${toPascal(status)}`,
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
          schema: eventSchema(schema, types),
          example: {
            id: '9f6c1b5a-0f63-4a53-8f34-6a8f2f3c7f01',
            type,
            timestamp: data.updatedAt,
            data: { ...data, sequence: data.statusHistory.length - 1 },
          },
        },
      },
    },
    responses: {
      '2XX': { description: 'Received. Answer within 15 seconds; anything else is sent again later' },
      410: { description: 'No further attempts for this event' },
    },
  }
}

function eventSchema(schema: string, types: string[]) {
  return {
    title: `${schema}Event`,
    description: `A change of a ${schema.toLowerCase()}, as a webhook`,
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
        description: `The ${schema.toLowerCase()} as a fetch returned it at that time`,
        allOf: [
          { $ref: `#/components/schemas/${schema}` },
          {
            type: 'object',
            required: ['sequence'],
            properties: {
              sequence: {
                type: 'integer',
                description:
                  'Counts the changes of the record from 1. An event is stale if it is not above the last one that you saw',
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
