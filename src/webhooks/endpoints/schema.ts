import { Type } from 'typebox'
import { Envelope, PageQuery } from '../../http/page.ts'
import { DateTime, Nullable, Uuid, WebhookUrl } from '../../http/schemas.ts'
import { eventTypes } from '../event-types.ts'
import { ErrorCode } from '../schema.ts'
import { type DisabledReason, disabledReasons } from './store.ts'

/** In the API, in place of a list of all types. */
export const allTypes = '*'

const description = { description: 'Your own note, such as the system behind the address' }
const filter = {
  description: 'The types of events that are sent there; `["*"]` for all, including those of later versions',
}
const EventTypes = Type.Array(Type.Enum([...eventTypes, allTypes]), {
  ...filter,
  minItems: 1,
  maxItems: eventTypes.length + 1,
  uniqueItems: true,
})
const Url = { ...WebhookUrl, description: 'Receives the events; https, a public host, no fragment' }

export const CreateEndpointBody = Type.Object(
  {
    url: Url,
    description: Type.Optional(Type.String({ maxLength: 255, ...description })),
    eventTypes: Type.Optional(EventTypes),
  },
  {
    title: 'CreateWebhookEndpointBody',
    description: 'The body of a request to register a webhook endpoint',
    examples: [
      {
        url: 'https://loja.example/webhooks/pix',
        description: 'Order system',
        eventTypes: ['transaction.paid', 'transaction.refunded'],
      },
    ],
  },
)

export const ChangeEndpointBody = Type.Object(
  {
    url: Type.Optional(Url),
    description: Type.Optional(Type.String({ maxLength: 255, ...description })),
    eventTypes: Type.Optional(EventTypes),
    enabled: Type.Optional(
      Type.Boolean({ description: 'false: it receives no more events, and what waits for it is canceled' }),
    ),
  },
  {
    title: 'UpdateWebhookEndpointBody',
    description: 'A change of a webhook endpoint',
    examples: [{ enabled: true }],
  },
)

const endpointFields = {
  id: Uuid('Identifier of the endpoint'),
  url: Type.String({ description: 'Where the events are sent' }),
  description: Type.String(description),
  eventTypes: Type.Array(Type.String(), filter),
  enabled: Type.Boolean({ description: 'Whether it receives events' }),
  disabledReason: Type.Unsafe<DisabledReason | null>({
    type: ['string', 'null'],
    title: 'WebhookEndpointDisabledReason',
    enum: [...disabledReasons, null],
    description:
      'request: by a request; failing: every attempt failed for five days; gone: it answered 410; null while enabled',
  }),
  disabledAt: Nullable('string', 'Since when it is disabled', 'date-time'),
  failingSince: Nullable('string', 'Since when every attempt has failed; null after one that succeeded', 'date-time'),
  createdAt: DateTime('When it was registered'),
  updatedAt: DateTime('When it was last changed'),
}

const endpointExample = {
  id: '0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1',
  url: 'https://loja.example/webhooks/pix',
  description: 'Order system',
  eventTypes: ['transaction.paid', 'transaction.refunded'],
  enabled: true,
  disabledReason: null,
  disabledAt: null,
  failingSince: null,
  createdAt: '2026-11-24T12:00:00.000Z',
  updatedAt: '2026-11-24T12:00:00.000Z',
}
const secretExample = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

export const EndpointView = Type.Object(endpointFields, {
  title: 'WebhookEndpoint',
  description: 'An address that receives the events of all records',
  examples: [endpointExample],
})
export const NewEndpointView = Type.Object(
  { ...endpointFields, secret: Type.String({ description: 'Verifies its deliveries. Shown only in this response' }) },
  {
    title: 'WebhookEndpointCreated',
    description: 'A new webhook endpoint with its secret',
    examples: [{ ...endpointExample, secret: secretExample }],
  },
)
export const EndpointList = Envelope('WebhookEndpointPage', EndpointView)
export const ListEndpointsQuery = Type.Object(PageQuery, { additionalProperties: false })
export const EndpointParams = Type.Object({
  id: Type.String({ format: 'uuid-any', description: 'Identifier of the endpoint' }),
})

export const RotateSecretBody = Type.Object(
  {
    overlapHours: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 2160,
        description: 'How long the former secret also signs; 24 without it',
      }),
    ),
    secretId: Type.Optional(
      Type.String({
        format: 'uuid-v4',
        description:
          'Your own UUID for the new secret. If you received no answer, repeat the request with the same one: you get another secret, the one that you did not receive ends, and the former one stays valid',
      }),
    ),
  },
  {
    title: 'RotateWebhookEndpointSecretBody',
    description: 'How a secret is rotated',
    examples: [{ overlapHours: 24 }],
  },
)
export const EndpointSecretView = Type.Object(
  {
    secret: Type.String({ description: 'Verifies the deliveries from now on. Shown only in this response' }),
    formerExpiresAt: DateTime('Until when deliveries also carry the signature by the former secret'),
  },
  {
    title: 'WebhookEndpointSecret',
    description: 'A new secret of a webhook endpoint',
    examples: [{ secret: secretExample, formerExpiresAt: '2026-11-25T12:00:00.000Z' }],
  },
)

export const TestDeliveryView = Type.Object(
  {
    eventId: Uuid('`webhook-id` of the test'),
    delivered: Type.Boolean({ description: 'Whether the receiver answered 2xx within 15 seconds' }),
    status: Nullable('integer', 'HTTP status of the response; null when there was none'),
    error: Nullable('string', 'Why it failed'),
    errorCode: ErrorCode,
    durationInMilliseconds: Type.Integer(),
    response: Nullable(
      'string',
      'The first 2 kB of the response’s body; null if there was no response or it had no text',
    ),
  },
  {
    title: 'WebhookTest',
    description: 'The answer of a receiver to a test',
    examples: [
      {
        eventId: '5c1df7a2-8d6f-4b0e-9a1f-0c4f5f7f2b11',
        delivered: false,
        status: 401,
        error: 'The receiver answered 401',
        errorCode: null,
        durationInMilliseconds: 84,
        response: '{"error":"the signature is not valid"}',
      },
    ],
  },
)
