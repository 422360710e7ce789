import { type TSchema, Type } from 'typebox'
import { type ErrorCode, errors } from '../lib/errors.ts'

/**
 * Parts of request and response shapes that several features share. A `title` is the name of a shape in the OpenAPI
 * document (document.ts), and the name of its type in generated clients.
 */

/** In cents: R$ 100,000. */
export const amountMax = 10_000_000

export const Uuid = (description: string) => Type.String({ format: 'uuid', description })
export const DateTime = (description: string) => Type.String({ format: 'date-time', description })
export const Reference = (description: string) => Type.String({ ...referenceLength, description })
export const referenceLength = { minLength: 8, maxLength: 255 }

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

/** An address of the merchant's. */
const MerchantUrl = (description: string) => Type.String({ format: 'webhook-url', maxLength: 2048, description })

export const WebhookUrl = MerchantUrl('Receives every change; https, a public host, no fragment')
export const ReturnUrl = MerchantUrl(
  'The payment page links to it, with `transactionId` added after the payment; https, a public host, no fragment',
)

export const DateTimeFilter = (description: string) =>
  Type.String({
    format: 'iso-date-time',
    description: `${description}; ISO 8601 with time; UTC if it has no offset`,
  })
export const Amount = (minimum: number, description: string, maximum = amountMax) =>
  Type.Integer({ minimum, maximum, description, 'x-unit': 'cents' })

/** An array filter: the parameter is repeated in the query, each value at most once. */
export const EnumFilter = <Values extends TSchema & { enum: readonly unknown[] }>(
  values: Values,
  description: string,
) => Type.Array(values, { minItems: 1, maxItems: values.enum.length, uniqueItems: true, description })

/** The query of a route without parameters: any parameter is refused. */
export const NoQuery = Type.Object({}, { additionalProperties: false })

/** The statuses that a record had: `title` names an entry. */
export const StatusHistory = <Status extends TSchema>(title: string, status: Status) =>
  Type.Array(
    Type.Object(
      {
        status,
        date: DateTime('When the status was reached'),
        durationInMilliseconds: Nullable('integer', 'Time spent in the status; null for the current one'),
      },
      { title, description: 'A status that the record had or has' },
    ),
  )

export const PixKeyType = Type.Enum(['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP'], {
  title: 'PixKeyType',
  description: 'The types of PIX keys',
})

export const PixKeyView = Type.Object(
  { key: Type.String(), type: PixKeyType },
  { title: 'PixKey', description: 'A PIX key: the address of an account' },
)

export const AccountHolderView = Type.Object(
  {
    type: Type.Enum(['PF', 'PJ']),
    name: Type.String(),
    document: Type.String({ description: 'CPF or CNPJ, bare' }),
    bankAccount: Type.Object(
      {
        type: Type.String(),
        branch: Type.String(),
        number: Type.String(),
        digit: Type.String(),
        ispb: Type.String({ description: 'ISPB code of the bank' }),
      },
      { title: 'BankAccount', description: 'An account at a bank' },
    ),
    pix: PixKeyView,
  },
  { title: 'AccountHolder', description: 'The person or company that paid or was paid' },
)

/** RFC 9457. `errors` names the fields of a 422, or says why the state of a record refuses the request. */
export const ProblemView = Type.Object(
  {
    type: Type.String({ format: 'uri', description: 'Address of the explanation of this code' }),
    title: Type.String({ description: 'What the code means' }),
    status: Type.Integer({ description: 'HTTP status' }),
    detail: Type.String({ description: 'What happened and what to do next' }),
    code: Type.String({ description: 'Stable, in snake case. Programs compare this field' }),
    requestId: Type.String({ description: 'The same as the header X-Request-Id' }),
    errors: Type.Optional(
      Type.Array(
        Type.Object(
          {
            field: Type.String({ description: 'A path such as `items[0].unitPrice`' }),
            code: Type.String(),
            message: Type.String(),
            limit: Type.Optional(Type.Integer({ description: 'The smallest or largest value that is allowed' })),
            unit: Type.Optional(
              Type.Enum(['cents', 'bytes'], {
                description: 'The unit of `limit`; absent for a plain number, or a count of characters or items',
              }),
            ),
            recordId: Type.Optional(
              Type.String({ description: 'The record that the error is about, if the address does not name it' }),
            ),
          },
          { title: 'FieldError', description: 'One error of a request' },
        ),
        { description: 'Every error of the request' },
      ),
    ),
  },
  { additionalProperties: true, description: 'The body of an error (RFC 9457)' },
)

/**
 * The error responses of a route, for the API reference: by status, with the codes that every route can answer with
 * that status, or by the code of an error that only some routes have. A route with 500 also has 503: the database
 * may be unavailable.
 */
export function problems(...named: (number | ErrorCode)[]): Record<never, TSchema> {
  const all = named.includes(500) ? [...named, 503] : named
  const codesOf = (one: number | ErrorCode): ErrorCode[] => (typeof one === 'number' ? (usualCodes[one] ?? []) : [one])
  const codes = [...new Set(all.flatMap(codesOf))]
  const statuses = [...new Set(codes.map((code) => errors[code].status))]
  return Object.fromEntries(
    statuses.map((status) => [
      status,
      problem(
        problemTitles[status] ?? '',
        codes.filter((code) => errors[code].status === status),
        { isLimited: status === 429 && named.includes(429) },
      ),
    ]),
  )
}

/**
 * One error response, in the media type of errors. For the document (document.ts): `x-codes` gives an example of each
 * code, and `x-limited` says that the responses of the route have the rate limit headers.
 */
export function problem(description: string, codes: ErrorCode[], { isLimited = false } = {}): TSchema {
  const content = { schema: { $ref: 'Problem#' }, 'x-codes': codes, ...(isLimited && { 'x-limited': true }) }
  return { description, content: { 'application/problem+json': content } } as unknown as TSchema
}

const usualCodes: Record<number, ErrorCode[]> = {
  400: ['bad_request'],
  401: ['missing_token', 'invalid_token', 'token_expired', 'token_revoked'],
  403: ['insufficient_scope', 'client_not_registered'],
  404: ['not_found'],
  413: ['body_too_large'],
  415: ['unsupported_media_type'],
  422: ['validation_failed'],
  429: ['rate_limited'],
  500: ['internal_error'],
  503: ['database_unavailable'],
}

export const problemTitles: Record<number, string> = {
  400: 'The request cannot be read',
  401: 'No token, or an invalid one',
  403: 'The token lacks a scope, or its client may not do this here',
  404: 'Not found',
  409: 'The status of the record does not allow it',
  413: 'The body is too large',
  415: 'The media type is not supported',
  422: 'Invalid or missing data, or the state of a record does not allow it',
  429: 'Too many requests',
  500: 'Internal error, or an outcome that is not known yet',
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
