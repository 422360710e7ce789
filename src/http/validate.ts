import { Ajv, type ErrorObject } from 'ajv'
import { type FieldError, invalidFields } from '../lib/errors.ts'
import { hasForbiddenCharacters } from '../lib/text.ts'
import { addOurFormats, describeFormat, parseDateTime } from './formats.ts'
import {
  createPreparer,
  describeInteger,
  describeUnknown,
  findQueryErrors,
  findTextErrors,
  findUnknownFields,
  looksLikeName,
  type Schema,
} from './request-shape.ts'

/** Deeper than any valid request, and far below the depth at which recursion would exhaust the stack. */
const depthMax = 32
/**
 * More errors than a valid-sized request has if every field is wrong (100 items of 4 fields, and some 40 others). A
 * body made for it could produce errors of a hundred times its own size.
 */
const faultsMax = 500

type Part = 'body' | 'querystring' | 'params'
type Options = { checkWebhookUrl: (url: string) => string | null }

/**
 * Makes Fastify's validator. Bodies are validated strictly, without coercion; texts of a query or path become numbers
 * and arrays. `createPreparer` removes optional fields that are null. The error lists everything that is wrong with
 * that part of the request, and never a submitted value.
 */
export function createValidator(options: Options) {
  const strict = createAjv(false, options)
  const lenient = createAjv('array', options)
  return ({ schema: compiled, httpPart }: { schema: object; httpPart?: string }) => {
    const schema: Schema = compiled
    // The schemas of headers are for the API reference only.
    if (httpPart === 'headers') return (data: unknown) => ({ value: data })
    const part = (httpPart ?? 'body') as Part
    const validate = (part === 'body' ? strict : lenient).compile(schema)
    const prepare = createPreparer(schema)
    return (data: unknown) => {
      const ownFaults: FieldError[] = []
      if (!isSound(data, 0)) collectTextFaults(ownFaults, data, '', 0)
      if (part === 'body') ownFaults.push(...findTextErrors(schema, data))
      else ownFaults.push(...findQueryErrors(schema, data))
      prepare(data)
      const isValid = validate(data)
      if (isValid && ownFaults.length === 0) return { value: data }
      const errors = isValid ? [] : (validate.errors ?? []).slice(0, faultsMax)
      const faults = [...ownFaults, ...errors.flatMap((error) => toFieldError(error, part, options))]
      if (part === 'body') faults.push(...findUnknownFields(schema, data))
      const fields = unique(part === 'querystring' ? faults.map(withoutIndex) : faults)
      return { error: invalidFields(fields) }
    }
  }
}

function createAjv(coerceTypes: false | 'array', options: Options): Ajv {
  const ajv = new Ajv({
    coerceTypes,
    useDefaults: true,
    removeAdditional: false,
    allErrors: true,
    verbose: true,
    strict: false,
    // Our own schemas. Compiling the schema of schemas takes longer than compiling the first of ours.
    meta: false,
    validateSchema: false,
  })
  addOurFormats(ajv)
  ajv.addFormat(
    'webhook-url',
    rememberAccepted((text) => options.checkWebhookUrl(text) === null),
  )
  ajv.addKeyword({
    keyword: 'x-json-limits',
    schemaType: 'object',
    validate: fitsJsonLimits,
    error: { message: 'is too large' },
  })
  ajv.addKeyword({
    keyword: 'x-ordered',
    type: 'object',
    schemaType: 'array',
    validate: isOrdered,
    error: { message: 'is out of order' },
  })
  return ajv
}

/** Enough for the webhook URLs in use, at 2 kB each at most. */
const acceptedMax = 1_000

/** A merchant sends the same URL with every request: recognizing it takes a tenth of the time of parsing it again. */
function rememberAccepted(accepts: (text: string) => boolean): (text: string) => boolean {
  const accepted = new Set<string>()
  return (text) => {
    if (accepted.has(text)) return true
    if (!accepts(text)) return false
    if (accepted.size === acceptedMax) accepted.clear()
    accepted.add(text)
    return true
  }
}

type JsonLimits = { bytesMax: number; depthMax: number; keysMax: number }

function fitsJsonLimits(limits: JsonLimits, data: unknown): boolean {
  // Counts the keys first, with a limit on the depth: JSON.stringify would recurse too.
  return (
    countKeys(data, limits.depthMax) <= limits.keysMax && Buffer.byteLength(JSON.stringify(data)) <= limits.bytesMax
  )
}

/** The number of keys in a value at all levels; infinite if it is nested more deeply than allowed. */
function countKeys(value: unknown, depthMax: number): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depthMax === 0) return Number.POSITIVE_INFINITY
  let keys = 0
  if (Array.isArray(value)) for (const item of value) keys += countKeys(item, depthMax - 1)
  else for (const member of Object.values(value)) keys += 1 + countKeys(member, depthMax - 1)
  return keys
}

/** `[['startDate', 'endDate']]`: if both are present, the first must not be greater than the second. */
function isOrdered(pairs: [string, string][], data: Record<string, unknown>): boolean {
  return pairs.every(([low, high]) => isNotAbove(data[low], data[high]))
}

/** Compares amounts and dates as they are in a query: text, or numbers parsed from it. */
function isNotAbove(low: unknown, high: unknown): boolean {
  const [from, to] = [toComparable(low), toComparable(high)]
  return from === null || to === null || from <= to
}

function toComparable(value: unknown): number | null {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  if (typeof number === 'number' && !Number.isNaN(number)) return number
  return typeof value === 'string' ? (parseDateTime(value)?.getTime() ?? null) : null
}

/**
 * True if {@link collectTextFaults} would find nothing, as in nearly all requests. It builds no paths and is four times
 * as fast.
 */
function isSound(data: unknown, depth: number): boolean {
  if (typeof data === 'string') return !hasForbiddenCharacters(data)
  if (typeof data === 'number') return Number.isFinite(data)
  if (typeof data !== 'object' || data === null) return true
  if (depth === depthMax) return false
  if (Array.isArray(data)) return data.every((item) => isSound(item, depth + 1))
  const members: Record<string, unknown> = data as Record<string, unknown>
  // With `for in`, Node.js 24 and later compile this function and discard the result, a hundred times a second.
  for (const name of Object.keys(members))
    if (hasForbiddenCharacters(name) || !isSound(members[name], depth + 1)) return false
  return true
}

/** Finds control characters, lone surrogates, numbers that JSON cannot represent, and values nested too deeply. */
function collectTextFaults(faults: FieldError[], data: unknown, field: string, depth: number): void {
  if (faults.length >= faultsMax) return
  if (typeof data === 'string') {
    if (hasForbiddenCharacters(data)) faults.push({ field, code: 'invalid_text', message: brokenText })
  } else if (typeof data === 'number') {
    if (!Number.isFinite(data))
      faults.push({ field, code: 'invalid_number', message: 'is a number that is too large to keep' })
  } else if (typeof data === 'object' && data !== null) {
    if (depth === depthMax) faults.push({ field, code: 'too_deep', message: 'is nested too deeply' })
    else collectMembersTextFaults(faults, data, field, depth + 1)
  }
}

function collectMembersTextFaults(faults: FieldError[], data: object, field: string, depth: number): void {
  if (Array.isArray(data)) {
    for (const [index, item] of data.entries()) collectTextFaults(faults, item, `${field}[${index}]`, depth)
    return
  }
  for (const [name, value] of Object.entries(data)) {
    if (hasForbiddenCharacters(name)) {
      faults.push({ field, code: 'invalid_text', message: `has a field whose name ${brokenText}` })
    } else {
      const inner = looksLikeName(name) ? (field === '' ? name : `${field}.${name}`) : field
      collectTextFaults(faults, value, inner, depth)
    }
  }
}

const brokenText = 'may not contain control characters or invalid Unicode'

function toFieldError(error: ErrorObject, part: Part, options: Options): FieldError[] {
  const field = toPath(error.instancePath)
  const params: Record<string, unknown> = error.params
  const at = (name: unknown) => (field === '' ? String(name) : `${field}.${name}`)
  switch (error.keyword) {
    // The errors inside `then` and `else` are reported separately.
    case 'if':
      return []
    case 'required':
      return [{ field: at(params.missingProperty), code: 'required', message: 'is required' }]
    case 'additionalProperties':
      return [
        {
          field: at(nameOrPart(params.additionalProperty, part)),
          code: 'unknown_parameter',
          message: describeUnknown(String(params.additionalProperty), schemaOf(error)),
        },
      ]
    case 'type':
      return [{ field, code: 'invalid_type', message: describeTypes([params.type].flat(), schemaOf(error)) }]
    case 'enum':
      return [
        { field, code: 'invalid_value', message: `must be one of ${(params.allowedValues as unknown[]).join(', ')}` },
      ]
    case 'const':
      return [{ field, code: 'invalid_value', message: `must be ${String(params.allowedValue)}` }]
    case 'minimum':
      return [{ field, code: 'too_small', message: `must be at least ${params.limit}`, ...limitOf(error) }]
    case 'maximum':
      return [{ field, code: 'too_large', message: `must be at most ${params.limit}`, ...limitOf(error) }]
    case 'minLength':
      return [
        {
          field,
          code: 'too_short',
          message: `must have at least ${describeCount(params.limit, 'character')}`,
          ...limitOf(error),
        },
      ]
    case 'maxLength':
      return [{ field, code: 'too_long', message: `must have at most ${params.limit} characters`, ...limitOf(error) }]
    case 'minItems':
      return [
        {
          field,
          code: 'too_few',
          message: `must have at least ${describeCount(params.limit, 'item')}`,
          ...limitOf(error),
        },
      ]
    case 'maxItems':
      return [{ field, code: 'too_many', message: `must have at most ${params.limit} items`, ...limitOf(error) }]
    case 'uniqueItems':
      return [{ field, code: 'duplicate', message: 'may not name the same value twice' }]
    case 'format':
      return [{ field, code: 'invalid_format', message: describeInvalidFormat(error, part, options) }]
    case 'x-json-limits':
      return [toJsonTooLarge(field, error.schema as JsonLimits)]
    case 'x-ordered':
      return (error.schema as [string, string][])
        .filter(
          ([low, high]) =>
            !isNotAbove((error.data as Record<string, unknown>)[low], (error.data as Record<string, unknown>)[high]),
        )
        .map(([low, high]) => ({
          field: high,
          code: 'out_of_order',
          message: `may not be ${low.endsWith('Date') ? 'before' : 'below'} ${low}`,
        }))
    default:
      return [{ field, code: 'invalid', message: error.message ?? 'is not valid' }]
  }
}

function describeCount(count: unknown, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`
}

function nameOrPart(name: unknown, part: Part): string {
  return typeof name === 'string' && looksLikeName(name) ? name : part
}

function describeInvalidFormat(error: ErrorObject, part: Part, options: Options): string {
  const format = String(error.params.format)
  if (part === 'params' && error.data === '') return 'is empty: add one, or leave out the slash at the end'
  if (format !== 'webhook-url') return describeFormat(format)
  return options.checkWebhookUrl(String(error.data)) ?? 'must be a URL'
}

function toJsonTooLarge(field: string, { bytesMax, keysMax, depthMax }: JsonLimits): FieldError {
  const message = `may have at most ${bytesMax} bytes as JSON, ${keysMax} keys in total and ${depthMax} levels`
  return { field, code: 'too_large', message, limit: bytesMax, unit: 'bytes' }
}

function limitOf(error: ErrorObject): Pick<FieldError, 'limit' | 'unit'> {
  const isAmount = schemaOf(error)?.['x-unit'] === 'cents'
  return { limit: Number(error.params.limit), ...(isAmount && { unit: 'cents' }) }
}

/** `/items/0/unitPrice` → `items[0].unitPrice` */
function toPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : path === '' ? part : `${path}.${part}`), '')
}

/** A repeated parameter is reported as one: `status`, not `status[1]`. */
function withoutIndex(fault: FieldError): FieldError {
  return { ...fault, field: fault.field.replace(/\[\d+\]$/, '') }
}

function schemaOf({ parentSchema }: ErrorObject): Schema | undefined {
  return typeof parentSchema === 'object' ? (parentSchema as object) : undefined
}

function describeTypes(types: unknown[], schema: Schema | undefined): string {
  const [type, ...others] = types.map(String)
  const first = describeType(type ?? '', schema)
  return [first, ...others].join(first.includes(',') ? ', or ' : ' or ')
}

function describeType(type: string, schema: Schema | undefined): string {
  if (type === 'integer') return describeInteger(schema)
  const names = type === 'object' ? (schema?.required ?? []) : []
  const last = names.at(-1)
  if (last === undefined) return `must be ${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`
  return `must be an object with ${names.length === 1 ? last : `${names.slice(0, -1).join(', ')} and ${last}`}`
}

function unique(fields: FieldError[]): FieldError[] {
  const seen = new Set<string>()
  return fields.filter(({ field, code }) => {
    const key = `${field}\n${code}`
    return !seen.has(key) && Boolean(seen.add(key))
  })
}
