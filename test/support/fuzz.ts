import fc from 'fast-check'
import { publicFormat } from '../../src/http/formats.ts'
import type { ApiDocument, Json, Operation } from './api-document.ts'

/** One HTTP request, ready to send. */
export type FuzzRequest = {
  operation: Operation
  method: string
  path: string
  headers: Record<string, string>
  body: string | null
}

type Options = {
  document: ApiDocument
  token: string
  /** Valid values that lead to records, by the name of a field or parameter. */
  known: Record<string, string[]>
}

/** Nearly valid requests: generated from an operation's documentation, then broken in a few places. */
export function arbitraryRequest(operations: Operation[], options: Options): fc.Arbitrary<FuzzRequest> {
  return fc.constantFrom(...operations).chain((operation) =>
    fc
      .record({
        path: arbitraryPath(operation, options),
        query: arbitraryQuery(operation, options),
        body: arbitraryBody(operation, options),
        headers: arbitraryHeaders(operation, options.token),
        method: mostly(fc.constant(operation.method), fc.constantFrom(...otherMethods), 25),
      })
      .map(({ path, query, body, headers, method }) => ({
        operation,
        method,
        path: path + query,
        headers: { ...(body.type !== null && { 'content-type': body.type }), ...headers },
        body: method === 'HEAD' ? null : body.text,
        // How fast-check prints a failing request.
        [fc.toStringMethod]: () => `${method} ${path}${query} ${JSON.stringify(headers)} ${JSON.stringify(body)}`,
      })),
  )
}

const otherMethods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'CHARGE']

/** The usual value, except once in `oneIn` draws. */
function mostly<Value>(usual: fc.Arbitrary<Value>, rare: fc.Arbitrary<Value>, oneIn: number): fc.Arbitrary<Value> {
  return fc.oneof({ weight: oneIn - 1, arbitrary: usual }, { weight: 1, arbitrary: rare })
}

function arbitraryPath(operation: Operation, options: Options): fc.Arbitrary<string> {
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name))
  const values = names.map((name) => {
    const schema = operation.parameters?.find((one) => one.in === 'path' && one.name === name)?.schema ?? {}
    return mostly(arbitraryOf(schema, options, name).map(String), junkText, 4)
  })
  return fc
    .tuple(...values)
    .map((parts) =>
      names.reduce((path, name, index) => path.replace(`{${name}}`, percent(parts[index] || 'x')), operation.path),
    )
}

function arbitraryQuery(operation: Operation, options: Options): fc.Arbitrary<string> {
  const parameters = (operation.parameters ?? []).filter((one) => one.in === 'query')
  const pair =
    parameters.length === 0
      ? arbitraryJunkPair
      : mostly(
          fc.constantFrom(...parameters).chain(({ name, schema }) =>
            mostly(
              arbitraryOf(schema, options, name),
              fc.oneof(junkText, fc.constantFrom('', '0', '-1', '1.5', '1e3', 'true')),
              4,
            ).map((value) =>
              [value]
                .flat()
                .map((one) => `${name}=${percent(String(one))}`)
                .join('&'),
            ),
          ),
          arbitraryJunkPair,
          8,
        )
  return fc
    .array(pair, { maxLength: parameters.length === 0 ? 1 : 4 })
    .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.join('&')}`))
}

const arbitraryJunkPair = fc.oneof(
  fc.constantFrom(
    '',
    '=',
    '&&',
    'a',
    '__proto__=1',
    'constructor[prototype]=1',
    'id[]=1',
    '%',
    '%ff=%ff',
    'page=%00',
    '?',
  ),
  fc
    .tuple(fc.string({ maxLength: 10 }), fc.string({ maxLength: 10 }))
    .map(([name, value]) => `${percent(name)}=${percent(value)}`),
)

type Body = { text: string | null; type: string | null }

function arbitraryBody(operation: Operation, options: Options): fc.Arbitrary<Body> {
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? []
  if (!type) return mostly<Body>(fc.constant({ text: null, type: null }), arbitraryJunkBody, 10)
  const valid = arbitraryOf(content?.schema ?? {}, options)
  const spoilt = fc
    .tuple(valid, fc.oneof(fc.constant([]), fc.array(fc.tuple(fc.nat(), junk), { maxLength: 3 })))
    .map(([value, changes]) => changes.reduce(spoil, structuredClone(value)))
  const usual = spoilt.map(
    (value): Body => ({ type, text: type.includes('json') ? writeJson(value) : writeForm(value) }),
  )
  return mostly(usual, arbitraryJunkBody, 10)
}

const arbitraryJunkBody: fc.Arbitrary<Body> = fc.record({
  type: fc.constantFrom(
    'application/json',
    'application/json; charset=x',
    'application/x-www-form-urlencoded',
    'text/plain',
    'multipart/form-data',
    ';',
    null,
  ),
  text: fc.oneof(
    fc.constantFrom(
      null,
      '',
      ' ',
      '{',
      '[]',
      'null',
      '7',
      '"x"',
      '{"a":1}{',
      '\ufeff{}',
      'a=1&a=2',
      '{"__proto__":1}',
      `${'['.repeat(5_000)}`,
    ),
    fc.json(),
    fc.string(),
    fc.constant(`{"a":"${'x'.repeat(70_000)}"}`),
  ),
})

function arbitraryHeaders(operation: Operation, token: string): fc.Arbitrary<Record<string, string>> {
  const visible = fc
    .string({ unit: fc.constantFrom(...'abcXYZ019 -_.,;:"\'()/%=+é\u00ff'), maxLength: 40 })
    .map((text) => text.trim())
  const needsToken = operation.security?.some(({ bearer }) => bearer) ?? false
  const authorization = needsToken
    ? mostly(
        fc.constant(`Bearer ${token}`),
        fc.oneof(
          fc.constantFrom('', 'Bearer', 'Bearer x', 'Bearer a.b.c', `Basic ${token}`, `bearer  ${token}`),
          visible,
        ),
        12,
      )
    : mostly(fc.constant(''), visible, 4)
  const others = fc.constantFrom(
    'idempotency-key',
    'x-request-id',
    'accept',
    'accept-encoding',
    'content-encoding',
    'x-http-method-override',
    'if-none-match',
    'range',
    'cookie',
    'origin',
    'x-forwarded-for',
  )
  return fc
    .tuple(authorization, fc.dictionary(others, visible, { maxKeys: 2 }))
    .map(([value, more]) => ({ ...more, ...(value !== '' && { authorization: value }) }))
}

/** Values that a schema allows, including the limits of its ranges. */
function arbitraryOf(schema: Json, options: Options, name = ''): fc.Arbitrary<unknown> {
  const known = options.known[name]
  if (known && known.length > 0) return mostly(arbitraryUnknown(schema, options), fc.constantFrom(...known), 2)
  return arbitraryUnknown(schema, options)
}

function arbitraryUnknown(schema: Json, options: Options): fc.Arbitrary<unknown> {
  if (typeof schema.$ref === 'string') {
    return arbitraryUnknown(options.document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, options)
  }
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum)
  switch ([schema.type].flat()[0]) {
    case 'string':
      return arbitraryText(schema)
    case 'integer':
    case 'number':
      return arbitraryInteger(schema)
    case 'boolean':
      return fc.boolean()
    case 'array':
      return arbitraryArray(schema, options)
    case 'object':
      return arbitraryObject(schema, options)
    default:
      return fc.jsonValue()
  }
}

function arbitraryArray(schema: Json, options: Options): fc.Arbitrary<unknown[]> {
  const item = arbitraryOf((schema.items ?? {}) as Json, options)
  const length = { minLength: Number(schema.minItems ?? 0), maxLength: Math.min(4, Number(schema.maxItems ?? 4)) }
  return schema.uniqueItems ? fc.uniqueArray(item, length) : fc.array(item, length)
}

function arbitraryObject(schema: Json, options: Options): fc.Arbitrary<object> {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, Json>)
  if (properties.length === 0)
    return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), {
      maxKeys: 4,
      noNullPrototype: true,
    })
  const required = (schema.required ?? []) as string[]
  return fc.record(Object.fromEntries(properties.map(([name, member]) => [name, arbitraryOf(member, options, name)])), {
    requiredKeys: required,
    noNullPrototype: true,
  })
}

function arbitraryInteger(schema: Json): fc.Arbitrary<number> {
  const min = Number(schema.minimum ?? 0)
  const max = Number(schema.maximum ?? Number.MAX_SAFE_INTEGER)
  return fc.oneof(fc.constantFrom(min, max), fc.integer({ min, max: Math.max(min, Math.min(max, 5_000)) }))
}

function arbitraryText(schema: Json): fc.Arbitrary<string> {
  const samples = samplesOfFormat[String(schema.format)] ?? samplesOfPattern.get(String(schema.pattern))
  if (samples) return fc.constantFrom(...samples)
  const minLength = Number(schema.minLength ?? 0)
  const maxLength = Number(schema.maxLength ?? 60)
  return fc.oneof(
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(maxLength, 60)) }),
    fc.constantFrom('x'.repeat(minLength), '😀'.repeat(Math.min(maxLength, 300))),
  )
}

/** Texts that a format accepts. */
export const samplesOfFormat: Record<string, string[]> = {
  'international-name': ['Ana', 'João d’Ávila', '株式会社', '\uff9e'],
  document: ['529.982.247-25', '11222333000181', '12abc34501de35'],
  'landline-phone': ['(11) 3333-4444', '1133334444'],
  'mobile-phone': ['(11) 98765-4321', '+5511987654321'],
  'phone-search': ['11987654321', '0'],
  'ip-address': ['203.0.113.7', '::1'],
  'zip-code': ['01310-100', '01310100'],
  'digits-only': ['1', '1578'],
  'uuid-any': ['00000000-0000-0000-0000-000000000000', '018F6B1E-7C3A-7ABC-8DEF-0123456789AB'],
  'uuid-v4': ['6f1c1b0e-5c7b-4a5e-9a0d-3a1f4be0a2d1'],
  uuid: ['00000000-0000-0000-0000-000000000000', '6f1c1b0e-5c7b-4a5e-9a0d-3a1f4be0a2d1'],
  date: ['1990-12-31', '0001-01-01'],
  // Filters accept more than the standard demands.
  'date-time': [
    '2026-03-02T15:00:00Z',
    '0001-01-01T00:00:00+14:00',
    '9999-12-31T23:59:59.999-12:00',
    '2026-03-02T12:00-03:00',
  ],
  email: ['ana@example.com'],
  'pix-key': ['52998224725', 'ana@example.com', '+5511987654321', '6f1c1b0e-5c7b-4a5e-9a0d-3a1f4be0a2d1'],
  'webhook-url': ['https://receiver.invalid/hook', 'https://receiver.invalid:8443/?a=b'],
}

/** The document has patterns in place of our own formats. */
const samplesOfPattern = new Map<string, string[]>()
for (const [format, samples] of Object.entries(samplesOfFormat)) {
  const { pattern } = publicFormat(format)
  if (pattern !== undefined) samplesOfPattern.set(pattern, [...(samplesOfPattern.get(pattern) ?? []), ...samples])
}

const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code))

const junkText = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\u0000',
    'a\u0000b',
    '\ud800',
    '\u2028',
    '\u202e',
    '%',
    '..',
    '../..',
    "' or 1=1 --",
    '{}',
    'null',
    '\\',
    '%_',
    '😀'.repeat(40),
  ),
  // Not the unit `binary`: it maps all of Unicode, which takes seconds.
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.constant('9'.repeat(400)),
  fc.constant('x'.repeat(5_000)),
)

/** Marks a field that is left out. */
const nothing = Symbol('nothing')

const junk: fc.Arbitrary<unknown> = fc.oneof(
  fc.constant(nothing),
  fc.constantFrom(null, true, false, 0, -1, 1.5, 1e308, -0, 2 ** 53, 99_999_999_999, '', '100', [], {}, [[]], [null], {
    toString: 1,
  }),
  junkText,
  fc.anything({ maxDepth: 2, withNullPrototype: false }).map((value) => JSON.parse(writeJson(value))),
)

/**
 * Replaces a field of a value by junk, removes it, or adds one. Copies the junk: a later change may be inside it, and
 * fast-check draws the same object again.
 */
function spoil(value: unknown, [place, replacement]: [number, unknown]): unknown {
  const places = listPlaces(value)
  const chosen = places[place % (places.length + 1)]
  if (!chosen)
    return typeof value === 'object' && value !== null && replacement !== nothing
      ? { ...value, unknownMember: structuredClone(replacement) }
      : value
  const { parent, name } = chosen
  if (replacement === nothing) Reflect.deleteProperty(parent, name)
  else parent[name] = structuredClone(replacement)
  return value
}

function listPlaces(value: unknown): { parent: Json; name: string }[] {
  if (typeof value !== 'object' || value === null) return []
  const parent = value as Json
  return Object.keys(parent).flatMap((name) => [{ parent, name }, ...listPlaces(parent[name])])
}

function writeJson(value: unknown): string {
  return JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member)) ?? 'null'
}

function writeForm(value: unknown): string {
  const pairs = typeof value === 'object' && value !== null ? Object.entries(value) : []
  return pairs
    .map(([name, member]) => `${percent(name)}=${percent(typeof member === 'string' ? member : writeJson(member))}`)
    .join('&')
}

/** Percent-encoding that accepts broken Unicode. `%`, which is invalid in an address, and `..` stay as they are. */
function percent(text: string): string {
  if (text === '%' || text === '..') return text
  return [...Buffer.from(text, 'utf8')]
    .map((byte) =>
      /[\w.~-]/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : `%${byte.toString(16).padStart(2, '0')}`,
    )
    .join('')
}
