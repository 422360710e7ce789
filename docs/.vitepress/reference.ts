/** The API's reference as Markdown, from its OpenAPI document: the input and output of each route, one field a line. */

type Schema = { [keyword: string]: unknown }
type Operation = {
  summary: string
  description?: string
  tags: string[]
  parameters?: { name: string; in: string; required: boolean; description?: string; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>
}
type Document = {
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** Nested fields follow their parent, to this depth: deeper ones are rarely read. */
const depthMax = 4

export function writeReference(written: Document): string {
  const document = resolveReferences(written, written) as Document
  const operations = Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const sections = document.tags.map(({ name, description }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name))
    return [`## ${name}`, `${description}.`, ...own.map((one) => writeOperation(one))].join('\n\n')
  })
  return [
    ...sections,
    '## Problem',
    'The body of every error but those of `/auth/token`: `application/problem+json`.',
    table(membersOf(document.components.schemas.Problem ?? {})),
  ].join('\n\n')
}

/** The named shapes in the places where they are used. */
function resolveReferences(value: unknown, document: object): unknown {
  if (Array.isArray(value)) return value.map((one) => resolveReferences(one, document))
  if (typeof value !== 'object' || value === null) return value
  if ('$ref' in value) {
    const names = String(value.$ref).split('/').slice(1)
    const named = names.reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], document)
    return resolveReferences(named, document)
  }
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, resolveReferences(one, document)]))
}

function writeOperation({ path, method, operation }: { path: string; method: string; operation: Operation }): string {
  const parameters = (operation.parameters ?? []).map(({ name, required, description, schema, in: place }) => {
    const where = place === 'query' ? '' : ` (${place})`
    return { name: `${name}${where}`, isRequired: required, schema: { ...schema, description } }
  })
  const bodies = Object.entries(operation.requestBody?.content ?? {})
  const answers = Object.entries(operation.responses)
  const refusals = answers.map(([status]) => status).filter((status) => Number(status) >= 400)
  const isWebhook = !path.startsWith('/')
  return [
    isWebhook ? `### ${path}` : `### ${method} ${path}`,
    [`**${operation.summary}.**`, operation.description ?? ''].join(' '),
    ...(parameters.length > 0 ? ['#### Parameters', table(parameters)] : []),
    ...bodies.flatMap(([type, { schema }]) => [`#### Body, ${type}`, table(membersOf(schema))]),
    ...answers
      .filter(([status]) => !(Number(status) >= 400))
      .flatMap(([status, answer]) => writeAnswer(status, answer)),
    ...(refusals.length > 0 ? [`Refused with ${refusals.join(', ')}.`] : []),
  ].join('\n\n')
}

function writeAnswer(status: string, { content = {} }: Operation['responses'][string]): string[] {
  const bodies = Object.entries(content)
  if (bodies.length === 0) return [`#### Answer ${status}`]
  return bodies.flatMap(([type, { schema }]) => {
    const members = membersOf(schema)
    return [`#### Answer ${status}, ${type}`, ...(members.length > 0 ? [table(members)] : [])]
  })
}

type Member = { name: string; isRequired: boolean; schema: Schema }

function membersOf(schema: Schema, prefix = '', depth = 0): Member[] {
  const inner = schema.type === 'array' ? ((schema.items as Schema | undefined) ?? {}) : merge(schema)
  const required = new Set(Array.isArray(inner.required) ? inner.required : [])
  return Object.entries((inner.properties as Record<string, Schema> | undefined) ?? {}).flatMap(([name, member]) => {
    const path = `${prefix}${name}${member.type === 'array' ? '[]' : ''}`
    const deeper = depth < depthMax ? membersOf(member, `${path}.`, depth + 1) : []
    return [{ name: path, isRequired: required.has(name), schema: member }, ...deeper]
  })
}

/** The fields of all parts. */
function merge(schema: Schema): Schema {
  const parts = (schema.allOf as Schema[] | undefined) ?? []
  return parts.reduce(
    (whole, part) => ({
      ...whole,
      properties: { ...(whole.properties as object | undefined), ...(part.properties as object | undefined) },
      required: [
        ...((whole.required as string[] | undefined) ?? []),
        ...((part.required as string[] | undefined) ?? []),
      ],
    }),
    schema,
  )
}

function table(members: Member[]): string {
  if (members.length === 0) return 'No fields.'
  const rows = members.map(({ name, isRequired, schema }) => {
    const cells = [`\`${name}\`${isRequired ? ' *' : ''}`, toType(schema), describe(schema)]
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
  })
  return ['| field (* always there) | type | |', '|---|---|---|', ...rows].join('\n')
}

function toType(schema: Schema): string {
  if (schema.type === 'array') return `list of ${toType((schema.items as Schema | undefined) ?? {})}`
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `\`${String(value)}\``).join(', ')
  if ('const' in schema) return `\`${String(schema.const)}\``
  return [schema.type ?? 'any'].flat().join(' or ')
}

function describe(schema: Schema): string {
  const from = schema.minimum ?? schema.minLength ?? schema.minItems
  const to = schema.maximum ?? schema.maxLength ?? schema.maxItems
  const unit = 'maxLength' in schema ? ' characters' : 'maxItems' in schema ? ' items' : ''
  const range =
    to === undefined
      ? from === undefined
        ? ''
        : `from ${from}`
      : `${from === undefined ? 'up' : from} to ${to}${unit}`
  const fallback = 'default' in schema ? `default \`${JSON.stringify(schema.default)}\`` : ''
  return [schema.description, range, fallback].filter(Boolean).join('; ')
}
