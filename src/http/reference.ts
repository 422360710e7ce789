import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { enforceRateLimit, type RateLimiter, toHost } from './rate-limit.ts'
import type { Server } from './server.ts'

export type OpenApiOptions = {
  version: string
  /** Address of the guide. */
  guide: string
  /** Each with a description. */
  scopes: Record<string, string>
  /** The `webhooks` of the document: the requests that a merchant's server receives, by the type of their event. */
  webhooks: object
}

/** Remembers the routes and what they accept and answer. Must be called before they are registered. */
export function collectReference(app: Server, options: OpenApiOptions): () => Promise<FastifyInstance> {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    const isHidden = route.schema !== undefined && 'hide' in route.schema
    if (!isHidden && route.method !== 'HEAD') routes.push(route)
  })
  let made: Promise<FastifyInstance> | undefined
  return async () => {
    made ??= import('./reference-server.ts')
      .then(
        async ({ createReferenceServer }) =>
          await createReferenceServer({ routes, schemas: app.getSchemas() }, options),
      )
      .catch((error: unknown) => {
        // The next request tries again.
        made = undefined
        throw error
      })
    return await made
  }
}

/** These have their filters in the body, and change nothing: searches, the dashboard's lists, and previews. */
const readsWithBody = /\/(?:search(?:\.csv)?|preview)$|^\/dashboard\/api\/list\//

/** Whether a route only reads: all reads of a merchant share one limit. */
export function isRead({ method, url = '' }: { method: string | string[]; url?: string | undefined }): boolean {
  return method === 'GET' || method === 'HEAD' || readsWithBody.test(url)
}

/** Serves the document at `/openapi.json` and a page to read it at `/docs`, which loads nothing from other hosts. */
export function registerReference(
  app: Server,
  { reference, documentLimit }: { reference: () => Promise<FastifyInstance>; documentLimit: RateLimiter },
): void {
  const route = { config: { access: { public: true } }, schema: { hide: true } } as const
  // Built once, and limited wherever it is served: it is half a megabyte, and anyone may fetch it.
  let document: string | undefined
  app.get('/openapi.json', route, async (request, reply) => {
    enforceRateLimit(documentLimit, toHost(request.ip), reply)
    document ??= JSON.stringify((await reference()).swagger())
    return reply.type('application/json; charset=utf-8').send(document)
  })
  const passOn = async ({ url, headers }: FastifyRequest, reply: FastifyReply) => {
    const answer = await (await reference()).inject({ url, headers })
    if (answer.statusCode === 404) return reply.callNotFound()
    const { connection: _, date: __, 'transfer-encoding': ___, ...others } = answer.headers
    return await reply.code(answer.statusCode).headers(others).send(answer.rawPayload)
  }
  // The page's own copies of the document.
  const passDocumentOn = async (request: FastifyRequest, reply: FastifyReply) => {
    enforceRateLimit(documentLimit, toHost(request.ip), reply)
    return await passOn(request, reply)
  }
  app.get('/docs/json', route, passDocumentOn)
  app.get('/docs/yaml', route, passDocumentOn)
  app.get('/docs', route, passOn)
  app.get('/docs/*', route, passOn)
}
