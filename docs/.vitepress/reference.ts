import {
  dereference,
  type Language,
  nameOf,
  objectIn,
  type Page,
  type Schema,
  writeFields,
  writeParameters,
} from './reference-fields.ts'
import type { ObjectName } from './reference-words.ts'
import type { Sample, Samples } from './samples.ts'

/**
 * The reference of the API as Markdown, from its OpenAPI document: one page per tag, with the samples of each operation.
 * The pages of `docs/reference/` include it.
 */

type Content = Record<string, { schema: Schema; example?: unknown; examples?: Record<string, unknown> }>
type Operation = {
  operationId: string
  summary: string
  description?: string
  tags: string[]
  parameters?: { name: string; in: string; required: boolean; description?: string; schema: Schema }[]
  requestBody?: { content: Content }
  responses: Record<string, { description: string; content?: Content }>
}
export type Document = {
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}
type Route = { method: string; path: string; operation: Operation }

/** Where the objects that several operations return are described. */
const placeOf: Record<ObjectName, string> = {
  Transaction: 'transactions',
  Withdrawal: 'withdrawals',
  EventSummary: 'events',
  WebhookEndpoint: 'webhook-endpoints',
}

/** The text of each page, by its name. */
export function writeReference(document: Document, samples: Samples, language: Language): Map<string, string> {
  const routes = routesOf(document.paths)
  const { schemas } = document.components
  return new Map(
    document.tags.map(({ name: tag }) => {
      const name = tag.toLowerCase().replaceAll(' ', '-')
      const addressOf = (object: ObjectName) => {
        const anchor = language.words.objectTitle[object].toLowerCase().replaceAll(' ', '-')
        return `${placeOf[object] === name ? '' : `${placeOf[object]}.md`}#${anchor}`
      }
      const page: Page = { ...language, schemas, addressOf }
      const own = routes.filter(({ operation }) => operation.tags.includes(tag))
      const objects = (Object.keys(placeOf) as ObjectName[]).filter((object) => placeOf[object] === name)
      const sections = [
        ...own.map((route) => writeRoute(page, route, samples)),
        ...objects.map((object) => writeObject(page, object)),
        ...(tag === 'Webhooks' ? [writeWebhooks(page, routesOf(document.webhooks))] : []),
      ]
      return [name, `${sections.join('\n\n')}\n`]
    }),
  )
}

/** In the order of the document, but documents for programs last. */
export function routesOf(paths: Document['paths']): Route[] {
  const isForPrograms = ({ path }: Route) => path.startsWith('/.well-known/')
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
    )
    .toSorted((one, other) => Number(isForPrograms(one)) - Number(isForPrograms(other)))
}

function writeRoute(page: Page, { method, path, operation }: Route, samples: Samples): string {
  const { words, translate } = page
  const { parameters = [], requestBody, responses } = operation
  const bodies = Object.values(requestBody?.content ?? {})
  return [
    `## ${translate(operation.summary)}`,
    fence('http', `${method} ${path}`),
    ...(operation.description ?? '').split('\n\n').map((paragraph) => translate(paragraph)),
    ['::: code-group', ...(samples.get(operation.operationId) ?? []).map((sample) => toTab(page, sample)), ':::'].join(
      '\n',
    ),
    ...writeAnswers(page, responses),
    ...(parameters.length > 0 ? [`#### ${words.parameters}`, writeParameters(page, parameters)] : []),
    ...bodies.flatMap(({ schema }) => [`#### ${words.body}`, writeFields(page, schema, true)]),
    ...writeAnswerFields(page, responses),
    `#### ${words.errors}`,
    Object.entries(responses)
      .filter(([status]) => !isSuccess(status))
      .map(([status, answer]) => writeError(page, status, answer))
      .join('\n'),
  ]
    .filter(Boolean)
    .join('\n\n')
}

function toTab({ translate }: Page, { title, fence, text }: Sample): string {
  const translated = text.replaceAll(/^(\/\/|#) (.*)$/gm, (_, mark, comment) => `${mark} ${translate(comment)}`)
  return `\`\`\`${fence} [${title}]\n${translated}\`\`\``
}

function fence(language: string, text: string): string {
  return `\`\`\`${language}\n${text.trimEnd()}\n\`\`\``
}

function isSuccess(status: string): boolean {
  return status.startsWith('2')
}

/** The example of each successful answer. */
function writeAnswers({ words, translate }: Page, responses: Operation['responses']): string[] {
  return Object.entries(responses)
    .filter(([status]) => isSuccess(status))
    .flatMap(([status, { description, content }]) => {
      const [type, body] = Object.entries(content ?? {})[0] ?? []
      const title = `#### ${words.response} ${status}`
      const lead = `${translate(description)}.`
      return body === undefined
        ? [title, `${lead} ${words.noBody}`]
        : [title, lead, writeExample(type ?? '', body.example)]
    })
}

function writeExample(type: string, example: unknown): string {
  if (example === undefined) return ''
  if (!type.includes('json')) return fence('text', String(example))
  // The image of a QR code would fill the screen.
  const short = (_: string, value: unknown) =>
    typeof value === 'string' && value.startsWith('data:image') ? `${value.slice(0, 44)}…` : value
  return fence('json', JSON.stringify(example, short, 2))
}

function writeAnswerFields(page: Page, responses: Operation['responses']): string[] {
  const answers = Object.entries(responses).filter(([status]) => isSuccess(status))
  const schemas = answers.flatMap(([, { content }]) => Object.values(content ?? {}).map(({ schema }) => schema))
  const variants = schemas.flatMap((schema) => (schema.anyOf as Schema[] | undefined) ?? [schema])
  const lists = variants.flatMap((schema) => {
    const object = objectIn(page, schema)
    if (object !== null) {
      const link = `[${page.words.object[object]}](${page.addressOf(object)})`
      return [page.words.isObject(link)]
    }
    const fields = writeFields(page, schema, false)
    if (fields === '') return []
    const about = dereference(page, schema).description
    return variants.length > 1 && typeof about === 'string' ? [`${page.translate(about)}:`, fields] : [fields]
  })
  return lists.length > 0 ? [`#### ${page.words.fields}`, ...lists] : []
}

function writeError(page: Page, status: string, { description, content = {} }: Operation['responses'][string]): string {
  const codes = Object.entries(content).flatMap(([type, { example, examples }]) =>
    type === 'application/problem+json'
      ? Object.keys(examples ?? {}).map((code) => `[\`${code}\`](../errors.md#${code})`)
      : [`\`${String((example as { error?: unknown } | undefined)?.error)}\``].filter(
          (code) => !code.includes('undefined'),
        ),
  )
  const about = `${page.translate(description)}`.replace(/\.$/, '')
  return `- \`${status}\` ${about}${codes.length > 0 ? `: ${codes.join(', ')}` : '.'}`
}

/** An object that several operations return. */
function writeObject(page: Page, object: ObjectName): string {
  const schema = page.schemas[object] ?? {}
  const about = typeof schema.description === 'string' ? `${page.translate(schema.description)}.` : ''
  return [`## ${page.words.objectTitle[object]}`, about, writeFields(page, schema, false)].filter(Boolean).join('\n\n')
}

/** All webhooks have the same headers, answers and one of two bodies. */
function writeWebhooks(page: Page, routes: Route[]): string {
  const { words, translate } = page
  const [first] = routes
  if (first === undefined) return ''
  const rows = routes.map(({ path, operation }) => `| \`${path}\` | ${translate(operation.summary)} |`)
  const bodies = Object.entries(words.webhook.bodies).flatMap(([name, title]) => {
    const own = routes.flatMap(({ operation }) =>
      Object.values(operation.requestBody?.content ?? {}).filter(({ schema }) => nameOf(schema) === name),
    )
    // The second event is the usual one: a payment, or a withdrawal that was sent.
    const [body] = own.slice(1)
    return body === undefined
      ? []
      : [`## ${title}`, writeExample('json', body.example), `#### ${words.body}`, writeFields(page, body.schema, false)]
  })
  const answers = Object.entries(first.operation.responses).map(
    ([status, { description }]) => `- \`${status}\` ${translate(description)}.`,
  )
  return [
    `## ${words.webhook.events}`,
    translate(first.operation.description ?? ''),
    [`| ${words.webhook.event} | ${words.webhook.meaning} |`, '|---|---|', ...rows].join('\n'),
    `## ${words.webhook.headers}`,
    writeParameters(page, first.operation.parameters ?? []),
    ...bodies,
    `## ${words.webhook.answer}`,
    answers.toSorted().join('\n'),
  ].join('\n\n')
}
