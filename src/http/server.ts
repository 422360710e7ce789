import { isUtf8 } from 'node:buffer'
import { randomInt, randomUUID } from 'node:crypto'
import { type IncomingMessage, maxHeaderSize, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
  type RawServerDefault,
  type RouteOptions,
} from 'fastify'
import helmet from 'helmet'
import type { Registry } from 'prom-client'
import { assert } from '../lib/assert.ts'
import { createCountedLine } from '../lib/counted-line.ts'
import { AppError, describeFaults } from '../lib/errors.ts'
import { findNearest } from '../lib/nearest.ts'
import { isTracing } from '../lib/spans.ts'
import { answerBrokenRequest } from './broken-request.ts'
import { compileAtFirstUse } from './compile.ts'
import { limitConnectionsPerHost } from './connections.ts'
import { parseJsonBody } from './json-body.ts'
import { observeRequests } from './observe.ts'
import { sendProblem, toAppError } from './problem.ts'
import { parseQuery } from './request-shape.ts'
import { createSecurityLog, logRefusal, type SecurityLog } from './security-log.ts'
import { traceRequests } from './trace-requests.ts'
import { createValidator } from './validate.ts'

/** Who may call a route. Every route declares it; the service does not start if one does not. */
export type Access =
  | { public: true }
  /**
   * A merchant's token with the scope. Or a signed-in dashboard user who may do the same, or who has the permission
   * `orPermission`. `userPermission`: users need this permission instead.
   */
  | { scope: string; orPermission?: string; userPermission?: string }
  /**
   * A signed-in user with the permission; null: any signed-in user. `beforeSecondFactor`: also while the role still
   * needs a second factor.
   */
  | { permission: string | null; beforeSecondFactor?: true }

declare module 'fastify' {
  interface FastifyInstance {
    logSecurity: SecurityLog
    /** Logs responses `database_unavailable`, counted, once a second: a line for each would hide the other lines. */
    logOutage: (error: AppError) => void
    /** Whether the service is stopping: it is not ready, and each response closes its connection. */
    isStopping: () => boolean
    /** Begins the stop, but still serves for this time: load balancers notice that the service is not ready. */
    drain: (ms: number) => Promise<void>
  }
  interface FastifyContextConfig {
    access?: Access
  }
}

export type Server = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** Far more than any valid request of the API. */
const bodyBytesMax = 64 * 1024
/** A request that takes longer to arrive is an attack or a lost connection. */
const requestTimeoutMs = 30_000
/** How often Node checks for such requests. Its default of 30 s would allow them twice the time. */
const timeoutCheckMs = 1_000
/** Longer than the 60 s of most proxies, so that the proxy is the one that closes an idle connection. */
const keepAliveTimeoutMs = 72_000
/**
 * Each connection costs memory and a file descriptor. Further ones are refused at once instead of slowing down all
 * others.
 */
const connectionsMax = 10_000
/** The number of addresses that the response to an unknown address suggests. */
const suggestionsMax = 5
/**
 * The delay of the response to a caller above its limit, at random between the two. Otherwise a caller that retries at
 * once would keep a core busy with refusals, or send on all its connections in the same moment. One that waits for
 * `Retry-After` loses nothing.
 */
const refusalDelayMs = { min: 200, max: 600 }
/** During a stop, how often to check for connections that have no more requests to answer. */
const idleCheckMs = 50
/** How long a connection that was opened just before the stop may take to send its request. */
const silenceMsMax = 1_000
/**
 * How long idle connections stay open when a stop begins. A client may have just sent a request on one of them: closing
 * it would lose the request, and the client may not repeat it. Each response says that its connection closes.
 */
const lingerMs = 200

type Options = {
  log: FastifyBaseLogger
  registry: Registry
  trustedProxies: string[]
  /** Connections per host; 0 is no limit. */
  connectionsPerHostMax: number
  checkWebhookUrl: (url: string) => string | null
  /** Address of the guide's page that explains each error code. */
  errorPage: string
  /** A keyed hash that represents a person in the log. */
  hashPerson: (text: string) => string
  /** Whether to close a connection after its response, so that the processes on the port get equally many each. */
  shareConnections?: ((count: () => number) => () => boolean) | undefined
}

const databaseOutage = 'requests were answered 503: the database is not available'

/** The HTTP server: what all routes have in common. It knows no feature. */
export async function createServer(options: Options): Promise<Server> {
  const { errorPage } = options
  // Responses hold tokens, names and amounts: no cache may store one unless its route says otherwise.
  const headers = { ...collectSecurityHeaders(), 'cache-control': 'no-store' }
  const app = fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    // Nearly every request logs only that it was answered. A logger per request would cost as much as that line.
    childLoggerFactory: (logger) => logger,
    // A list, not `true`: with `true` a client could send any address first and escape the limits per address.
    trustProxy: options.trustedProxies.length > 0 ? options.trustedProxies : false,
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    // Node would answer a request without Host itself, without a body and a request id.
    http: { requireHostHeader: false, connectionsCheckingInterval: timeoutCheckMs, headersTimeout: requestTimeoutMs },
    keepAliveTimeout: keepAliveTimeoutMs,
    // A request that is already in transit when the stop begins is still answered.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    genReqId: (request) => toRequestId(request.headers['x-request-id']),
    frameworkErrors: (error, request, reply) => {
      // Requests that the router rejects run no hooks.
      sendProblem(toAppError(error), { errorPage, request, reply: reply.headers(headers) })
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, { headers, errorPage }),
    schemaController: { compilersFactory: compileAtFirstUse(() => createValidator(options)) },
    // A longer parameter would match no route and be answered as unknown instead of invalid. No address is longer.
    routerOptions: { maxParamLength: maxHeaderSize, querystringParser: parseQuery },
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.server.maxConnections = connectionsMax
  limitConnectionsPerHost(app.server, {
    maxPerHost: options.connectionsPerHostMax,
    trustedProxies: options.trustedProxies,
  })
  useStrictJson(app)
  requireDeclaredAccess(app)
  if (isTracing()) traceRequests(app)
  observeRequests(app, options.registry)
  const security = createSecurityLog({ log: options.log, hash: options.hashPerson })
  app.decorate('logSecurity', security.write)
  app.addHook('onClose', async () => security.close())
  closeConnectionsOnStop(app, options)

  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(headers).header('x-request-id', request.id)
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined)
      throw new AppError('bad_request', {
        detail: 'Send the header Host: HTTP/1.1 requires it (RFC 9112, section 3.2).',
      })
    done()
  })
  app.addHook('preParsing', (request, _reply, payload, done) => {
    // Many clients send a media type with every request. Where no body is expected, that of an empty body is ignored.
    if (request.headers['content-length'] === '0' && !request.routeOptions.schema?.body)
      delete request.headers['content-type']
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding.toLowerCase() === 'identity') return done(null, payload)
    throw new AppError('unsupported_media_type', {
      detail: 'Send the body uncompressed, without Content-Encoding.',
      headers: { 'accept-encoding': 'identity' },
    })
  })
  const logOutage = createCountedLine(({ details: { cause } }: AppError, count) =>
    options.log.warn({ reason: cause instanceof Error ? cause.message : '', count }, databaseOutage),
  )
  app.decorate('logOutage', logOutage)
  app.setErrorHandler((error, request, reply) => {
    const appError = withOtherParts(toAppError(error), request)
    logRefusal(security.write, appError, request)
    if (appError.code === 'internal_error') request.log.error({ requestId: request.id, err: error }, 'a request failed')
    if (appError.code === 'database_unavailable') logOutage(appError)
    const send = () => sendProblem(appError, { errorPage, request, reply })
    if (appError.code !== 'rate_limited') return send()
    setTimeout(() => void send(), randomInt(refusalDelayMs.min, refusalDelayMs.max))
    return reply
  })
  answerUnknownRoutes(app)
  return app
}

/**
 * The headers that helmet adds. They are the same on all responses, so helmet runs once: per request it costs as much
 * as the QR code's PNG.
 */
function collectSecurityHeaders(): Record<string, string> {
  // None of our pages uses these features, and no frame or injected script may.
  const headers: Record<string, string> = {
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  }
  const answer = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value
    },
    removeHeader: () => {},
  }
  const contentSecurityPolicy = {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], baseUri: ["'none'"], formAction: ["'none'"], frameAncestors: ["'none'"] },
  }
  // For Internet Explorer, Flash and XSS filters that browsers have removed. Each would cost a third of a microsecond
  // per response.
  const obsoleteHeaders = { xDownloadOptions: false, xPermittedCrossDomainPolicies: false, xXssProtection: false }
  helmet({ contentSecurityPolicy, ...obsoleteHeaders })(
    {} as IncomingMessage,
    answer as unknown as ServerResponse,
    (error) => {
      assert(error === undefined, 'helmet has headers for every response')
    },
  )
  return headers
}

/**
 * Closes connections so that a stop ends. A connection that is busy when the stop begins would otherwise stay open as
 * long as its client likes. An export runs as fast as its client reads, and that client may have paused: the export is
 * aborted, which the client notices because the end is missing. Browsers open connections before they need them: Node
 * does not count one without any request as idle, so it is closed here.
 */
function closeConnectionsOnStop(app: Server, { shareConnections }: Options): void {
  let isStopping = false
  const streams = new Set<Readable>()
  const connections = new Set<Socket>()
  app.server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  const shouldClose = shareConnections?.(() => connections.size)
  app.decorate('isStopping', () => isStopping)
  app.decorate('drain', async (ms) => {
    isStopping = true
    await sleep(ms)
  })
  app.addHook('preClose', async () => {
    isStopping = true
    if (connections.size > 0) await sleep(lingerMs)
    const stopsAt = performance.now()
    const timer = setInterval(() => {
      app.server.closeIdleConnections()
      const isOver = performance.now() - stopsAt > silenceMsMax
      for (const socket of isOver ? connections : []) if (socket.bytesRead === 0) socket.destroy()
      for (const stream of streams) stream.destroy(new Error('connection closed: the service stops'))
    }, idleCheckMs)
    app.server.once('close', () => clearInterval(timer))
  })
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    // Not while the request is still arriving: its sender might never read the response.
    if (isStopping || (raw.complete && shouldClose?.())) void reply.header('connection', 'close')
    if (payload instanceof Readable) {
      streams.add(payload)
      payload.once('close', () => streams.delete(payload))
    }
    done(null, payload)
  })
}

/**
 * Fastify stops at the first invalid part of a request. This adds the errors of the other parts, so that the caller
 * gets all at once.
 */
function withOtherParts(error: AppError, request: FastifyRequest): AppError {
  if (error.code !== 'validation_failed' || !error.details.fields) return error
  const fields = [...error.details.fields]
  for (const part of ['params', 'body', 'querystring'] as const) {
    const data = { params: request.params, body: request.body, querystring: request.query }[part]
    const checked: unknown = request.getValidationFunction(part)?.(data)
    const fault = typeof checked === 'object' && checked !== null && 'error' in checked ? checked.error : null
    if (!(fault instanceof AppError)) continue
    for (const one of fault.details.fields ?? []) {
      if (!fields.some(({ field, code }) => field === one.field && code === one.code)) fields.push(one)
    }
  }
  if (fields.length === error.details.fields.length) return error
  return new AppError(error.code, { ...error.details, fields, detail: describeFaults(fields) })
}

/**
 * Accepts well-formed UTF-8 only: a decoder that replaces broken bytes would store something else than was sent. `*`
 * parses any media type as JSON, for callers that we cannot change.
 */
export function useStrictJson(app: Server, mediaType: 'application/json' | '*' = 'application/json'): void {
  const parse = mediaType === '*' ? app.getDefaultJsonParser('error', 'error') : null
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(mediaType, { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (!isUtf8(body)) return done(new AppError('malformed_json', { detail: 'The body is not well-formed UTF-8.' }))
    // Many clients send a media type with every request. If no body is expected, an empty one is no error.
    if (body.length === 0 && (mediaType === '*' || !request.routeOptions.schema?.body)) return done(null, undefined)
    if (parse) return parse(request, body.toString('utf8'), done)
    let value: unknown
    try {
      value = parseJsonBody(body.toString('utf8'))
    } catch (error) {
      return done(error as Error)
    }
    return done(null, value)
  })
}

function requireDeclaredAccess(app: Server): void {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => {
    routes.push(route)
  })
  app.addHook('onReady', async () => {
    for (const { method, url, config } of routes) {
      assert(config?.access, `route ${String(method)} ${url} declares who may call it`)
    }
  })
}

/**
 * Answers before any body is read: 404 for an address that no route has, 405 with `Allow` for one that exists with
 * another method.
 */
function answerUnknownRoutes(app: Server): void {
  const routes: { url: string; method: string }[] = []
  const documented = new Set<string>()
  app.addHook('onRoute', (route) => {
    const isHidden = route.schema !== undefined && 'hide' in route.schema
    if (!isHidden && !route.url.includes('*')) documented.add(route.url)
    for (const method of [route.method].flat()) routes.push({ url: route.url, method })
  })
  const refuse = (request: FastifyRequest) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = [...new Set(routes.filter(({ url }) => toPattern(url).test(path)).map(({ method }) => method))]
    // The route exists but did not find its resource, such as a file: the method is not the problem.
    if (allowed.length === 0 || allowed.includes(request.method)) {
      const suggestion = suggestAddress(path, [...documented])
      throw new AppError('not_found', {
        detail: `There is nothing at this address${suggestion || '.'} /docs lists all addresses.`,
      })
    }
    throw new AppError('method_not_allowed', {
      detail: `This address answers ${allowed.join(', ')}.`,
      headers: { allow: allowed.join(', ') },
    })
  }
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) refuse(request)
    done()
  })
  // For resources that a route itself does not find, such as a file of /docs.
  app.setNotFoundHandler(refuse)
}

function toPattern(url: string): RegExp {
  const escaped = url.replace(/[.+?^$()|[\]\\]/g, '\\$&')
  return new RegExp(`^${escaped.replace(/:[^/]+/g, '[^/]+').replace('*', '.*')}$`)
}

/** The address that was most likely meant, as the end of a sentence, or nothing. */
function suggestAddress(path: string, addresses: string[]): string {
  const bare = path.replace(/\/+$/, '')
  const below = addresses.filter((address) => bare !== '' && address.startsWith(`${bare}/`))
  if (addresses.includes(bare)) return `: leave out the slash at the end, as in ${bare}.`
  if (below.length > 0) return `: there is ${below.slice(0, suggestionsMax).map(toShown).join(', ')}.`
  const segments = bare.split('/')
  const near = addresses.find((address) => {
    const others = address.split('/')
    const isNear = (other: string, index: number) =>
      other === '' || other.startsWith(':') || findNearest(segments[index] ?? '', [other]) !== null
    return others.length === segments.length && others.every(isNear)
  })
  return near === undefined ? '' : `: did you mean ${toShown(near)}?`
}

/** `/transaction/:id` → `/transaction/{id}` */
function toShown(address: string): string {
  return address.replace(/:(\w+)/g, '{$1}')
}

/** Keeps a well-formed id that the client sent, so that both sides can find the same request. */
function toRequestId(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && /^[\w.:/+=@~-]{1,64}$/.test(sent) ? sent : randomUUID()
}
