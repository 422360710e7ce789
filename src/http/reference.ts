import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { enforceRateLimit, type RateLimiter, toHost } from './rate-limit.ts'
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

/**
 * Collects the routes' schemas into OpenAPI 3.1. Must be registered before the routes.
 * @param scopes each with a description
 */
export async function registerOpenApi(
  app: Server,
  { version, scopes }: { version: string; scopes: Record<string, string> },
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Guichê', version, description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
      servers: [{ url: '/' }],
      tags: [
        { name: 'Token', description: 'OAuth 2.0 client credentials' },
        { name: 'Transactions', description: 'Charging by PIX' },
        { name: 'Withdrawals', description: 'Paying out by PIX' },
        { name: 'Balance', description: 'The balance and its statement' },
        { name: 'Events', description: 'What happened, and its delivery to webhooks' },
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
          bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Access token from /auth/token' },
        },
      },
    },
    refResolver: { buildLocalReference: (schema, _base, _fragment, index) => String(schema.$id ?? `def-${index}`) },
    // The scope comes from `config.access`, which the guard enforces: the document cannot say anything else.
    transform: ({ schema, url, route }) => {
      const access = route.config?.access
      const named = access && 'scope' in access ? [access.scope] : null
      const security: Record<string, string[]>[] = named ? [{ oauth2: named }, { bearer: named }] : []
      const scope = access && 'scope' in access ? `Scope: \`${access.scope}\`.` : ''
      return {
        url,
        schema: {
          ...schema,
          security,
          description: [schema?.description, scope].filter(Boolean).join(' ') || undefined,
        },
      }
    },
  })
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
