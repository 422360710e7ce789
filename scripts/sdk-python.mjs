// Writes what is generated of the Python SDK: its types, from docs/openapi.json, and its sync client, from the async
// one. `--check` writes nothing, and names the files that are not current.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../sdk-python')
/** Where the async client and its tests are, next to what is written from them. */
const places = ['src/guiche', 'tests']
const isCheck = process.argv[2] === '--check'

/** @typedef {{ [keyword: string]: unknown }} Schema */
/** @typedef {{ operationId?: string, parameters?: { name: string, in: string, required?: boolean, description?: string, schema: Schema }[] }} Operation */
/** @typedef {{ paths: Record<string, Record<string, Operation>>, components: { schemas: Record<string, Schema> } }} Document */

/**
 * The named types for the query parameters of operations. `fields`: the parameters that the type has, by default all.
 * @type {[id: string, [name: string, description: string, fields?: string[]]][]}
 */
const queries = [
  ['listTransactions', ['TransactionFilters', 'Filters of the list of transactions; all must match.']],
  ['listWithdrawals', ['WithdrawalFilters', 'Filters of the list of withdrawals; all must match.']],
  ['listStatement', ['StatementFilters', 'Filters of the statement; all must match.']],
  ['listTransactionEvents', ['EventFilters', 'The page of the list of events.']],
  ['listEvents', ['FollowQuery', 'Where to begin, and which events.', ['after', 'type', 'recordId', 'startDate']]],
  [
    'listEvents',
    [
      'FeedQuery',
      'What selects events of the feed: those after a position.',
      ['after', 'limit', 'wait', 'type', 'recordId', 'startDate'],
    ],
  ],
  ['listDeliveries', ['DeliveryFilters', 'Filters of the list of deliveries; all must match.']],
  ['listWebhookEndpoints', ['WebhookEndpointFilters', 'The page of the list of endpoints.']],
  ['getBalance', ['BalanceQuery', 'The time of the balance.']],
]

/** Bodies with required fields that the SDK can fill in: the name of its type for the input, and those fields. */
const inputs = {
  CreateTransactionBody: ['CreateTransaction', ['paymentMethod', 'pix']],
  CreateWithdrawalBody: ['CreateWithdrawal', ['method', 'idempotencyKey']],
  RefundBody: ['CreateRefund', ['idempotencyKey']],
}

/** The other shapes that the SDK returns and takes. The shapes that they refer to are added automatically. */
const roots = [
  ...['Transaction', 'TransactionCreated', 'PaymentLink', 'RefundCreated', 'Withdrawal', 'WithdrawalCreated'],
  ...['Balance', 'StatementEntry', 'EventSummary', 'Delivery', 'Resent', 'FieldError'],
  ...['WebhookEndpoint', 'WebhookEndpointCreated', 'WebhookEndpointSecret', 'WebhookTest'],
  ...['CreateWebhookEndpointBody', 'UpdateWebhookEndpointBody'],
  ...['SandboxPaid', 'SandboxPayment', 'SandboxInfraction', 'SandboxDisputed', 'SandboxReturn'],
  ...['SandboxWithdrawalReturn', 'SandboxPersonality', 'SandboxPersonalityInput', 'SandboxAdvanced'],
]

const keywords = new Set(
  'and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False'.split(
    ' ',
  ),
)

/** @param {Document} document */
function writeTypes(document) {
  const { schemas } = document.components
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
  /** @type {string[]} */
  const declared = []
  /** @type {Set<string>} */
  const known = new Set()

  /** Declares a named shape, after the shapes that it refers to. @param {string} name */
  function declareNamed(name) {
    if (known.has(name)) return
    known.add(name)
    const schema = schemas[name]
    if (!schema) throw new Error(`docs/openapi.json has no ${name}`)
    declare(name, schema)
  }

  /** @param {string} name @param {Schema} schema */
  function declare(name, schema) {
    const comment = sentence(schema.description)
    if (schema.type !== 'object' || !schema.properties) {
      const type = toType(schema, name)
      // Quoted, since it may name a shape below.
      const written = type.startsWith('Literal') ? type : `"${type}"`
      declared.push(`${comment && `# ${comment}\n`}${name}: TypeAlias = ${written}\n`)
      return
    }
    const required = new Set(Array.isArray(schema.required) ? schema.required : [])
    const fields = Object.entries(/** @type {Record<string, Schema>} */ (schema.properties)).map(([field, inner]) => {
      if (keywords.has(field)) throw new Error(`${field} of ${name} is a word of Python`)
      const type = toType(inner, `${name}${field[0].toUpperCase()}${field.slice(1)}`)
      const about = inner.$ref ? '' : describe(inner)
      return { isRequired: required.has(field), text: `    ${field}: ${type}\n${about && `    """${about}"""\n`}` }
    })
    const [always, sometimes] = [true, false].map((one) => fields.filter(({ isRequired }) => isRequired === one))
    const body = (/** @type {typeof fields} */ some) => some.map(({ text }) => text).join('') || '    pass\n'
    const head = comment ? `    """${comment}"""\n\n` : ''
    if (sometimes.length === 0) declared.push(`class ${name}(TypedDict):\n${head}${body(always)}`)
    else if (always.length === 0) declared.push(`class ${name}(TypedDict, total=False):\n${head}${body(sometimes)}`)
    // NotRequired exists from Python 3.11 on.
    else
      declared.push(
        `class _${name}Always(TypedDict):\n${body(always)}`,
        `class ${name}(_${name}Always, total=False):\n${head}${body(sometimes)}`,
      )
  }

  /**
   * @param {Schema} schema
   * @param {string} name for a shape without one
   * @returns {string}
   */
  function toType(schema, name) {
    if (typeof schema.$ref === 'string') {
      const named = schema.$ref.split('/').at(-1) ?? ''
      declareNamed(named)
      return named
    }
    if (Array.isArray(schema.enum)) return `Literal[${schema.enum.map(toLiteral).join(', ')}]`
    if ('const' in schema) return `Literal[${toLiteral(schema.const)}]`
    const union = schema.anyOf ?? schema.oneOf
    if (Array.isArray(union)) return [...new Set(union.map((one) => toType(one, name)))].join(' | ')
    if (Array.isArray(schema.allOf) && schema.allOf.length === 1) return toType(schema.allOf[0], name)
    if (Array.isArray(schema.type))
      return schema.type.map((type) => (type === 'null' ? 'None' : toType({ ...schema, type }, name))).join(' | ')
    switch (schema.type) {
      case 'string':
        return schema.isDateInput ? 'str | datetime' : 'str'
      case 'integer':
        return 'int'
      case 'number':
        return 'float'
      case 'boolean':
        return 'bool'
      case 'null':
        return 'None'
      case 'array':
        return `list[${toType(/** @type {Schema} */ (schema.items), `${name}Item`)}]`
      case 'object':
        if (!schema.properties) return 'dict[str, Any]'
        declare(name, schema)
        return name
    }
    throw new Error(`What is the type of ${name}, ${JSON.stringify(schema)}?`)
  }

  for (const name of roots) declareNamed(name)
  for (const [body, [name, filledIn]] of Object.entries(inputs)) {
    const schema = schemas[body]
    if (!schema) throw new Error(`docs/openapi.json has no ${body}`)
    const required = /** @type {string[]} */ (schema.required ?? []).filter((field) => !filledIn.includes(field))
    declare(/** @type {string} */ (name), { ...schema, required })
  }
  for (const [id, [name = '', description, fields]] of queries) {
    const operation = operations.find(({ operationId }) => operationId === id)
    if (!operation) throw new Error(`docs/openapi.json has no operation ${id}`)
    const parameters = (operation.parameters ?? [])
      .filter((parameter) => parameter.in === 'query')
      .filter((parameter) => fields === undefined || fields.includes(parameter.name))
    const properties = parameters.map(({ name: field, description: about, schema }) => [
      field,
      { ...schema, description: about, isDateInput: /ISO 8601/.test(about ?? '') },
    ])
    const required = fields?.includes('limit') ? ['after'] : []
    declare(name, { type: 'object', description, properties: Object.fromEntries(properties), required })
  }
  for (const record of ['Transaction', 'Withdrawal']) {
    const statuses = /** @type {string[]} */ (schemas[`${record}Status`]?.enum ?? [])
    const types = statuses.filter((one) => one !== 'PENDING').map((one) => `${record}.${one}`.toLowerCase())
    declared.push(
      `# Creation as PENDING sends no event.\n${record}EventType: TypeAlias = Literal[${types.map(toLiteral).join(', ')}]\n`,
      `class ${record}EventData(${record}):
    """The record as a fetch returned it at that time."""

    sequence: int
    """Counts the record's changes from 1. An event is stale if it is not above the last one that you saw."""\n`,
      `class ${record}Event(TypedDict):
    """A change of a ${record.toLowerCase()}, as a webhook has it."""

    id: str
    """Equal to the header \`\`webhook-id\`\`. The same event can arrive twice, with the same id."""
    type: ${record}EventType
    timestamp: str
    """When it happened."""
    data: ${record}EventData\n`,
      `class ${record}FeedEvent(${record}Event):
    """The same in the feed."""

    number: int
    """1, 2, 3 … without a gap."""
    position: str
    """Save it when you have processed the event, and send it as \`\`after\`\`."""\n`,
    )
  }
  declared.push(
    `# Any event of a webhook. A newer service may have more types: answer those with 2xx too.\nWebhookEvent: TypeAlias = "TransactionEvent | WithdrawalEvent"\n`,
    `# An event of the feed.\nFeedEvent: TypeAlias = "TransactionFeedEvent | WithdrawalFeedEvent"\n`,
    `class FeedPage(TypedDict):
    """Events after a position."""

    data: list[FeedEvent]
    next: str
    """Send it as \`\`after\`\` for the next page."""
    hasMore: bool
    """True: there is more to read now."""\n`,
  )
  return `"""The shapes of the API. Amounts are integers in cents, dates text in ISO 8601."""

# Written by \`npm run sdk:types\` from docs/openapi.json, which \`npm run openapi\` writes. Edit the routes' schemas.

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict

${declared.map((text) => `\n${text}`).join('\n')}`
}

/** @param {unknown} value */
function toLiteral(value) {
  if (value === null) return 'None'
  return typeof value === 'boolean' ? (value ? 'True' : 'False') : JSON.stringify(value)
}

/** The description of a field and its limits, so that nobody has to look them up. @param {Schema} schema */
function describe(schema) {
  const from = schema.minimum ?? schema.minLength
  const to = schema.maximum ?? schema.maxLength
  const unit = 'minLength' in schema || 'maxLength' in schema ? ' characters' : ''
  const range = to === undefined ? '' : `${from === undefined ? 'up' : from} to ${to}${unit}`
  const fallback = 'default' in schema ? `${schema.default} by default` : ''
  return sentence([schema.description, range, fallback].filter(Boolean).join('; '))
}

/** @param {unknown} text */
function sentence(text) {
  if (typeof text !== 'string' || text === '') return ''
  const first = `${text.charAt(0).toUpperCase()}${text.slice(1)}`.replaceAll('\\', '\\\\').replaceAll('"""', "'''")
  return /[.…]$/.test(first) ? first : `${first}.`
}

/** Turns an async module into the sync module with the same steps. @param {string} text */
function toSync(text) {
  const needed = text.includes('asyncio.Lock') ? 'threading' : text.includes('asyncio.sleep') ? 'time' : null
  return text
    .replaceAll(/^.*# async only\n/gm, '')
    .replaceAll(/ \| Awaitable\[[^\]]*\]/g, '')
    .replaceAll(/Awaitable\[(\w+)\]/g, '$1')
    .replace(/^import asyncio\n/m, needed === null || text.includes(`import ${needed}\n`) ? '' : `import ${needed}\n`)
    .replaceAll(/asyncio\.to_thread\(\s*([\w.]+), /g, '$1(')
    .replaceAll(/asyncio\.run\((.*)\)/g, '$1')
    .replaceAll('asyncio.Lock', 'threading.Lock')
    .replaceAll('asyncio.sleep', 'time.sleep')
    .replaceAll(/\basync (?=def|for|with)/g, '')
    .replaceAll(/\bawait /g, '')
    .replaceAll(/__a(enter|exit|iter|next)__/g, '__$1__')
    .replaceAll('aiter_bytes', 'iter_bytes')
    .replaceAll('aclose', 'close')
    .replaceAll('guiche._async.', 'guiche._sync.')
    .replaceAll(/\bAsync(?=[A-Z])|\basync_(?=[a-z])/g, '')
    .replaceAll('IsolatedAsyncioTestCase', 'TestCase')
    .replace(/^(from collections\.abc import )(.*)$/m, (_, head, names) => {
      const kept = names.split(', ').filter((/** @type {string} */ name) => name !== 'Awaitable')
      return head + kept.sort().join(', ')
    })
}

const document = JSON.parse(readFileSync(join(folder, '../docs/openapi.json'), 'utf8'))
const files = new Map([['src/guiche/types.py', writeTypes(document)]])
/** @type {string[]} */
const removed = []
/** @param {string} path */
const programsIn = (path) => readdirSync(join(folder, path)).filter((name) => name.endsWith('.py'))
for (const place of places) {
  for (const name of programsIn(`${place}/_async`)) {
    const text = readFileSync(join(folder, place, '_async', name), 'utf8')
    const head = `# Written by \`npm run sdk:types\` from ../_async/${name}. Edit that, not this file.\n\n`
    files.set(`${place}/_sync/${name}`, text === '' ? '' : head + toSync(text))
  }
  removed.push(
    ...programsIn(`${place}/_sync`)
      .map((name) => `${place}/_sync/${name}`)
      .filter((name) => !files.has(name)),
  )
}
/** @param {string} name */
const read = (name) => {
  try {
    return readFileSync(join(folder, name), 'utf8')
  } catch {
    return null
  }
}
const stale = [...[...files].filter(([name, text]) => read(name) !== text).map(([name]) => name), ...removed]
if (isCheck) {
  if (stale.length > 0) process.stderr.write(`Not current: ${stale.join(', ')}. Run npm run sdk:types\n`)
  process.exitCode = stale.length > 0 ? 1 : 0
} else {
  for (const [name, text] of files) writeFileSync(join(folder, name), text)
  for (const name of removed) rmSync(join(folder, name))
}
