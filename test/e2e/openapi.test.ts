import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isScope, scopes } from '../../src/auth/scopes.ts'
import { addOurFormats, publicFormat } from '../../src/http/formats.ts'
import { apiErrors, errors } from '../../src/lib/errors.ts'
import { describeApi } from '../../src/openapi.ts'
import { decodeBrCode } from '../../src/pix/brcode.ts'
import { qrCodeDataUrl } from '../../src/pix/qrcode.ts'
import { transactionStatuses } from '../../src/transactions/status.ts'
import { checkWebhookUrl } from '../../src/webhooks/address.ts'
import { withdrawalStatuses } from '../../src/withdrawals/status.ts'
import { type ApiDocument, type Json, listOperations, type Operation, toPointer } from '../support/api-document.ts'
import { samplesOfFormat } from '../support/fuzz.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { fund, untilWithdrawal, withdraw } from '../support/withdrawals.ts'

const document = JSON.parse(JSON.stringify(await describeApi())) as ApiDocument
const operations = listOperations(document)

/** Routes that anyone may call: for a token, or to monitor the service. */
const publicPaths = [
  ...['/.well-known/jwks.json', '/.well-known/oauth-authorization-server', '/auth/token'],
  ...['/health/live', '/health/ready', '/metrics'],
]
/** Errors of HTTP itself, which belong to no operation. */
const codesOfHttp = ['method_not_allowed', 'request_timeout', 'headers_too_large']

describe('the OpenAPI document', () => {
  it('is the one in docs/: `npm run openapi` writes it', () => {
    expect(JSON.parse(readFileSync('docs/openapi.json', 'utf8'))).toEqual(document)
  })

  it('is OpenAPI 3.1 and has a title and a description', () => {
    expect(document.openapi).toBe('3.1.0')
    expect(document.info).toMatchObject({
      title: 'Guichê',
      version: expect.any(String),
      description: expect.any(String),
    })
  })

  it('has no broken references', () => {
    const references = find(document, (node) => typeof node.$ref === 'string').map(({ node }) => String(node.$ref))
    expect(references.length).toBeGreaterThan(0)
    for (const reference of references) {
      const names = reference.split('/').slice(1)
      const target = names.reduce<unknown>((node, name) => (node as Json | undefined)?.[name], document)
      expect(target, reference).toBeTypeOf('object')
    }
  })

  it('has the main endpoints', () => {
    const named = operations.map(({ method, path }) => `${method} ${path}`)
    for (const endpoint of [
      'GET /auth/token',
      'POST /auth/token',
      'POST /transaction',
      'GET /transaction',
      'GET /transaction/{id}',
      'GET /withdrawal',
    ]) {
      expect(named).toContain(endpoint)
    }
  })

  it('has the errors of the main endpoints', () => {
    const statuses = (endpoint: string) => {
      const operation = operations.find(({ method, path }) => `${method} ${path}` === endpoint)
      return Object.keys(operation?.responses ?? {}).map(Number)
    }
    expect(statuses('POST /auth/token')).toEqual(expect.arrayContaining([200, 400, 401, 502]))
    expect(statuses('POST /transaction')).toEqual(expect.arrayContaining([201, 401, 403, 422, 429, 500]))
    expect(statuses('GET /transaction')).toEqual(expect.arrayContaining([200, 401, 403, 422, 500]))
    expect(statuses('GET /transaction/{id}')).toEqual(expect.arrayContaining([200, 401, 403, 404, 422, 500]))
    expect(statuses('GET /withdrawal')).toEqual(expect.arrayContaining([200, 401, 403, 422, 500]))
  })

  it('has the token endpoint as the OAuth2 client credentials flow, with every scope', () => {
    const { oauth2 } = document.components.securitySchemes
    expect(oauth2).toMatchObject({ type: 'oauth2', flows: { clientCredentials: { tokenUrl: '/auth/token' } } })
    expect(Object.keys(oauth2?.flows?.clientCredentials.scopes ?? {})).toEqual([...scopes])
  })

  it('has only patterns that compile', () => {
    for (const { node, path } of find(document, (candidate) => typeof candidate.pattern === 'string')) {
      expect(() => new RegExp(String(node.pattern), 'u'), path).not.toThrow()
    }
  })
})

it('has each error of the API with an example, and no other errors', () => {
  const { examples } = document.components
  expect(Object.keys(examples).toSorted()).toEqual(
    Object.keys(apiErrors)
      .filter((code) => !codesOfHttp.includes(code))
      .toSorted(),
  )
  const validate = ajv.compile({ $ref: 'api#/components/schemas/Problem' })
  for (const [code, { summary, value }] of Object.entries(examples)) {
    expect(validate(value), JSON.stringify(validate.errors)).toBe(true)
    const { status, title } = errors[code as keyof typeof errors]
    expect({ summary, ...value }).toMatchObject({ summary: title, title, status, code })
    expect(value.type).toBe(`https://pix.example.com/guide/errors.html#${code}`)
  }
})

it('has no format that only Guichê knows, and each pattern accepts what its format accepts', () => {
  const own = find(document, (node) => typeof node.type === 'string' && typeof node.format === 'string')
  const standard = ['uuid', 'date', 'date-time', 'email', 'uri']
  expect([...new Set(own.map(({ node }) => node.format))].filter((name) => !standard.includes(String(name)))).toEqual(
    [],
  )
  for (const [format, samples] of Object.entries(samplesOfFormat)) {
    const { pattern } = publicFormat(format)
    for (const sample of samples) if (pattern !== undefined) expect(sample, format).toMatch(new RegExp(pattern, 'u'))
  }
})

it('describes the webhook of each type of event', () => {
  const types = [
    ...transactionStatuses.map((status) => `transaction.${status.toLowerCase()}`),
    ...withdrawalStatuses.map((status) => `withdrawal.${status.toLowerCase()}`),
  ]
  expect(Object.keys(document.webhooks)).toEqual(types.filter((type) => !type.endsWith('.pending')))
  for (const operation of listOperations({ paths: document.webhooks })) {
    const [{ example, path } = { example: null, path: '' }] = listExamples(operation, 'webhooks')
    const validate = ajv.compile({ $ref: `api#${path}` })
    expect(validate(example), `${operation.path}: ${JSON.stringify(validate.errors)}`).toBe(true)
    expect(example).toMatchObject({ type: operation.path })
  }
})

it('has a unique name for each operation', () => {
  const names = [...operations, ...listOperations({ paths: document.webhooks })].map(({ operationId }) => operationId)
  expect(names.filter((name) => !/^[a-z]+[A-Z]\w+$/.test(name ?? ''))).toEqual([])
  expect(names.length).toBe(new Set(names).size)
})

describe.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
  '%s',
  (_, operation) => {
    it('has a summary, a known tag, and an answer of success', () => {
      expect(operation.summary).toMatch(/^[A-Z].+[^.]$/)
      expect(operation.description).toMatch(/^[A-Z].+\.$/s)
      expect(operation.tags?.length).toBeGreaterThan(0)
      for (const tag of operation.tags ?? []) expect(document.tags.map(({ name }) => name)).toContain(tag)
      expect(Object.keys(operation.responses).some((status) => /^2\d\d$/.test(status))).toBe(true)
      for (const response of Object.values(operation.responses)) {
        expect(response.description).toBeTruthy()
        expect(Object.keys(response.headers ?? {})).toContain('X-Request-Id')
      }
    })

    it('shows an example of its body, of each answer, and of each error', () => {
      const bodies = Object.values(operation.requestBody?.content ?? {})
      const answers = Object.entries(operation.responses).flatMap(([, { content }]) => Object.values(content ?? {}))
      for (const media of [...bodies, ...answers])
        expect('example' in media || Object.keys(media.examples ?? {}).length > 0, JSON.stringify(media)).toBe(true)
      expect(Object.keys(operation.responses).some((status) => /^4/.test(status))).toBe(true)
    })

    it('describes each parameter of its path and no parameter twice', () => {
      const parameters = operation.parameters ?? []
      const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(parameters.filter((one) => one.in === 'path').map(({ name, required }) => [name, required])).toEqual(
        inPath.map((name) => [name, true]),
      )
      expect(new Set(parameters.map((one) => `${one.in} ${one.name}`)).size).toBe(parameters.length)
      for (const { name, description } of parameters) expect(description, name).toBeTruthy()
    })

    it('says who may call it', () => {
      if (publicPaths.includes(operation.path)) {
        const basic = operation.method === 'GET' ? [{ basic: [] }] : [{}, { basic: [] }]
        expect(operation.security).toEqual(operation.path === '/auth/token' ? basic : [])
        return
      }
      const [scope] = operation.security?.[0]?.oauth2 ?? []
      expect(operation.security).toEqual([{ oauth2: [scope] }, { bearer: [] }])
      expect(isScope(scope ?? '')).toBe(true)
      expect(operation.description).toContain(`\`${scope}\``)
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['401', '403']))
    })

    it('answers errors as problems', () => {
      for (const [status, response] of Object.entries(operation.responses)) {
        if (Number(status) < 400 || operation.path === '/health/ready') continue
        if (operation.path === '/auth/token') continue
        expect(Object.keys(response.content ?? {}), status).toEqual(['application/problem+json'])
      }
    })

    it('has valid examples', () => {
      for (const { schema, example, path } of listExamples(operation)) {
        const validate = ajv.compile({ $ref: `api#${path}` })
        expect(
          validate(example),
          `${path}: ${JSON.stringify(validate.errors)} ${JSON.stringify(schema).slice(0, 200)}`,
        ).toBe(true)
      }
    })
  },
)

it('shows a code that a payer’s app can read', () => {
  const codes = find(document, (node) => typeof node.qrCodeBase64 === 'string').map(({ node }) => node)
  expect(codes.length).toBeGreaterThan(0)
  for (const { uri, qrCodeBase64 } of codes) {
    expect(decodeBrCode(String(uri))).toMatchObject({ ok: true })
    expect(qrCodeBase64).toBe(qrCodeDataUrl(String(uri)))
  }
})

it('passes the rules of Redocly and Spectral, without a warning', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['tools/document/lint.mjs'])
  expect(stdout).toBe('')
})

describe('the document of a running service', () => {
  let service: TestService

  beforeAll(async () => {
    service = await startTestService()
  })
  afterAll(async () => await service.stop())

  const open = async (path: string) => {
    const answer = await service.call<string>(path, { token: null })
    expect(answer.status, path).toBe(200)
    return answer
  }

  it('the page at /docs shows the document, with all files from this service', async () => {
    for (const page of ['/docs', '/docs/']) {
      const { text, headers } = await open(page)
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      const assets = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, asset]) => String(asset))
      expect(assets.filter((asset) => asset.endsWith('.js')).length).toBeGreaterThan(1)
      for (const asset of assets) {
        expect(asset).not.toMatch(/^(?:\w+:|\/\/)/)
        const { text: content, headers: about } = await open(new URL(asset, `http://here${page}`).pathname)
        expect(about.get('content-type')).toMatch(/javascript|css|image/)
        if (asset.endsWith('.css')) expect(content).not.toMatch(/(?:url\(\s*["']?|@import\s*["']?)(?:https?:)?\/\//)
      }
    }
    const { text: setup } = await open('/docs/static/swagger-initializer.js')
    expect(setup).toContain("resolveUrl('./json')")
    expect(setup).toContain('validatorUrl: null')
    expect((await open('/docs/json')).body).toEqual((await open('/openapi.json')).body)
  })

  it.each(['/openapi.json', '/docs/json', '/docs/yaml'])(
    'limits how often a host may fetch the document at %s',
    async (path) => {
      expect((await open(path)).headers.get('ratelimit')).toMatch(/^"document";r=\d+/)
    },
  )

  it('the page at /docs may not load anything from other hosts, by its policy', async () => {
    const policy = (await open('/docs')).headers.get('content-security-policy') ?? ''
    const directives = policy.split(';').map((directive) => directive.trim().split(' '))
    expect(directives.map(([name]) => name)).toContain('default-src')
    for (const [name, ...sources] of directives) {
      for (const source of sources) expect(["'self'", "'none'", 'data:'], `${name} ${source}`).toContain(source)
    }
    // A service reached by http has no https to upgrade to.
    expect(policy).not.toContain('upgrade-insecure-requests')
  })

  it('the served document has the same paths', async () => {
    const served = (await service.call<ApiDocument>('/openapi.json', { token: null })).body
    expect(Object.keys(served.paths)).toEqual(Object.keys(document.paths))
  })

  it('each operation that needs a token refuses a query parameter that it does not have', async () => {
    const answers = await Promise.all(
      operations
        .filter(({ path }) => !publicPaths.includes(path))
        .map(async ({ method, path, requestBody }) => {
          const [media] = Object.values(requestBody?.content ?? {})
          const [named] = Object.values(media?.examples ?? {})
          const body = media?.example ?? named
          const url = `${path.replaceAll(/\{\w+\}/g, randomUUID())}?unknown=1`
          const answer = await service.call<{ errors?: { field: string }[] }>(url, {
            method,
            ...(body ? { body } : {}),
          })
          return [`${method} ${path}`, answer.body.errors?.some(({ field }) => field === 'unknown') ?? answer.text]
        }),
    )
    expect(answers.filter(([, isRefused]) => isRefused !== true)).toEqual([])
  })

  it('the events are as described: `type` says what `data` is', async () => {
    await fund(service, 10_000)
    const { id, uri } = await charge(service)
    await payAt(service, uri)
    const withdrawalId = await withdraw(service)
    await untilStatus(service, id, 'PAID')
    await untilWithdrawal(service, withdrawalId, 'PROCESSED')
    const feed = await service.call<{ data: { id: string; type: string; data: Json }[] }>('/event?after=start')
    const isFeed = ajv.compile({ $ref: 'api#/components/schemas/FeedPage' })
    expect(isFeed(feed.body), JSON.stringify(isFeed.errors)).toBe(true)
    const isEvent = ajv.compile({ $ref: 'api#/components/schemas/Event' })
    for (const type of ['transaction.paid', 'withdrawal.processed']) {
      const found = feed.body.data.find((one) => one.type === type)
      const { body: event } = await service.call<Json>(`/event/${found?.id}`)
      expect(isEvent(event), JSON.stringify(isEvent.errors)).toBe(true)
      expect(isEvent({ ...event, type: type === 'transaction.paid' ? 'withdrawal.failed' : 'transaction.paid' })).toBe(
        false,
      )
    }
  })
})

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false })
addFormats.default(ajv)
addOurFormats(ajv as unknown as Parameters<typeof addOurFormats>[0])
ajv.addFormat('webhook-url', (text) => checkWebhookUrl(text, { allowPrivate: false }) === null)
ajv.addSchema(document, 'api')

type Found = { node: Json; path: string }

/** Every object in a JSON value that satisfies a condition, with its JSON pointer. */
function find(value: unknown, holds: (node: Json) => boolean, path = ''): Found[] {
  if (typeof value !== 'object' || value === null) return []
  const node = value as Json
  const inside = Object.entries(node).flatMap(([name, member]) => find(member, holds, `${path}/${toPointer(name)}`))
  return !Array.isArray(value) && holds(node) ? [{ node, path }, ...inside] : inside
}

/** Each example of an operation, with the pointer of the schema that it must fit. */
function listExamples(operation: Operation, part = 'paths'): { schema: unknown; example: unknown; path: string }[] {
  const start = `/${part}/${toPointer(operation.path)}/${operation.method.toLowerCase()}`
  return find({ ...operation.source, parameters: [] }, (node) => 'schema' in node && 'example' in node).map(
    ({ node, path }) => ({ schema: node.schema, example: node.example, path: `${start}${path}/schema` }),
  )
}
