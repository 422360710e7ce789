import type { FastifyInstance } from 'fastify'
import { Counter, Histogram, type Registry } from 'prom-client'
import { noteRequest } from '../lib/load.ts'
import { readTraceparent } from '../lib/spans.ts'

/**
 * Pages and their files: the dashboard without its API, the guide and the reference. One page loads dozens of files.
 */
const isFile = (route: string) => /^\/(?:dashboard(?!\/api\/)|guide|docs)(?:\/|$)/.test(route)

/**
 * Writes one log line (at `debug` for files, unless they fail) and one metrics observation per answered request. Both
 * have the route's pattern, never the URL, whose query may hold an e-mail address.
 */
export function observeRequests(app: FastifyInstance, registry: Registry): void {
  const duration = new Histogram({
    name: 'guiche_http_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  const failures = new Counter({
    name: 'guiche_http_request_errors_total',
    help: 'Requests answered with 5xx',
    labelNames: ['method', 'route'],
    registers: [registry],
  })
  // The line has nothing to redact, and redaction copies it: an eighth of all that a request allocates.
  const log = app.log.child({}, { redact: [] })
  // One entry per method, route and status. Looking it up by labels costs the library more than observing.
  const durations = new Map<string, { observe(seconds: number): void }>()
  const durationOf = (method: string, route: string, status: number) => {
    const key = `${method} ${route} ${status}`
    const known = durations.get(key) ?? duration.labels({ method, route, status })
    durations.set(key, known)
    return known
  }
  app.addHook('onResponse', (request, reply, done) => {
    noteRequest()
    const route = request.routeOptions.url ?? 'unknown'
    const { method } = request
    durationOf(method, route, reply.statusCode).observe(reply.elapsedTime / 1000)
    if (reply.statusCode >= 500) failures.inc({ method, route })
    const ms = Math.round(reply.elapsedTime * 10) / 10
    const level = reply.statusCode < 400 && isFile(route) ? 'debug' : 'info'
    // The id of the caller's trace, so that both sides can find the same request.
    const caller = request.headers.traceparent === undefined ? null : readTraceparent(request.headers.traceparent)
    const line = { requestId: request.id, method, route, status: reply.statusCode, ms }
    log[level](caller === null ? line : { ...line, traceId: caller.traceId }, 'answered')
    done()
  })
}
