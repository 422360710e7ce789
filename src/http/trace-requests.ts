import type { FastifyInstance } from 'fastify'
import { beginSpan, type OpenSpan } from '../lib/spans.ts'

declare module 'fastify' {
  interface FastifyRequest {
    span: OpenSpan | null
  }
}

/**
 * One span for each request, which continues the caller's trace (`traceparent`). It has the route's pattern, never the
 * URL, whose query may hold an e-mail address. Call it before other hooks.
 */
export function traceRequests(app: FastifyInstance): void {
  app.decorateRequest('span', null)
  app.addHook('onRequest', (request, _reply, done) => {
    const { method, routeOptions, headers } = request
    const route = routeOptions.url ?? 'unknown'
    request.span = beginSpan(`${method} ${route}`, {
      kind: 'server',
      parent: typeof headers.traceparent === 'string' ? headers.traceparent : null,
      attributes: { 'http.request.method': method, 'http.route': route, 'guiche.request_id': request.id },
    })
    enter(request.span, done)
  })
  // The body arrives by events of the connection, which know nothing of the request's span.
  app.addHook('preValidation', (request, _reply, done) => enter(request.span, done))
  app.addHook('onResponse', (request, reply, done) => {
    const { statusCode } = reply
    request.span?.set({ 'http.response.status_code': statusCode })
    request.span?.end(statusCode >= 500 ? 'error' : 'ok')
    done()
  })
}

function enter(span: OpenSpan | null, done: () => void): void {
  if (span === null) done()
  else span.run(done)
}
