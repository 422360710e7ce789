import { assert } from '../lib/assert.ts'
import type { ErrorCode } from '../lib/errors.ts'
import { qrCodeDataUrl } from '../pix/qrcode.ts'
import { publicFormat } from './formats.ts'
import { toProblemExample } from './problem-examples.ts'
import { problemTitles } from './schemas.ts'

/**
 * Completes the OpenAPI document that @fastify/swagger makes from the routes, so that tools of any language make good
 * clients from it. Routes stay as they are: what is served and validated does not change.
 *
 * - A shape with a `title` becomes a component of that name, wherever it is used.
 * - Our own text formats become patterns, and conditions that no generator understands are left out: the service
 *   checks them.
 * - Each response has its headers, each body an example, and each error an example of each of its codes.
 */
export function completeDocument(document: Json): Json {
  const { components, paths, webhooks = {}, ...others } = JSON.parse(JSON.stringify(document)) as Document
  const schemas: Record<string, Json> = {}
  const examples: Record<string, Json> = {}
  const toSchema = createSchemaWriter(schemas)
  for (const [name, schema] of Object.entries(components.schemas)) schemas[name] = toSchema(schema)
  const write = (operation: Operation) => writeOperation(operation, { toSchema, examples })
  const written = mapValues(paths, (operations) => mapValues(operations, write))
  const received = mapValues(webhooks, (operations) => mapValues(operations, write))
  return {
    ...others,
    paths: written,
    webhooks: received,
    components: { ...components, schemas: sortKeys(schemas), examples: sortKeys(examples), headers },
  }
}

type Json = Record<string, unknown>
type Media = {
  schema: Json
  example?: unknown
  examples?: Json
  'x-codes'?: ErrorCode[]
  'x-limited'?: true
}
type Response = { description: string; headers?: Json; content?: Record<string, Media> }
export type Operation = {
  operationId: string
  description?: string
  security?: Record<string, string[]>[]
  parameters?: { name: string; in: string; schema: Json }[]
  requestBody?: { content: Record<string, Media> }
  responses: Record<string, Response>
}
type Document = {
  components: { schemas: Record<string, Json> }
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, Record<string, Operation>>
}
type SchemaWriter = (schema: Json) => Json

function writeOperation(
  operation: Operation,
  { toSchema, examples }: { toSchema: SchemaWriter; examples: Record<string, Json> },
): Operation {
  const { parameters, requestBody, responses } = operation
  const toMedia = ({ 'x-codes': codes, 'x-limited': _, schema, example, ...media }: Media): Media => {
    if (codes) for (const code of codes) examples[code] ??= toProblemExample(code)
    return {
      ...media,
      schema: toSchema(schema),
      ...(example !== undefined && { example: withImages(example) }),
      ...(codes && { examples: Object.fromEntries(codes.map((code) => [code, ref('examples', code)])) }),
    }
  }
  const all = addUsualErrors(operation)
  const isLimited = Object.values(responses[429]?.content ?? {}).some((media) => media['x-limited'])
  const isIdempotent = parameters?.some(({ name }) => name === 'idempotency-key') ?? false
  return {
    ...operation,
    ...(parameters && { parameters: parameters.map((one) => ({ ...one, schema: toSchema(one.schema) })) }),
    ...(requestBody && { requestBody: { ...requestBody, content: mapValues(requestBody.content, toMedia) } }),
    responses: Object.fromEntries(
      Object.entries(all).map(([status, { content, ...response }]) => [
        status,
        {
          ...response,
          description: response.description === 'Default Response' ? describe(content) : response.description,
          headers: headersOf(Number(status), { isLimited, isIdempotent, ...response }),
          ...(content && { content: mapValues(content, toMedia) }),
        },
      ]),
    ),
  }
}

/**
 * Adds the errors that every route may return before its own code runs. Webhooks get none: the receiver answers them.
 */
function addUsualErrors({ responses, requestBody, parameters = [], operationId }: Operation): Record<string, Response> {
  const problem = (codes: ErrorCode[], status: number): Response => ({
    description: problemTitles[status] ?? '',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' }, 'x-codes': codes } },
  })
  if (isWebhook(operationId)) return responses
  const all = { ...responses }
  all[400] ??= problem(['bad_request'], 400)
  const isJson = requestBody?.content['application/json'] !== undefined
  if (isJson) {
    all[413] ??= problem(['body_too_large'], 413)
    all[415] ??= problem(['unsupported_media_type'], 415)
  }
  const codes = all[422]?.content?.['application/problem+json']?.['x-codes']
  if (codes && isJson) codes.push('malformed_json')
  if (codes && parameters.some(({ name }) => name === 'idempotency-key')) codes.push('idempotency_key_reused')
  return all
}

function isWebhook(operationId: string): boolean {
  return /^on[A-Z]/.test(operationId)
}

/** The description of a response is that of its shape, unless it has its own. */
function describe(content: Response['content']): string {
  const [media] = Object.values(content ?? {})
  const { description } = media?.schema ?? {}
  assert(typeof description === 'string', 'a response is described')
  return description
}

type HeaderFacts = Pick<Response, 'headers'> & { isLimited: boolean; isIdempotent: boolean }

function headersOf(status: number, { headers: own = {}, isLimited, isIdempotent }: HeaderFacts): Json {
  const isSuccess = status >= 200 && status < 300
  const names = [
    ...(Number.isNaN(status) ? [] : ['X-Request-Id']),
    ...(status === 201 ? ['Location'] : []),
    ...(isSuccess && isIdempotent ? ['Idempotent-Replayed'] : []),
    ...(isLimited && (isSuccess || status === 429) ? ['RateLimit', 'RateLimit-Policy'] : []),
    ...(status === 429 || status === 503 ? ['Retry-After'] : []),
    ...(status === 401 ? ['WWW-Authenticate'] : []),
  ]
  return { ...own, ...Object.fromEntries(names.map((name) => [name, ref('headers', name)])) }
}

const headers = {
  'X-Request-Id': {
    description: 'Identifies the request in the log: your own id, if you sent a well-formed one',
    schema: { type: 'string' },
    example: '7b0f6c1e-3d0e-4f0a-8f43-3a3f5b2a9c11',
  },
  Location: {
    description: 'Address of the record',
    schema: { type: 'string', format: 'uri' },
    example: 'https://pix.example.com/transaction/0b7f3c0e-5c7b-4a5e-9a0d-3a1f4be0a2d1',
  },
  'Idempotent-Replayed': {
    description: 'Present if the idempotency key was used before: this repeats the first response',
    schema: { type: 'string', enum: ['true'] },
    example: 'true',
  },
  RateLimit: {
    description:
      'Requests that are left (r), and seconds until the next one is allowed (t; draft-ietf-httpapi-ratelimit-headers)',
    schema: { type: 'string' },
    example: '"create";r=199;t=0',
  },
  'RateLimit-Policy': {
    description: 'The limit: q requests at once, all of which are allowed again after w seconds',
    schema: { type: 'string' },
    example: '"create";q=200;w=2',
  },
  'Retry-After': { description: 'Seconds to wait before the next try', schema: { type: 'integer' }, example: 5 },
  'WWW-Authenticate': {
    description: 'What is wrong with the token (RFC 6750)',
    schema: { type: 'string' },
    example: 'Bearer realm="guiche", error="invalid_token", error_description="The access token has expired"',
  },
}

function createSchemaWriter(components: Record<string, Json>): SchemaWriter {
  function write({ title, ...schema }: Json): Json {
    const written = writeParts(schema, write)
    if (typeof title !== 'string') return written
    const known = components[title]
    // Two shapes of one name would give clients the wrong type. Descriptions may differ: a parameter has its own.
    const isSame = known === undefined || isEqual({ ...known, description: '' }, { ...written, description: '' })
    assert(isSame, `there is one shape named ${title}`)
    components[title] = known?.description === undefined ? written : known
    return ref('schemas', title)
  }
  return write
}

/** Keywords that are left out: conditions, and the examples, which each body has instead. */
const leftOut = new Set(['if', 'then', 'else', 'examples'])

function writeParts(schema: Json, write: SchemaWriter): Json {
  const parts = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (leftOut.has(keyword)) return []
    switch (keyword) {
      case 'properties':
        return [[keyword, mapValues(value as Record<string, Json>, write)]]
      case 'items':
        return [[keyword, write(value as Json)]]
      case 'additionalProperties':
        return [[keyword, typeof value === 'object' ? write(value as Json) : value]]
      case 'anyOf':
      case 'oneOf':
        return [[keyword, (value as Json[]).map(write)]]
      case 'allOf': {
        const members = (value as Json[]).filter((member) => !('if' in member)).map(write)
        return members.length > 0 ? [[keyword, members]] : []
      }
      case 'format':
        return Object.entries(publicFormat(String(value)))
      case 'enum':
        return 'type' in schema
          ? [[keyword, value]]
          : [
              ['type', typeof (value as unknown[])[0]],
              [keyword, value],
            ]
      default:
        return [[keyword, value]]
    }
  })
  return Object.fromEntries(parts)
}

/**
 * Draws the image of each code in an example. Only the document needs it, so it is drawn here and not with the route.
 */
function withImages(example: unknown): unknown {
  return JSON.parse(JSON.stringify(example), (_name, value: unknown) =>
    typeof value === 'object' && value !== null && 'qrCodeBase64' in value && 'uri' in value
      ? { ...value, qrCodeBase64: qrCodeDataUrl(String(value.uri)) }
      : value,
  )
}

function isEqual(one: Json, other: Json): boolean {
  return JSON.stringify(sortKeys(one)) === JSON.stringify(sortKeys(other))
}

function ref(part: string, name: string): Json {
  return { $ref: `#/components/${part}/${name}` }
}

function mapValues<Value, Mapped>(
  values: Record<string, Value>,
  map: (value: Value) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))
}

function sortKeys<Value>(values: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(values).sort(([one], [other]) => (one < other ? -1 : 1)))
}
