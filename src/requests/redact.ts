/** The names of fields that a route knows. Any other name may be data: a person's name as a key, for example. */
export type KnownNames = ReadonlySet<string>

/** Deep enough for any valid request. What is beyond these limits is not kept. */
const depthMax = 5
/** The first entries of a list show the shape of the others. */
const entriesMax = 5
const fieldsMax = 40

/** Numbers in these fields are amounts, counts and durations. In any other field a number may be a document. */
const plainNumbers = new Set([
  ...['amount', 'unitPrice', 'quantity', 'expirationSeconds'],
  ...['page', 'perPage', 'minAmount', 'maxAmount', 'limit', 'wait'],
])
/** Texts in these fields are kept if they are constants of the API, such as a status. */
const plainWords = new Set(['type', 'paymentMethod', 'status', 'state', 'sort', 'order'])
const apiConstant = /^[A-Z]{2,12}(?:_[A-Z]{2,12}){0,3}$/

/**
 * A copy that shows the shape of a value: fields, kinds and lengths. Only what cannot be personal or secret is kept as
 * it is: an allowed value under an allowed name.
 */
export function redact(value: unknown, known: KnownNames, name = '', depth = 0): unknown {
  if (value === null || typeof value === 'boolean') return value
  if (typeof value === 'number') return plainNumbers.has(name) && isPlain(value) ? value : '[number]'
  if (typeof value === 'string') {
    if (plainWords.has(name) && wordsOf(known).has(value)) return value
    return redactText(value)
  }
  if (typeof value !== 'object') return '[unknown]'
  if (depth >= depthMax) return '[deeper]'
  if (Array.isArray(value)) {
    const shown: unknown[] = value.slice(0, entriesMax).map((one) => redact(one, known, name, depth + 1))
    return value.length > entriesMax ? [...shown, `[${value.length - entriesMax} more]`] : shown
  }
  // The keys of metadata are the caller's own.
  if (name === 'metadata') return `[object, ${Object.keys(value).length} fields]`
  return redactFields(value, known, depth)
}

export const redactText = (text: string) => `[text, ${text.length} characters]`

/** The value, if it is a constant of the API, such as a status. */
export const toPlainWord = (value: unknown): string | null =>
  typeof value === 'string' && apiConstant.test(value) ? value : null

function redactFields(value: object, known: KnownNames, depth: number): Record<string, unknown> {
  const redacted: Record<string, unknown> = {}
  let unknown = 0
  for (const [field, one] of Object.entries(value).slice(0, fieldsMax)) {
    if (known.has(field)) redacted[field] = redact(one, known, field, depth + 1)
    else unknown += 1
  }
  unknown += Math.max(0, Object.keys(value).length - fieldsMax)
  return unknown === 0 ? redacted : { ...redacted, '[unknown fields]': unknown }
}

/** As many digits as the largest amount. A CPF has eleven, but as a number it loses its leading zeros. */
const isPlain = (value: number) => Number.isSafeInteger(value) && Math.abs(value) < 100_000_000

/** A field's path in an error, with unknown names replaced. */
export function redactPath(path: string, known: KnownNames): string {
  return path
    .split(/[.[\]]+/)
    .filter((part) => part !== '')
    .map((part) => (/^\d{1,4}$/.test(part) || known.has(part) ? part : '[unknown]'))
    .join('.')
}

const words = new WeakMap<KnownNames, ReadonlySet<string>>()
const noWords: ReadonlySet<string> = new Set()
const wordsOf = (known: KnownNames) => words.get(known) ?? noWords

/** Collects the names of fields, and the words that enumerations allow, from the schemas of a route. */
export function collectNames(...schemas: unknown[]): KnownNames {
  const names = new Set<string>()
  const allowed = new Set<string>()
  const visit = (schema: unknown): void => {
    if (typeof schema !== 'object' || schema === null) return
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === 'properties') for (const name of Object.keys(value as object)) names.add(name)
      for (const one of keyword === 'enum' ? (value as unknown[]) : keyword === 'const' ? [value] : [])
        if (typeof one === 'string' && apiConstant.test(one)) allowed.add(one)
      if (keyword !== 'examples' && keyword !== 'default') visit(value)
    }
  }
  for (const schema of schemas) visit(schema)
  words.set(names, allowed)
  return names
}
