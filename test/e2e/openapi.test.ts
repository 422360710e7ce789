import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isScope, scopes } from '../../src/auth/scopes.ts'
import { addOurFormats } from '../../src/http/formats.ts'
import { describeApi } from '../../src/openapi.ts'
import { decodeBrCode } from '../../src/pix/brcode.ts'
import { checkWebhookUrl } from '../../src/webhooks/address.ts'
import { type ApiDocument, type Json, listOperations, type Operation, toPointer } from '../support/api-document.ts'
import { startTestService, type TestService } from '../support/service.ts'

const document = JSON.parse(JSON.stringify(await describeApi())) as ApiDocument
const operations = listOperations(document)

/** Routes that anyone may call: for a token, or to monitor the service. */
const publicPaths = ['/.well-known/jwks.json', '/auth/token', '/health/live', '/health/ready', '/metrics']

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

  it('has every endpoint of the service interface', () => {
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

  it('has the errors that the interface names for each', () => {
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

describe.each(operations.map((operation) => [`${operation.method} ${operation.path}`, operation] as const))(
  '%s',
  (_, operation) => {
    it('has a summary, a known tag, and an answer of success', () => {
      expect(operation.summary).toMatch(/^[A-Z].+[^.]$/)
      expect(operation.tags?.length).toBeGreaterThan(0)
      for (const tag of operation.tags ?? []) expect(document.tags.map(({ name }) => name)).toContain(tag)
      expect(Object.keys(operation.responses).some((status) => /^2\d\d$/.test(status))).toBe(true)
      for (const response of Object.values(operation.responses)) expect(response.description).toBeTruthy()
    })

    it('describes each parameter of its path and no parameter twice', () => {
      const parameters = operation.parameters ?? []
      const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      expect(parameters.filter((one) => one.in === 'path').map(({ name, required }) => [name, required])).toEqual(
        inPath.map((name) => [name, true]),
      )
      expect(new Set(parameters.map((one) => `${one.in} ${one.name}`)).size).toBe(parameters.length)
    })

    it('says who may call it', () => {
      if (publicPaths.includes(operation.path)) {
        expect(operation.security).toEqual([])
        return
      }
      const [scope] = operation.security?.[0]?.oauth2 ?? []
      expect(operation.security).toEqual([{ oauth2: [scope] }, { bearer: [scope] }])
      expect(isScope(scope ?? '')).toBe(true)
      expect(operation.description).toContain(`\`${scope}\``)
      expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['401', '403']))
    })

    it('answers errors as problems', () => {
      for (const [status, response] of Object.entries(operation.responses)) {
        if (Number(status) < 400 || operation.path === '/auth/token' || operation.path === '/health/ready') continue
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
  const codes = find(document, (node) => typeof node.qrCodeBase64 === 'string').map(({ node }) => String(node.uri))
  expect(codes.length).toBeGreaterThan(0)
  for (const code of codes) expect(decodeBrCode(code)).toMatchObject({ ok: true })
})

it('shows an example of each body', () => {
  const bodies = operations.filter(({ requestBody }) => requestBody)
  expect(bodies.length).toBeGreaterThan(0)
  for (const operation of bodies) {
    const found = listExamples(operation).filter(({ path }) => path.includes('/requestBody/'))
    expect(found.length, `${operation.method} ${operation.path}`).toBeGreaterThan(0)
  }
})

describe('the page at /docs', () => {
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

  it('shows the document, with all files from this service', async () => {
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

  it('may not load anything from other hosts, by its policy', async () => {
    const policy = (await open('/docs')).headers.get('content-security-policy') ?? ''
    const directives = policy.split(';').map((directive) => directive.trim().split(' '))
    expect(directives.map(([name]) => name)).toContain('default-src')
    for (const [name, ...sources] of directives) {
      for (const source of sources) expect(["'self'", "'none'", 'data:'], `${name} ${source}`).toContain(source)
    }
    // A service reached by http has no https to upgrade to.
    expect(policy).not.toContain('upgrade-insecure-requests')
  })

  it('shows what is served', async () => {
    const served = (await service.call<ApiDocument>('/openapi.json', { token: null })).body
    expect(Object.keys(served.paths)).toEqual(Object.keys(document.paths))
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
function listExamples(operation: Operation): { schema: unknown; example: unknown; path: string }[] {
  const start = `/paths/${toPointer(operation.path)}/${operation.method.toLowerCase()}`
  const inSchemas = find(
    operation.source,
    (node) => Array.isArray(node.examples) && typeof node.type === 'string',
  ).flatMap(({ node, path }) =>
    (node.examples as unknown[]).map((example) => ({ schema: node, example, path: start + path })),
  )
  const inContents = find(
    operation.source,
    (node) => 'schema' in node && ('example' in node || 'examples' in node),
  ).flatMap(({ node, path }) => {
    const named = Object.values((node.examples ?? {}) as Record<string, { value: unknown }>).map(({ value }) => value)
    const examples = 'example' in node ? [node.example, ...named] : named
    return examples.map((example) => ({ schema: node.schema, example, path: `${start}${path}/schema` }))
  })
  return [...inSchemas, ...inContents]
}
