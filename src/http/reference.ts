import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { assert } from '../lib/assert.ts'
import { completeDocument } from './document.ts'
import { enforceRateLimit, type RateLimiter, toHost } from './rate-limit.ts'
import { problems } from './schemas.ts'
import type { Server } from './server.ts'

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

type OpenApiOptions = {
  version: string
  /** Address of the guide. */
  guide: string
  /** Each with a description. */
  scopes: Record<string, string>
  /** The operations of receivers, by the type of their event. */
  webhooks: object
}

/**
 * Collects the routes' schemas into OpenAPI 3.1. Must be registered before the routes.
 */
export async function registerOpenApi(app: Server, options: OpenApiOptions): Promise<void> {
  const { version, guide, scopes, webhooks } = options
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
}

/** A search has its filters in the body, and changes nothing. All reads of a merchant share one limit. */
export function isRead({ method, url = '' }: { method: string | string[]; url?: string | undefined }): boolean {
  return method === 'GET' || method === 'HEAD' || /\/search(?:\.csv)?$/.test(url)
}

/** Serves the document at `/openapi.json` and a page to read it at `/docs`, which loads nothing from other hosts. */
export async function registerReference(app: Server, { documentLimit }: { documentLimit: RateLimiter }): Promise<void> {
  // Built once: it is half a megabyte, and anyone may fetch it.
  let document: string | undefined
  app.get('/openapi.json', { config: { access: { public: true } }, schema: { hide: true } }, async (request, reply) => {
    enforceRateLimit(documentLimit, toHost(request.ip), reply)
    document ??= JSON.stringify(app.swagger())
    return reply.type('application/json; charset=utf-8').send(document)
  })
  await app.register(async (scoped) => {
    scoped.addHook('onRoute', (route) => {
      route.config = { ...route.config, access: { public: true } }
    })
    await scoped.register(swaggerUi, {
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
  })
}
