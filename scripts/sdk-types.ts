import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { errors } from '../src/lib/errors.ts'

/**
 * Writes the types of the SDK from docs/openapi.json, each shape once and under a readable name. A generic generator
 * cannot know those names. An unknown keyword stops it, so that no type omits a part of the document.
 */

type Schema = { [keyword: string]: unknown }
type Operation = {
  parameters?: { name: string; in: string; required: boolean; description?: string; schema: Schema }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}
type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/**
 * `POST /transaction body`, `GET /transaction query`, `GET /balance 200`; then field names. `[]` means the items of a
 * list.
 */
const names: [name: string, place: string, description: string][] = [
  ['TransactionStatus', 'GET /transaction/{id} 200 status', 'The status of a transaction.'],
  ['WithdrawalStatus', 'GET /withdrawal/{id} 200 status', 'The status of a withdrawal.'],
  ['WithdrawalHold', 'GET /withdrawal/{id} 200 hold', 'Why a withdrawal is pending review.'],
  ['RefundStatus', 'GET /transaction/{id} 200 refunds [] status', 'The status of a refund.'],
  ['StatementKind', 'GET /statement 200 data [] kind', 'The reason of a change of the available balance.'],
  ['DeliveryState', 'GET /webhook/delivery 200 data [] state', 'The state of an event’s delivery.'],
  ['PixKeyType', 'GET /withdrawal/{id} 200 pixKey type', 'The types of PIX keys.'],

  ['PixKey', 'GET /withdrawal/{id} 200 pixKey', 'A PIX key: the address of an account.'],
  ['PixCode', 'POST /transaction 201 pixResponse', 'The code that a payer pays: as text to copy, and as a QR image.'],
  ['PixCodeIfAny', 'GET /transaction/{id} 200 pixResponse', 'The code of a transaction, or nulls if it has none.'],
  ['BankAccount', 'GET /transaction/{id} 200 payer bankAccount', 'An account at a bank.'],
  ['AccountHolder', 'GET /transaction/{id} 200 payer', 'The person or company that paid or was paid.'],
  ['TaxDocument', 'GET /transaction/{id} 200 seller document', 'A CPF or CNPJ.'],
  ['Customer', 'GET /transaction/{id} 200 customer', 'The customer.'],
  ['Seller', 'GET /transaction/{id} 200 seller', 'The seller.'],
  ['Address', 'GET /transaction/{id} 200 address', 'The delivery address of a physical product.'],
  ['Item', 'GET /transaction/{id} 200 items []', 'An item of the purchase.'],
  ['Refund', 'GET /transaction/{id} 200 refunds []', 'A refund of a transaction.'],
  ['DisputeStatus', 'GET /transaction/{id} 200 disputes [] status', 'The status of a dispute (MED).'],
  ['Dispute', 'GET /transaction/{id} 200 disputes []', 'A dispute (MED) of a transaction.'],
  ['Return', 'GET /transaction/{id} 200 returns []', 'Money that went back to the payer other than by a refund.'],
  ['TransactionStatusEntry', 'GET /transaction/{id} 200 statusHistory []', 'A status that a transaction had or has.'],
  ['WithdrawalStatusEntry', 'GET /withdrawal/{id} 200 statusHistory []', 'A status that a withdrawal had or has.'],
  ['Transaction', 'GET /transaction/{id} 200', 'A charge by PIX. Amounts are in cents, dates in ISO 8601.'],
  ['Withdrawal', 'GET /withdrawal/{id} 200', 'Money sent to a PIX key. Amounts are in cents, dates in ISO 8601.'],
  ['Balance', 'GET /balance 200', 'The balance. Amounts are in cents.'],
  ['StatementEntry', 'GET /statement 200 data []', 'One change of the available balance. Amounts are in cents.'],
  ['EventSummary', 'GET /transaction/{id}/event 200 data []', 'One status change, and the state of its delivery.'],
  ['DeliveryAttempt', 'GET /webhook/delivery 200 data [] attempts []', 'One request to your receiver.'],
  ['Delivery', 'GET /webhook/delivery 200 data []', 'The delivery of an event to your receiver, with its attempts.'],

  ['CustomerInput', 'POST /transaction body customer', 'The customer.'],
  ['SellerInput', 'POST /transaction body seller', 'The seller.'],
  ['ItemInput', 'POST /transaction body items []', 'An item of the purchase.'],
  ['CreateTransactionBody', 'POST /transaction body', 'The body of a request to create a transaction.'],
  ['TransactionCreated', 'POST /transaction 201', 'The answer to a create.'],
  ['PaymentLink', 'GET /transaction/{id}/payment-link 200', 'The page where a customer pays a transaction.'],
  ['RefundBody', 'POST /transaction/{id}/refund body', 'The body of a request to refund a transaction.'],
  ['RefundCreated', 'POST /transaction/{id}/refund 201', 'The answer to a refund request.'],
  ['CreateWithdrawalBody', 'POST /withdrawal body', 'The body of a request to create a withdrawal.'],
  ['WithdrawalCreated', 'POST /withdrawal 201', 'The answer to a withdrawal request.'],
  ['Resent', 'POST /webhook/delivery/{eventId}/resend 200', 'A delivery whose schedule starts again.'],
  ['SandboxPayer', 'POST /sandbox/payment body payer', 'The payer at the simulated bank. Omitted fields get defaults.'],
  ['SandboxPayment', 'POST /sandbox/payment body', 'A payment at the simulated bank.'],
  ['SandboxPaid', 'POST /sandbox/payment 200', 'The payment that was made.'],
  ['SandboxInfraction', 'POST /sandbox/infraction body', 'A dispute (MED) at the simulated bank.'],
  ['SandboxDisputed', 'POST /sandbox/infraction 200', 'The opened dispute.'],
  ['SandboxReturn', 'POST /sandbox/return body', 'An unannounced return under MED.'],
  ['SandboxWithdrawalReturn', 'POST /sandbox/withdrawal/{payoutId}/return body', 'A withdrawal that is sent back.'],
  ['SandboxPersonalityName', 'GET /sandbox/personality 200 name', 'The named fault profiles of the simulated bank.'],
  [
    'SandboxTraits',
    'GET /sandbox/personality 200 traits',
    'The faults of the simulated bank, with their probabilities.',
  ],
  ['SandboxPersonality', 'GET /sandbox/personality 200', 'The fault profile of the simulated bank.'],
  ['SandboxPersonalityInput', 'POST /sandbox/personality body', 'A new fault profile for the simulated bank.'],
  ['SandboxAdvanced', 'POST /sandbox/clock 200', 'What has come due because time was let pass.'],

  ['TransactionFilters', 'GET /transaction query', 'Filters of the list of transactions; all must match.'],
  ['WithdrawalFilters', 'GET /withdrawal query', 'Filters of the list of withdrawals; all must match.'],
  ['StatementFilters', 'GET /statement query', 'Filters of the statement; all must match.'],
  ['EventFilters', 'GET /transaction/{id}/event query', 'The page of a list of events.'],
  ['EventQuery', 'GET /event query', 'What selects events: of the feed with `after`, else of the list.'],
  ['DeliveryFilters', 'GET /webhook/delivery query', 'Filters of the list of deliveries; all must match.'],
  ['BalanceQuery', 'GET /balance query', 'The time of the balance.'],

  ['FieldError', 'Problem errors []', 'One error of a request; `field` is a path such as `items[0].unitPrice`.'],
  ['Problem', 'Problem', 'The body of an error (RFC 9457).'],
]

const header = `// Written by \`npm run sdk:types\` from docs/openapi.json and the service's table of errors. Edit those, not this file.

/** Every error \`code\` of the service. A newer service may have more: handle unknown codes too. */
export type ErrorCode =
${Object.keys(errors)
  .map((code) => `  | '${code}'`)
  .join('\n')}

/** A page of a list. */
export interface Page<Entry> {
  /** Number of items on all pages. */
  total: number
  totalPages: number
  /** Counts from 1. */
  currentPage: number
  perPage: number
  data: Entry[]
  /** Send it as \`cursor\` to get the next page. Null on the last page. */
  nextCursor: string | null
}
`

export function writeSdkTypes(document: Document): string {
  const found = names.map(([name, place, description]) => {
    const schema = findSchema(document, place)
    return { name, description, schema, text: toText(schema, new Map()) }
  })
  // A shape that has a name is written as that name everywhere.
  const known = new Map(found.map(({ name, text }) => [text, name]))
  const declared = found.map(({ name, description, schema, text }) => {
    const others = new Map([...known].filter(([, other]) => other !== name))
    const head = toComment([description, sentence(schema.description)].filter(Boolean).join(' '), '')
    const written = toText(schema, others, '')
    if (known.get(text) !== name) return `${head}export type ${name} = ${known.get(text)}\n`
    return written.startsWith('{')
      ? `${head}export interface ${name} ${written}\n`
      : `${head}export type ${name} = ${written}\n`
  })
  return [header, ...declared].join('\n')
}

function findSchema(document: Document, place: string): Schema {
  const [first = '', ...rest] = place.split(' ')
  if (first === 'Problem') return descend(document.components.schemas.Problem, rest, place)
  const [path = '', part = '', ...members] = rest
  const operation = document.paths[path]?.[first.toLowerCase()]
  if (!operation) throw new Error(`docs/openapi.json has no ${first} ${path}`)
  if (part === 'query') return queryOf(operation)
  const content = part === 'body' ? operation.requestBody?.content : operation.responses[part]?.content
  return descend(content?.['application/json']?.schema, members, place)
}

function descend(schema: Schema | undefined, members: string[], place: string): Schema {
  const end = members.reduce<Schema | undefined>((inner, member) => {
    if (member === '[]') return inner?.items as Schema | undefined
    return (inner?.properties as Record<string, Schema> | undefined)?.[member]
  }, schema)
  if (!end) throw new Error(`docs/openapi.json has no ${place}`)
  return end
}

/** The parameters as the fields of one object. */
function queryOf(operation: Operation): Schema {
  const parameters = (operation.parameters ?? []).filter((parameter) => parameter.in === 'query')
  const properties = parameters.map(({ name, description, schema }) => [
    name,
    { ...schema, ...(schema.format === 'iso-date-time' && { format: 'date-to-send' }), description },
  ])
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name)
  return { type: 'object', properties: Object.fromEntries(properties), required }
}

/** Keywords that a type or a comment can express. The others are conditions that the service checks. */
const understood = [
  ...['type', 'enum', 'const', 'properties', 'required', 'items', 'additionalProperties', 'description', 'default'],
  ...['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'format'],
  ...['pattern', 'if', 'then', 'allOf', 'example', 'examples', 'x-json-limits', 'x-unit'],
]

function toText(schema: Schema, known: Map<string, string>, indent: string | null = null): string {
  for (const keyword of Object.keys(schema))
    if (!understood.includes(keyword)) throw new Error(`What does ${keyword} mean for a type?`)
  // With the fields' comments only where the shape is written out: shapes are compared without comments.
  const bare = indent === null ? '' : toText(schema, new Map())
  const name = known.get(bare)
  if (name !== undefined) return name
  if (Array.isArray(schema.enum)) return schema.enum.map(toLiteral).join(' | ')
  if ('const' in schema) return toLiteral(schema.const)
  if (Array.isArray(schema.type)) return schema.type.map((type) => toText({ type }, known)).join(' | ')
  switch (schema.type) {
    case 'string':
      return schema.format === 'date-to-send' ? 'string | Date' : 'string'
    case 'integer':
    case 'number':
      return 'number'
    case 'boolean':
    case 'null':
      return schema.type
    case 'array': {
      const item = toText(schema.items as Schema, known, indent)
      return item.includes(' | ') && !item.startsWith('{') ? `(${item})[]` : `${item}[]`
    }
    case 'object':
      return toObject(schema, known, indent)
  }
  throw new Error(`What is the type of ${JSON.stringify(schema)}?`)
}

function toObject(schema: Schema, known: Map<string, string>, indent: string | null): string {
  if (!schema.properties) return 'Record<string, unknown>'
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const inner = indent === null ? null : `${indent}  `
  const members = Object.entries(schema.properties as Record<string, Schema>).map(([name, member]) => {
    const head = inner === null ? '' : toComment(describe(member), inner)
    return `${head}${inner ?? ' '}${name}${required.has(name) ? '' : '?'}: ${toText(member, known, inner)}`
  })
  return indent === null ? `{${members.join(';')} }` : `{\n${members.join('\n')}\n${indent}}`
}

function toLiteral(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}

/** The description of a field and its limits, so that nobody has to look them up. */
function describe(schema: Schema): string {
  const from = schema.minimum ?? schema.minLength
  const to = schema.maximum ?? schema.maxLength
  const unit = 'minLength' in schema || 'maxLength' in schema ? ' characters' : ''
  const isCount = schema.type === 'integer' && from !== undefined
  const range =
    to === undefined ? (isCount ? `from ${from}` : '') : `${from === undefined ? 'up' : from} to ${to}${unit}`
  const fallback = 'default' in schema ? `${schema.default} by default` : ''
  return sentence([schema.description, range, fallback].filter(Boolean).join('; '))
}

function sentence(text: unknown): string {
  if (typeof text !== 'string' || text === '') return ''
  const first = `${text.charAt(0).toUpperCase()}${text.slice(1)}`
  return /[.…]$/.test(first) ? first : `${first}.`
}

function toComment(text: string, indent: string): string {
  return text === '' ? '' : `${indent}/** ${text} */\n`
}

function main(): void {
  writeFileSync('sdk/src/types.ts', writeSdkTypes(JSON.parse(readFileSync('docs/openapi.json', 'utf8'))))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main()
