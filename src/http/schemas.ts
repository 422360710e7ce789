import { type TSchema, Type } from 'typebox'

/** Parts of response shapes that several features share. */

export const amountMax = 10_000_000

export const Uuid = (description: string) => Type.String({ format: 'uuid', description })
export const DateTime = (description: string) => Type.String({ format: 'date-time', description })
export const Reference = (description: string) => Type.String({ minLength: 8, maxLength: 255, description })

/** A field that may be null. Not a union: the serializer would try its members one after the other. */
export const Nullable = <Name extends 'string' | 'integer'>(type: Name, description: string, format?: string) =>
  Type.Unsafe<(Name extends 'string' ? string : number) | null>({
    type: [type, 'null'],
    description,
    ...(format && { format }),
  })

/** A field with a default: the sender may omit it, and the handler always finds it. */
export const Defaulted = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema) as unknown as Schema

/**
 * An object with any fields. Not a Record: its pattern `^.*$` misses names with U+2028, which the serializer would
 * drop.
 */
export const FreeForm = (options: object = {}) =>
  Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, ...options })

/** A client's own data: stored and returned, never interpreted. */
export const Metadata = FreeForm({
  'x-json-limits': { bytesMax: 8192, depthMax: 8, keysMax: 64 },
  description: 'Free-form; up to 8 KiB as JSON, 64 keys in all and 8 levels',
})

export const WebhookUrl = Type.String({
  format: 'webhook-url',
  maxLength: 2048,
  description: 'Receives every change; https, a public host, no fragment',
})

export const DateTimeFilter = (description: string) =>
  Type.String({
    format: 'iso-date-time',
    description: `${description}; ISO 8601 with time; UTC if it has no offset`,
  })
export const Amount = (minimum: number, description: string, maximum = amountMax) =>
  Type.Integer({ minimum, maximum, description, 'x-unit': 'cents' })

/** An array filter: the parameter is repeated in the query, each value at most once. */
export const EnumFilter = <Value extends string>(values: readonly Value[], description: string) =>
  // At most one entry per value: a query could repeat the parameter a thousand times.
  Type.Array(Type.Enum([...values]), { minItems: 1, maxItems: values.length, uniqueItems: true, description })

/** The query of a route without parameters: any parameter is refused. */
export const NoQuery = Type.Object({}, { additionalProperties: false })

export const StatusHistory = <Status extends string>(statuses: readonly Status[]) =>
  Type.Array(
    Type.Object({
      status: Type.Enum([...statuses]),
      date: DateTime('When the status was reached'),
      durationInMilliseconds: Nullable('integer', 'Time spent in the status; null for the current one'),
    }),
  )

export const PixKeyView = Type.Object({
  key: Type.String(),
  type: Type.Enum(['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP']),
})

export const AccountHolderView = Type.Object({
  type: Type.Enum(['PF', 'PJ']),
  name: Type.String(),
  document: Type.String({ description: 'CPF or CNPJ, bare' }),
  bankAccount: Type.Object({
    type: Type.String(),
    branch: Type.String(),
    number: Type.String(),
    digit: Type.String(),
    ispb: Type.String({ description: 'ISPB code of the bank' }),
  }),
  pix: PixKeyView,
})

/** RFC 9457. `errors` names the fields of a 422, or says why the state of a record refuses the request. */
export const ProblemView = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String({ description: 'What happened and what to do next' }),
    code: Type.String({ description: 'Stable, in snake case. Programs compare this field' }),
    requestId: Type.String(),
    errors: Type.Optional(
      Type.Array(
        Type.Object({
          field: Type.String(),
          code: Type.String(),
          message: Type.String(),
          limit: Type.Optional(Type.Integer({ description: 'The smallest or largest value that is allowed' })),
          unit: Type.Optional(
            Type.Enum(['cents', 'bytes'], {
              description: 'Of a limit that is no plain number and counts no characters or items',
            }),
          ),
          recordId: Type.Optional(
            Type.String({ description: 'The record that the error is about, if the address does not name it' }),
          ),
        }),
        { description: 'Every error of the request' },
      ),
    ),
  },
  {
    additionalProperties: true,
    examples: [
      {
        type: 'urn:guiche:error:validation_failed',
        title: 'The request is not valid',
        status: 422,
        detail: 'amount must be at least 1.',
        code: 'validation_failed',
        requestId: '7b0f6c1e-3d0e-4f0a-8f43-3a3f5b2a9c11',
        errors: [{ field: 'amount', code: 'too_small', message: 'must be at least 1', limit: 1, unit: 'cents' }],
      },
    ],
  },
)

/** The error responses of a route, for the API reference. Whatever may fail with 500 may find the database away. */
export function problems(...statuses: number[]): Record<never, TSchema> {
  const all = statuses.includes(500) ? [...new Set([...statuses, 503])] : statuses
  return Object.fromEntries(all.map((status) => [status, problem(problemTitles[status] ?? '')]))
}

/** One error response, in the media type of errors. */
export function problem(description: string): TSchema {
  return { description, content: { 'application/problem+json': { schema: { $ref: 'Problem#' } } } } as TSchema
}

const problemTitles: Record<number, string> = {
  401: 'No token, or an invalid one',
  403: 'The token lacks a scope',
  404: 'Not found',
  409: 'The status of the record does not allow it',
  422: 'Invalid or missing data',
  429: 'Too many requests',
  500: 'Internal error',
  503: 'Temporarily not possible; the code says why',
}

/** Statuses with their date and the milliseconds spent in each; null for the current one. */
export function toStatusHistoryView<Status extends string>(statuses: Status[], dates: Date[]) {
  return statuses.map((status, index) => {
    const [from, to] = [dates[index], dates[index + 1]]
    return {
      status,
      date: from?.toISOString() ?? '',
      durationInMilliseconds: from && to ? to.getTime() - from.getTime() : null,
    }
  })
}
