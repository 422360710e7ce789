import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/**
 * Writes the types of the PHP SDK from docs/openapi.json: a readonly class for each object of an answer, constants for
 * lists of values such as statuses, and array shapes for what a caller sends. The generators in npm's registry write
 * PHP with setters and validators, or need Java.
 */

type Schema = { [keyword: string]: unknown }
type Operation = {
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** The shapes that have a name: `GET /balance 200`, then field names. `[]` means the items of a list. */
const named: Record<string, string> = {
  PixKey: 'GET /withdrawal/{id} 200 pixKey',
  PixCode: 'POST /transaction 201 pixResponse',
  PixCodeIfAny: 'GET /transaction/{id} 200 pixResponse',
  BankAccount: 'GET /transaction/{id} 200 payer bankAccount',
  AccountHolder: 'GET /transaction/{id} 200 payer',
  TaxDocument: 'GET /transaction/{id} 200 seller document',
  Customer: 'GET /transaction/{id} 200 customer',
  Seller: 'GET /transaction/{id} 200 seller',
  Address: 'GET /transaction/{id} 200 address',
  Item: 'GET /transaction/{id} 200 items []',
  Refund: 'GET /transaction/{id} 200 refunds []',
  Dispute: 'GET /transaction/{id} 200 disputes []',
  PaymentReturn: 'GET /transaction/{id} 200 returns []',
  TransactionStatusEntry: 'GET /transaction/{id} 200 statusHistory []',
  WithdrawalStatusEntry: 'GET /withdrawal/{id} 200 statusHistory []',
  Transaction: 'GET /transaction/{id} 200',
  Withdrawal: 'GET /withdrawal/{id} 200',
  Balance: 'GET /balance 200',
  StatementEntry: 'GET /statement 200 data []',
  EventSummary: 'GET /transaction/{id}/event 200 data []',
  DeliveryAttempt: 'GET /webhook/delivery 200 data [] attempts []',
  Delivery: 'GET /webhook/delivery 200 data []',
  TransactionCreated: 'POST /transaction 201',
  PaymentLink: 'GET /transaction/{id}/payment-link 200',
  RefundCreated: 'POST /transaction/{id}/refund 201',
  WithdrawalCreated: 'POST /withdrawal 201',
  Resent: 'POST /webhook/delivery/{eventId}/resend 200',
  SandboxPaid: 'POST /sandbox/payment 200',
  SandboxDisputed: 'POST /sandbox/infraction 200',
  SandboxTraits: 'GET /sandbox/personality 200 traits',
  SandboxPersonality: 'GET /sandbox/personality 200',
  SandboxDue: 'POST /sandbox/clock 200 due',
  SandboxAdvanced: 'POST /sandbox/clock 200',
  WebhookEndpoint: 'GET /webhook-endpoint/{id} 200',
  WebhookEndpointCreated: 'POST /webhook-endpoint 201',
  WebhookEndpointSecret: 'POST /webhook-endpoint/{id}/secret 201',
  WebhookTest: 'POST /webhook-endpoint/{id}/test 200',
  FieldError: 'Problem errors []',
}

/** Lists of values that callers compare with. */
const constants: Record<string, string> = {
  TransactionStatus: 'GET /transaction/{id} 200 status',
  WithdrawalStatus: 'GET /withdrawal/{id} 200 status',
  RefundStatus: 'GET /transaction/{id} 200 refunds [] status',
  DisputeStatus: 'GET /transaction/{id} 200 disputes [] status',
  DeliveryState: 'GET /webhook/delivery 200 data [] state',
  StatementKind: 'GET /statement 200 data [] kind',
  PixKeyType: 'GET /withdrawal/{id} 200 pixKey type',
}

/** What a caller sends, and the fields that the SDK fills in. */
const sent: Record<string, [place: string, ...filledIn: string[]]> = {
  CreateTransactionBody: ['POST /transaction body', 'paymentMethod', 'pix'],
  RefundBody: ['POST /transaction/{id}/refund body', 'idempotencyKey'],
  CreateWithdrawalBody: ['POST /withdrawal body', 'method', 'idempotencyKey'],
  SandboxPayment: ['POST /sandbox/payment body'],
  SandboxInfraction: ['POST /sandbox/infraction body'],
  SandboxReturn: ['POST /sandbox/return body'],
  SandboxWithdrawalReturn: ['POST /sandbox/withdrawal/{payoutId}/return body'],
  SandboxPersonalityInput: ['POST /sandbox/personality body'],
  TransactionFilters: ['GET /transaction query'],
  WithdrawalFilters: ['GET /withdrawal query'],
  StatementFilters: ['GET /statement query'],
  EventFilters: ['GET /transaction/{id}/event query'],
  FeedQuery: ['GET /event query'],
  CreateWebhookEndpointBody: ['POST /webhook-endpoint body'],
  UpdateWebhookEndpointBody: ['PATCH /webhook-endpoint/{id} body'],
  WebhookEndpointFilters: ['GET /webhook-endpoint query'],
  DeliveryFilters: ['GET /webhook/delivery query'],
  BalanceQuery: ['GET /balance query'],
}

const head = (imports = '') => `<?php

// Written by \`npm run sdk:types\` from docs/openapi.json, which \`npm run openapi\` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\\Types;
${imports}`

/** The files of `sdk-php/src/Types/`, by name. */
export function writePhpTypes(document: Document): Record<string, string> {
  const find = (place: string) => findSchema(document, place)
  const nameOf = namesOf(document)
  const classes = Object.entries(named).map(([name, place]) => [name, writeClass(name, find(place), nameOf)] as const)
  const lists = Object.entries(constants).map(([name, place]) => [name, writeConstants(name, find(place))] as const)
  return Object.fromEntries(
    [...classes, ...lists, ['Shapes', writeShapes(find)] as const].map(([name, text]) => [`${name}.php`, text]),
  )
}

/** The name of a shape: two places with the same fields have the same class. */
function namesOf(document: Document) {
  const known = new Map(Object.entries(named).map(([name, place]) => [bare(findSchema(document, place)), name]))
  return (schema: Schema) => known.get(bare(schema))
}

/** A shape without what only describes it. */
function bare(schema: Schema): string {
  return JSON.stringify(schema, (key, value) =>
    ['description', 'example', 'examples', 'title', '$id'].includes(key) ? undefined : value,
  )
}

function findSchema(document: Document, place: string): Schema {
  const [method = '', path = '', part = '', ...fields] = place.startsWith('Problem ')
    ? ['', '', '', ...place.split(' ').slice(1)]
    : place.split(' ')
  const operation = document.paths[path]?.[method.toLowerCase()]
  const root = method === '' ? document.components.schemas.Problem : partOf(operation, part)
  const resolve = (schema: Schema | undefined) => resolveReferences(document, schema)
  const found = fields.reduce((schema: Schema | undefined, field) => {
    const inner = resolve(schema)
    return field === '[]'
      ? (inner?.items as Schema)
      : (inner?.properties as Record<string, Schema> | undefined)?.[field]
  }, root)
  const schema = resolve(found)
  if (!schema) throw new Error(`docs/openapi.json has no ${place}`)
  return schema
}

function partOf(operation: Operation | undefined, part: string): Schema | undefined {
  if (part === 'query' && operation) return queryOf(operation)
  const content = part === 'body' ? operation?.requestBody?.content : operation?.responses[part]?.content
  return content?.['application/json']?.schema
}

/** The parameters as the fields of one object. */
function queryOf(operation: Operation): Schema {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const properties = parameters.map(({ name, description, schema }) => [
    name,
    { ...schema, description: description ?? schema.description, 'x-is-filter': true },
  ])
  return { type: 'object', properties: Object.fromEntries(properties), required: [] }
}

/** The same schema with what it refers to in its place. Null beside one other form makes it nullable. */
function resolveReferences(document: Document, schema: Schema | undefined): Schema | undefined {
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve)
    if (typeof value !== 'object' || value === null) return value
    const { $ref, ...own } = value as Schema
    const target = typeof $ref === 'string' && document.components.schemas[$ref.split('/').pop() ?? '']
    const whole: Schema = { ...(target && (resolve(target) as Schema)), ...own }
    const forms = (whole.anyOf ?? whole.oneOf) as Schema[] | undefined
    const others = forms?.filter(({ type }) => type !== 'null')
    if (forms && others?.length === 1 && forms.length === 2)
      return {
        ...(resolve(others[0]) as Schema),
        ...(own.description ? { description: own.description } : {}),
        'x-null': true,
      }
    return Object.fromEntries(Object.entries(whole).map(([key, inner]) => [key, resolve(inner)]))
  }
  return schema && (resolve(schema) as Schema)
}

type Field = { name: string; schema: Schema; isRequired: boolean; isNullable: boolean }

function fieldsOf(schema: Schema): Field[] {
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  return Object.entries((schema.properties ?? {}) as Record<string, Schema>).map(([name, field]) => {
    const types = [field.type].flat()
    const values = Array.isArray(field.enum) ? field.enum : []
    const isNullable = types.includes('null') || values.includes(null) || field['x-null'] === true
    return { name, schema: field, isRequired: required.has(name), isNullable }
  })
}

function typeOf(schema: Schema): string {
  if ('const' in schema) return typeof schema.const
  if (Array.isArray(schema.enum)) return typeof schema.enum.find((value) => value !== null)
  const [type] = [schema.type].flat().filter((one) => one !== 'null')
  if (typeof type === 'string') return type
  if (schema.properties || schema.oneOf || schema.anyOf) return 'object'
  throw new Error(`What is the type of ${JSON.stringify(schema)}?`)
}

const scalars: Record<string, string> = { string: 'string', integer: 'int', number: 'int|float', boolean: 'bool' }

function writeClass(name: string, schema: Schema, nameOf: (schema: Schema) => string | undefined): string {
  const fields = fieldsOf(schema)
  const properties = fields.map((field) => {
    const { type, doc } = phpTypeOf(field.schema, nameOf)
    const isOptional = !field.isRequired || field.isNullable
    const php = !isOptional || type === 'mixed' ? type : type.includes('|') ? `${type}|null` : `?${type}`
    const notes = [doc && `@var ${isOptional ? 'null|' : ''}${doc}`, sentence(field.schema.description)]
      .filter(Boolean)
      .join(' ')
    return `${notes && `    /** ${notes} */\n`}    public readonly ${php} $${field.name};`
  })
  const assignments = fields.map((field) => readField(field, nameOf))
  return `${head('\nuse Guiche\\Model;\n')}
/** ${sentence(schema.description) || `The fields of ${name}.`} */
final class ${name} extends Model
{
${properties.join('\n')}

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
${assignments.join('\n')}
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
`
}

function phpTypeOf(schema: Schema, nameOf: (schema: Schema) => string | undefined): { type: string; doc: string } {
  const kind = typeOf(schema)
  if (scalars[kind] !== undefined) {
    const values = Array.isArray(schema.enum) ? schema.enum.filter((value) => value !== null) : []
    return { type: scalars[kind], doc: values.length > 0 ? values.map((value) => `'${value}'`).join('|') : '' }
  }
  if (kind === 'array') {
    const items = schema.items as Schema
    const inner = phpTypeOf(items, nameOf)
    return { type: 'array', doc: `list<${inner.doc || inner.type}>` }
  }
  const name = nameOf(withoutNull(schema))
  return name === undefined ? { type: 'array', doc: 'array<string, mixed>' } : { type: name, doc: '' }
}

function withoutNull({ 'x-null': _, ...schema }: Schema): Schema {
  return schema
}

/** An older service may lack a field that is always there now: then its property has no value. */
function readField({ name, schema, isRequired, isNullable }: Field, nameOf: (schema: Schema) => string | undefined) {
  const value = `$data['${name}']`
  const set = (read: string) => `        $this->${name} = ${read};`
  const isOptional = !isRequired || isNullable
  const kind = typeOf(schema)
  const item = kind === 'array' ? (schema.items as Schema) : schema
  const target = ['array', 'object'].includes(kind) && typeOf(item) === 'object' ? nameOf(withoutNull(item)) : undefined
  const read =
    target === undefined
      ? value
      : kind === 'array'
        ? `array_map(${target}::from(...), ${value})`
        : `${target}::from(${value})`
  if (isOptional) return set(target === undefined ? `${value} ?? null` : `isset(${value}) ? ${read} : null`)
  return `        if (isset(${value})) {\n    ${set(read)}\n        }`
}

function writeConstants(name: string, schema: Schema): string {
  const values = (schema.enum as (string | null)[]).filter((value) => value !== null)
  const lines = values.map((value) => `    public const ${value.toUpperCase()} = '${value}';`)
  return `${head()}
/** ${sentence(schema.description) || 'The values that this version of the SDK knows.'} A newer service may have more. */
final class ${name}
{
${lines.join('\n')}
}
`
}

function writeShapes(find: (place: string) => Schema): string {
  const shapes = Object.entries(sent).map(([name, [place, ...filledIn]]) => {
    const schema = find(place)
    const required = (Array.isArray(schema.required) ? schema.required : []).filter(
      (field) => !filledIn.includes(field),
    )
    return ` * @phpstan-type ${name} ${toShape({ ...schema, required }, ' * ')}`
  })
  return `${head()}
/**
 * What a caller sends, for editors and PHPStan.
 *
${shapes.join('\n')}
 */
final class Shapes
{
}
`
}

function toShape(schema: Schema, indent: string): string {
  const kind = typeOf(schema)
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => (value === null ? 'null' : `'${value}'`)).join('|')
  if ('const' in schema) return `'${schema.const}'`
  if (kind === 'string') {
    const isDate = schema['x-is-filter'] === true && /date-time/.test(String(schema.format))
    return isDate ? 'string|\\DateTimeInterface' : 'string'
  }
  if (kind === 'array') return `list<${toShape(schema.items as Schema, indent)}>`
  if (kind !== 'object') return scalars[kind] ?? 'mixed'
  if (!schema.properties) return 'array<string, mixed>'
  const inner = `${indent}  `
  const fields = fieldsOf(schema).map(
    (field) => `${inner}${field.name}${field.isRequired ? '' : '?'}: ${toShape(field.schema, inner)},`,
  )
  return `array{\n${fields.join('\n')}\n${indent}}`
}

function sentence(text: unknown): string {
  if (typeof text !== 'string' || text === '') return ''
  const first = `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replaceAll('*/', '* /')
  return /[.…]$/.test(first) ? first : `${first}.`
}

function main(): void {
  const folder = 'sdk-php/src/Types'
  const files = writePhpTypes(JSON.parse(readFileSync('docs/openapi.json', 'utf8')))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
