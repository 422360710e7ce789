import type { ObjectName, Words } from './reference-words.ts'

export type Schema = { [keyword: string]: unknown }

export type Language = {
  words: Words
  /** A text of the OpenAPI document, in the language of the page. */
  translate: (text: string) => string
}

/** How the schemas of one page become text. */
export type Page = Language & {
  schemas: Record<string, Schema>
  /** The address of a section about an object that several operations return. */
  addressOf: (name: ObjectName) => string
}

type Field = { name: string; schema: Schema; note: string }

/** Nested fields follow their parent, to this depth: deeper ones are rarely read. */
const depthMax = 4

/** The fields of a body, one list item each. */
export function writeFields(page: Page, schema: Schema, isRequest: boolean): string {
  return writeList(page, fieldsOf(page, schema, isRequest), isRequest, 0)
}

export function writeParameters(
  page: Page,
  parameters: { name: string; in: string; required: boolean; description?: string; schema: Schema }[],
): string {
  const { words } = page
  const fields = parameters.map(({ name, required, description, schema, in: place }) => {
    const notes = [
      place === 'header' ? words.header : place === 'path' ? words.path : '',
      required ? words.required : '',
    ]
    return { name, schema: { ...dereference(page, schema), description }, note: notes.filter(Boolean).join(', ') }
  })
  return writeList(page, fields, true, depthMax)
}

function writeList(page: Page, fields: Field[], isRequest: boolean, depth: number): string {
  return fields
    .map(({ name, schema, note }) => {
      const head = [`\`${name}\``, toType(page, schema), note].filter(Boolean).join(' · ')
      const about = describe(page, schema)
      const nested = depth < depthMax ? writeList(page, fieldsOf(page, schema, isRequest), isRequest, depth + 1) : ''
      const lines = [`- ${head}${about === '' ? '' : '\\'}`, ...(about === '' ? [] : [`  ${about}`])]
      return [...lines, ...(nested === '' ? [] : [indent(nested)])].join('\n')
    })
    .join('\n')
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}

function fieldsOf(page: Page, schema: Schema, isRequest: boolean): Field[] {
  if (schema.type === 'array') {
    const items = schema.items as Schema | undefined
    return items === undefined || objectIn(page, items) !== null ? [] : fieldsOf(page, items, isRequest)
  }
  const { properties, required } = merge(page, schema)
  return Object.entries(properties).map(([name, field]) => {
    const isRequired = required.includes(name)
    const note = isRequest ? (isRequired ? page.words.required : '') : isRequired ? '' : page.words.optional
    return { name, schema: field, note }
  })
}

type Fields = { properties: Record<string, Schema>; required: string[] }
type Parts = { allOf?: Schema[]; oneOf?: Schema[] }

/** The fields of all parts of a schema, but those of objects with a section elsewhere. */
function merge(page: Page, schema: Schema): Fields {
  const own = '$ref' in schema ? (objectIn(page, schema) === null ? dereference(page, schema) : {}) : schema
  const { properties = {}, required = [], allOf = [], oneOf = [] } = own as Partial<Fields> & Parts
  const parts = [...allOf.map((part) => merge(page, part)), ...mergeVariants(page, oneOf)]
  return {
    properties: Object.assign({}, properties, ...parts.map((part) => part.properties)),
    required: [...required, ...parts.flatMap((part) => part.required)],
  }
}

/** The fields of the first variant. A field that differs in the others has the values, or one of the types, of all. */
function mergeVariants(page: Page, variants: Schema[]): Fields[] {
  const [first, ...others] = variants.map((variant) => merge(page, variant))
  if (first === undefined) return []
  const properties = Object.entries(first.properties).map(([name, field]): [string, Schema] => {
    const fields = [first, ...others].map((variant): Schema => variant.properties[name] ?? {})
    const isSame = fields.every((other) => JSON.stringify(other) === JSON.stringify(field))
    const values = fields.flatMap((one) => (Array.isArray(one.enum) ? one.enum : []))
    return [name, isSame ? field : values.length > 0 ? { ...field, enum: values } : { oneOf: fields }]
  })
  return [{ properties: Object.fromEntries(properties), required: first.required }]
}

/** Resolves a reference at the top level of a schema. */
export function dereference(page: Pick<Page, 'schemas'>, schema: Schema): Schema {
  const name = nameOf(schema)
  if (name === null) return schema
  const { $ref: _, ...beside } = schema
  return { ...dereference(page, page.schemas[name] ?? {}), ...beside }
}

/** The name of the schema that this one refers to. */
export function nameOf(schema: Schema): string | null {
  return typeof schema.$ref === 'string' ? (schema.$ref.split('/').pop() ?? null) : null
}

/** The object with a section elsewhere that a schema is, or adds fields to. */
export function objectIn({ words }: Pick<Page, 'words'>, schema: Schema): ObjectName | null {
  const names = [schema, ...((schema.allOf as Schema[] | undefined) ?? [])].map(nameOf)
  return names.find((name): name is ObjectName => name !== null && name in words.object) ?? null
}

function toType(page: Page, written: Schema): string {
  const { words } = page
  const variants = (written.oneOf as Schema[] | undefined) ?? [written]
  const objects = variants.flatMap((variant) => objectIn(page, variant) ?? [])
  if (objects.length > 0) {
    const links = objects.map((object) => `[${words.object[object]}](${page.addressOf(object)})`)
    return `${links.join(` ${words.or} `)}${variants.some((variant) => 'allOf' in variant) ? `, ${words.with}` : ''}`
  }
  const schema = dereference(page, written)
  if (schema.type === 'array') return words.listOf(toType(page, (schema.items as Schema | undefined) ?? {}))
  if (Array.isArray(schema.enum)) {
    const values = schema.enum.map((value) => `\`${String(value)}\``)
    return values.length === 1 ? values.join('') : words.oneOf(values)
  }
  if ('const' in schema) return `\`${String(schema.const)}\``
  const names = [schema.type ?? 'object'].flat().map((type) => words.types[String(type)] ?? String(type))
  const format = typeof schema.format === 'string' ? ` (${schema.format})` : ''
  return `${names.join(` ${words.or} `)}${format}`
}

function describe(page: Page, written: Schema): string {
  const { words, translate } = page
  const variants = (written.oneOf as Schema[] | undefined) ?? []
  if (variants.length > 0) return variants.map((variant) => describe(page, variant)).join(' ')
  const schema = dereference(page, written)
  const items = schema.type === 'array' ? dereference(page, (schema.items as Schema | undefined) ?? {}) : {}
  const text = written.description ?? schema.description ?? items.description
  const from = schema.minimum ?? schema.minLength ?? schema.minItems
  const to = schema.maximum ?? schema.maxLength ?? schema.maxItems
  const unit = 'maxLength' in schema ? ` ${words.characters}` : 'maxItems' in schema ? ` ${words.items}` : ''
  const range =
    to !== undefined
      ? `${from === undefined ? words.upTo(String(to)) : words.between(String(from), String(to))}${unit}`
      : from === undefined
        ? ''
        : `${words.from(String(from))}${unit}`
  const fallback = 'default' in schema ? words.byDefault(`\`${JSON.stringify(schema.default)}\``) : ''
  return [typeof text === 'string' ? translate(text) : '', range, fallback]
    .filter(Boolean)
    .map((sentence) => `${sentence.replaceAll('\n', ' ')}${/[.:]$/.test(sentence) ? '' : '.'}`)
    .join(' ')
}
