import { parse } from 'node:querystring'
import type { FieldError } from '../lib/errors.ts'
import { findNearest } from '../lib/nearest.ts'
import { findJsonNotes, isChangedByParsing, type Path } from './json-body.ts'

/** The parts of a JSON Schema that this file uses. */
export type Schema = {
  type?: string | string[]
  enum?: unknown[]
  format?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | object
  maxItems?: number
  maxLength?: number
  'x-unit'?: string
}

/** How to prepare a value before validation. `item`: of the entries of an array; null if the schema has none. */
type Shape = { fields: Field[]; item: Shape | null; itemsMax: number; textMax: number }
type Field = { name: string; dropsNull: boolean; shape: Shape }

/** Texts in a format are short. A format without a limit gets this one, which is longer than any valid text. */
const formattedMax = 1024
/** The number of unknown names that one error response lists. */
const unknownMax = 20

/**
 * Makes a function that prepares a value for the validator. The validator finds every error, so thousands of invalid
 * items would give several times as many errors. An array is cut to one item more than its limit, and a text to a
 * length that is certainly above its limit, so they are still refused for the same reason. Optional fields that are
 * null are removed: Jackson and System.Text.Json send those that nobody has set.
 */
export function createPreparer(schema: Schema): (data: unknown) => void {
  const shape = toShape(schema)
  return (data) => prepare(shape, data)
}

function toShape(schema: Schema): Shape {
  const required = new Set(schema.required)
  const { maxLength = schema.format === undefined ? Number.POSITIVE_INFINITY : formattedMax } = schema
  return {
    fields: Object.entries(schema.properties ?? {}).map(([name, inner]) => ({
      name,
      dropsNull: !required.has(name) && refusesNull(inner),
      shape: toShape(inner),
    })),
    item: schema.items ? toShape(schema.items) : null,
    itemsMax: schema.maxItems ?? Number.POSITIVE_INFINITY,
    // A character may take two UTF-16 units, and the limit counts characters.
    textMax: 2 * (maxLength + 1),
  }
}

function refusesNull(schema: Schema): boolean {
  return schema.enum ? !schema.enum.includes(null) : typeof schema.type === 'string' && schema.type !== 'null'
}

function prepare(shape: Shape, data: unknown): void {
  if (typeof data !== 'object' || data === null) return
  if (Array.isArray(data)) {
    if (data.length > shape.itemsMax + 1) data.length = shape.itemsMax + 1
    if (!shape.item) return
    for (let index = 0; index < data.length; index += 1) {
      const item: unknown = data[index]
      if (typeof item === 'object') prepare(shape.item, item)
      else if (typeof item === 'string' && item.length > shape.item.textMax)
        data[index] = item.slice(0, shape.item.textMax)
    }
    return
  }
  const values: Record<string, unknown> = data as Record<string, unknown>
  for (const { name, dropsNull, shape: inner } of shape.fields) {
    const value = values[name]
    if (value === undefined) continue
    if (value === null) {
      if (dropsNull) delete values[name]
    } else if (typeof value === 'object') prepare(inner, value)
    else if (typeof value === 'string' && value.length > inner.textMax) values[name] = value.slice(0, inner.textMax)
  }
}

/**
 * The errors that are visible in a body's text but not in its parsed value: duplicate fields, `100.0`, numbers with too
 * many digits.
 */
export function findTextErrors(schema: Schema, body: unknown): FieldError[] {
  const notes = findJsonNotes(body)
  if (!notes) return []
  const errors = notes.duplicates.map((path): FieldError => {
    return path.every(looksShowable)
      ? { field: toField(path), code: 'duplicate', message: 'appears more than once in the same object' }
      : {
          field: toField(path.filter(looksShowable)),
          code: 'duplicate',
          message: 'has a field that appears more than once',
        }
  })
  for (const { path, text } of notes.numbers) {
    const at = schemaAt(schema, path)
    const field = toField(path.filter(looksShowable))
    if (takesInteger(at) && !/^-?\d+$/.test(text)) {
      errors.push({ field, code: 'invalid_type', message: describeInteger(at) })
    } else if (
      at &&
      (takesInteger(at) || isFreeForm(at)) &&
      Number.isFinite(Number(text)) &&
      isChangedByParsing(text)
    ) {
      errors.push({
        field,
        code: 'invalid_number',
        message: 'is a number with more digits than can be kept exactly: send it as a text',
      })
    }
  }
  return errors
}

const looksShowable = (name: string | number) => typeof name === 'number' || looksLikeName(name)

function schemaAt(schema: Schema, path: Path): Schema | undefined {
  let at: Schema | undefined = schema
  for (const name of path) {
    if (!at || isFreeForm(at)) return at
    at =
      typeof name === 'number' ? at.items : Object.hasOwn(at.properties ?? {}, name) ? at.properties?.[name] : undefined
  }
  return at
}

function takesInteger(schema: Schema | undefined): boolean {
  return [schema?.type].flat().includes('integer')
}

function isFreeForm(schema: Schema): boolean {
  return schema.additionalProperties === true
}

/** `['items', 0, 'unitPrice']` → `items[0].unitPrice` */
function toField(path: Path): string {
  return path.reduce<string>((field, part) => {
    if (typeof part === 'number') return `${field}[${part}]`
    return field === '' ? part : `${field}.${part}`
  }, '')
}

/** An unknown name is the caller's own text: it is shown only if it looks like a name. */
export function looksLikeName(name: string): boolean {
  return /^[\w.[\]-]{1,64}$/.test(name)
}

/** The end of a sentence about a field that must be an integer. */
export function describeInteger(schema: Schema | undefined): string {
  return schema?.['x-unit'] === 'cents'
    ? 'must be an integer number of cents, in plain digits: 2590 for R$ 25.90'
    : 'must be an integer, in plain digits such as 10'
}

/** Parses a query. Fastify's own parser leaves invalid percent-encoding as it is: such a filter would find nothing. */
export function parseQuery(text: string): Record<string, unknown> {
  return parse(text, '&', '=', { maxKeys: 0, decodeURIComponent: decodeOrRefuse })
}

/** Gives a control character for what cannot be decoded: validation refuses it, and names the parameter. */
function decodeOrRefuse(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return '\0'
  }
}

/**
 * Errors in how a query or path is written that the validator would accept: `0x10` and `1e1` for 16 and 10. A query
 * that repeats a single-value parameter gets its own sentence. The list of unknown parameters is cut to a readable
 * length.
 */
export function findQueryErrors(schema: Schema, data: unknown): FieldError[] {
  if (typeof data !== 'object' || data === null) return []
  const values: Record<string, unknown> = data as Record<string, unknown>
  const properties = schema.properties ?? {}
  const errors: FieldError[] = []
  let unknown = 0
  for (const name of Object.keys(values)) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined
    const value = values[name]
    if (!property) {
      unknown += 1
      if (unknown > unknownMax) delete values[name]
    } else if (Array.isArray(value) && property.type !== 'array') {
      errors.push({ field: name, code: 'invalid_type', message: 'may be sent only once' })
    } else if (property.type === 'integer' && typeof value === 'string' && !/^-?\d+$/.test(value)) {
      errors.push({ field: name, code: 'invalid_type', message: describeInteger(property) })
    }
  }
  return errors
}

/** The unknown fields of a body that is refused anyway: most are typos. */
export function findUnknownFields(schema: Schema, body: unknown): FieldError[] {
  const errors: FieldError[] = []
  collectUnknown(errors, schema, body, [])
  return errors
}

function collectUnknown(errors: FieldError[], schema: Schema, data: unknown, path: Path): void {
  if (typeof data !== 'object' || data === null || errors.length >= unknownMax) return
  if (Array.isArray(data)) {
    const { items } = schema
    if (items) for (const [index, item] of data.entries()) collectUnknown(errors, items, item, [...path, index])
    return
  }
  const { properties = {} } = schema
  const known = Object.keys(properties)
  if (known.length === 0 || isFreeForm(schema)) return
  for (const [name, value] of Object.entries(data)) {
    const inner = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (inner) collectUnknown(errors, inner, value, [...path, name])
    // With `additionalProperties: false` the validator reports it.
    else if (schema.additionalProperties !== false && looksLikeName(name) && errors.length < unknownMax) {
      const message = `is not known here${suggest(
        name,
        known.filter((one) => !Object.hasOwn(data, one)),
      )}`
      errors.push({ field: toField([...path, name]), code: 'unknown_field', message })
    }
  }
}

function suggest(name: string, known: readonly string[]): string {
  const nearest = findNearest(name, known)
  return nearest === null ? '' : `: did you mean ${nearest}?`
}

/** The end of a sentence about an unknown parameter, with what may be sent instead. */
export function describeUnknown(name: string, schema: Schema | undefined): string {
  const known = Object.keys(schema?.properties ?? {})
  if (known.length === 0) return 'is not known: this route has no parameters'
  const listName = /^(\w+)\[\d*\]$/.exec(name)?.[1]
  if (listName !== undefined && known.includes(listName)) {
    return `is not known here: for several values repeat ${listName}, as in ${listName}=…&${listName}=…`
  }
  return `is not known here${suggest(name, known) || '.'} Known are ${known.join(', ')}`
}
