import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import fastify, { type FastifyInstance, type RouteOptions } from 'fastify'
import { assert } from '../lib/assert.ts'
import type { Compilers } from './compile.ts'
import { completeDocument } from './document.ts'
import { isRead, type OpenApiOptions } from './reference.ts'
import { problems } from './schemas.ts'

const description = `
A self-hosted PIX payment gateway. Get a token from \`/auth/token\`, create a transaction, show its QR code, and receive a
signed webhook when it is paid.

- New here? Start with [the guide](/guide/).
- Amounts are integers in **cents** of BRL.
- Errors are \`application/problem+json\` (RFC 9457); compare \`code\`, read \`detail\`; 422 lists every error in \`errors\`.
- Webhooks are signed according to [Standard Webhooks](https://www.standardwebhooks.com).
- Every response has \`X-Request-Id\`.
`

/**
 * Allows no other origin. The library's default policy allows styles, fonts and a validator of other hosts. It also
 * upgrades every asset to https, which leaves an empty page if the service is reached by http.
 */
const referencePolicy =
  "default-src 'self'; img-src 'self' data:; font-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

/**
 * A server that never listens: from the routes' schemas it makes the OpenAPI 3.1 document and the page that shows it.
 * It is created at the first request for one of them: loading its libraries would make each start 5 % longer.
 */
export async function createReferenceServer(
  { routes, schemas }: { routes: RouteOptions[]; schemas: Record<string, unknown> },
  options: OpenApiOptions,
): Promise<FastifyInstance> {
  const { version, guide, scopes, webhooks } = options
  const app = fastify({ schemaController: { compilersFactory: withoutCompilers } })
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Guichê',
        version,
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        contact: { name: 'The operator of this service' },
      },
      servers: [{ url: '/', description: 'The service that serves this document' }],
      externalDocs: { url: guide, description: 'The guide' },
      tags: [
        { name: 'Token', description: 'OAuth 2.0 client credentials' },
        { name: 'Transactions', description: 'Charging by PIX' },
        { name: 'Withdrawals', description: 'Paying out by PIX' },
        { name: 'Balance', description: 'The balance and its statement' },
        { name: 'Events', description: 'What happened, and its delivery to webhooks' },
        { name: 'Webhook endpoints', description: 'Addresses that receive the events of all records' },
        { name: 'Webhooks', description: 'What Guichê sends to your server' },
        { name: 'Sandbox', description: 'The simulated Pix network' },
        { name: 'Operation', description: 'For operators' },
      ],
      components: {
        securitySchemes: {
          oauth2: {
            type: 'oauth2',
            description:
              'The client id and secret: the token is fetched from /auth/token. If no scope is chosen, the token has all scopes of the client.',
            flows: { clientCredentials: { tokenUrl: '/auth/token', scopes } },
          },
          basic: { type: 'http', scheme: 'basic', description: 'The client id and secret' },
          bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Access token from /auth/token' },
        },
      },
    },
    refResolver: { buildLocalReference: (schema, _base, _fragment, index) => String(schema.$id ?? `def-${index}`) },
    // The scope comes from `config.access`, which the guard enforces: the document cannot say anything else.
    transform: ({ schema, url, route }) => {
      const access = route.config?.access
      const scope = access && 'scope' in access ? access.scope : null
      if (scope === null) return { url, schema: { ...schema, security: schema?.security ?? [] } }
      const { description = '', response }: { description?: string; response?: unknown } = schema ?? {}
      const security: Record<string, string[]>[] = [{ oauth2: [scope] }, { bearer: [] }]
      return {
        url,
        schema: {
          ...schema,
          security,
          description: `${description} Scope: \`${scope}\`.`.trim(),
          response: { ...(response as object), ...(isRead(route) && problems(429)) },
        },
      }
    },
    transformObject: (made) => {
      assert('openapiObject' in made, 'the document is OpenAPI')
      return completeDocument({ ...made.openapiObject, webhooks }) as typeof made.openapiObject
    },
  })
  for (const schema of Object.values(schemas)) app.addSchema(schema)
  await app.register(async (scoped) => {
    for (const { method, url, schema, config } of routes)
      scoped.route({ method, url, handler: () => {}, ...(schema && { schema }), ...(config && { config }) })
  })
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: referencePolicy,
    uiConfig: {
      layout: 'BaseLayout',
      docExpansion: 'list',
      defaultModelsExpandDepth: -1,
      displayRequestDuration: true,
      // Otherwise the page would keep the client secret in the browser's storage.
      persistAuthorization: false,
    },
    theme: { title: 'Guichê API' },
  })
  await app.ready()
  return app
}

/** The reference only describes the routes and never answers one, so it needs neither validators nor serializers. */
const withoutCompilers = {
  buildValidator: () => () => () => true,
  buildSerializer: () => () => JSON.stringify,
} as unknown as Compilers
