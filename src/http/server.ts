import { isUtf8 } from 'node:buffer'
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, maxHeaderSize, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
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
import { AppError } from '../lib/errors.ts'
import { findNearest } from '../lib/nearest.ts'
import { answerBrokenRequest } from './broken-request.ts'
import { limitConnectionsPerHost } from './connections.ts'
import { parseJsonBody } from './json-body.ts'
import { observeRequests } from './observe.ts'
import { sendProblem, toAppError } from './problem.ts'
import { createSecurityLog, logRefusal, type SecurityLog } from './security-log.ts'
import { createValidator, describeFaults } from './validate.ts'

/** Who may call a route. Every route says so; one that says nothing stops the start. */
export type Access =
  | { public: true }
  /** A shop's token with the scope; or a person who may do the same, or has the permission of `orPermission`, signed in to the dashboard. */
  | { scope: string; orPermission?: string }
  /**
   * A person who is signed in and has the permission; null: whoever is signed in. `beforeSecondFactor`: also while the role still needs a second
   * factor.
   */
  | { permission: string | null; beforeSecondFactor?: true }

declare module 'fastify' {
  interface FastifyInstance {
    logSecurity: SecurityLog
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

/** No valid request of the service interface comes near it. */
const bodyBytesMax = 64 * 1024
/** A request that takes longer to arrive is an attack or a lost connection. */
const requestTimeoutMs = 30_000
/** How often Node looks for such requests. Its default of 30 s would let them take twice as long. */
const timeoutCheckMs = 1_000
/** Longer than the 60 s of most proxies, so that it is the proxy that closes an idle connection. */
const keepAliveTimeoutMs = 72_000
/** Each costs memory and a file descriptor; what is above is refused at once instead of slowing down all others. */
const connectionsMax = 10_000
/** Addresses that the answer to an unknown one names. */
const suggestionsMax = 5
/**
 * A caller above its limit gets its answer so late. One that asks again as soon as it is answered would else keep a core busy with refusals; one that
 * waits for `Retry-After` loses nothing.
 */
const refusalDelayMs = 200
/** During a stop, so often are connections looked for that have nothing more to answer. */
const idleLookMs = 50
/** So long may a request take whose connection came just before the stop. */
const silenceMsMax = 1_000

type Options = {
  log: FastifyBaseLogger
  registry: Registry
  trustedProxies: string[]
  /** Connections of one host; 0 is no limit. */
  connectionsPerHostMax: number
  checkWebhookUrl: (url: string) => string | null
  /** A keyed hash that stands for a person in the log. */
  hashPerson: (text: string) => string
  /** Whether to let go of a connection after its answer, so that the processes at the port have as many each. */
  shareConnections?: ((count: () => number) => () => boolean) | undefined
}

/** The HTTP kit: what all routes have in common. It names no feature. */
export async function createServer(options: Options): Promise<Server> {
  // Answers hold tokens, names and amounts: no cache on the way may keep one, unless its route says otherwise.
  const headers = { ...collectSecurityHeaders(), 'cache-control': 'no-store' }
  const app = fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    // Nearly no request has anything to say but that it was answered: a logger of its own would cost each as much as that line.
    childLoggerFactory: (logger) => logger,
    // A list, not `true`: with that, a client could put any address first and escape the limits per address.
    trustProxy: options.trustedProxies.length > 0 ? options.trustedProxies : false,
    bodyLimit: bodyBytesMax,
    requestTimeout: requestTimeoutMs,
    // Node would answer a request without Host itself, without a body and an id.
    http: { requireHostHeader: false, connectionsCheckingInterval: timeoutCheckMs, headersTimeout: requestTimeoutMs },
    keepAliveTimeout: keepAliveTimeoutMs,
    // A request that is already on its way when the stop begins is still answered.
    return503OnClosing: false,
    forceCloseConnections: 'idle',
    genReqId: (request) => toRequestId(request.headers['x-request-id']),
    frameworkErrors: (error, request, reply) => {
      // What the router refuses meets no hook.
      sendProblem(toAppError(error), request, reply.headers(headers))
    },
    clientErrorHandler: (error, socket) => answerBrokenRequest(error, socket, headers),
    // A longer one would be no route at all, and be called unknown instead of wrong. No address is longer.
    routerOptions: { maxParamLength: maxHeaderSize },
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.server.maxConnections = connectionsMax
  limitConnectionsPerHost(app.server, {
    maxPerHost: options.connectionsPerHostMax,
    trustedProxies: options.trustedProxies,
  })
  app.setValidatorCompiler(createValidator(options))
  useStrictJson(app)
  requireDeclaredAccess(app)
  observeRequests(app, options.registry)
  const security = createSecurityLog({ log: options.log, hash: options.hashPerson })
  app.decorate('logSecurity', security.write)
  app.addHook('onClose', async () => security.close())
  letGoOfConnections(app, options)

  app.addHook('onRequest', (request, reply, done) => {
    void reply.headers(headers).header('x-request-id', request.id)
    if (request.raw.httpVersion === '1.1' && request.headers.host === undefined)
      throw new AppError('bad_request', {
        detail: 'Send the header Host: HTTP/1.1 requires it (RFC 9112, section 3.2).',
      })
    done()
  })
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const encoding = request.headers['content-encoding'] ?? 'identity'
    if (encoding.toLowerCase() === 'identity') return done(null, payload)
    throw new AppError('unsupported_media_type', {
      detail: 'Send the body as it is, without Content-Encoding.',
      headers: { 'accept-encoding': 'identity' },
    })
  })
  app.setErrorHandler((error, request, reply) => {
    const appError = withOtherParts(toAppError(error), request)
    logRefusal(security.write, appError, request)
    if (appError.code === 'internal_error') request.log.error({ requestId: request.id, err: error }, 'a request failed')
    // Not an error of this request, and one line for each would hide the line that says why.
    if (appError.code === 'database_unavailable')
      request.log.warn(
        {
          requestId: request.id,
          reason: appError.details.cause instanceof Error ? appError.details.cause.message : '',
        },
        'a request was not answered: the database did not answer',
      )
    if (appError.code !== 'rate_limited') return sendProblem(appError, request, reply)
    setTimeout(() => void sendProblem(appError, request, reply), refusalDelayMs)
    return reply
  })
  answerUnknownRoutes(app)
  return app
}

/** What helmet puts on an answer. It is the same on all, so it is asked once: asked every time it costs as much as the QR code's PNG. */
function collectSecurityHeaders(): Record<string, string> {
  // No page of ours uses any of these, nor may a frame or a script that got into one.
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
  // For Internet Explorer, Flash and the auditors that browsers have dropped: each would cost every answer a third of a microsecond.
  const forNobody = { xDownloadOptions: false, xPermittedCrossDomainPolicies: false, xXssProtection: false }
  helmet({ contentSecurityPolicy, ...forNobody })(
    {} as IncomingMessage,
    answer as unknown as ServerResponse,
    (error) => {
      assert(error === undefined, 'helmet has headers for every answer')
    },
  )
  return headers
}

/**
 * A connection that is busy when the stop begins would else be kept for as long as its client likes, and the stop with it. An export goes
 * at the pace of its reader, who may have paused: it is cut, which the reader sees, since its end is missing. Browsers open connections
 * before they need them: one on which nothing was ever said does not count as idle to Node, and is let go of here.
 */
function letGoOfConnections(app: Server, { shareConnections }: Options): void {
  let isStopping = false
  const streams = new Set<Readable>()
  const connections = new Set<Socket>()
  app.server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  const isOneTooMany = shareConnections?.(() => connections.size)
  app.addHook('preClose', async () => {
    isStopping = true
    const stopsAt = performance.now()
    const timer = setInterval(() => {
      app.server.closeIdleConnections()
      const isOver = performance.now() - stopsAt > silenceMsMax
      for (const socket of isOver ? connections : []) if (socket.bytesRead === 0) socket.destroy()
      for (const stream of streams) stream.destroy(new Error('cut: the service stops'))
    }, idleLookMs)
    app.server.once('close', () => clearInterval(timer))
  })
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    // Not while the request is still being sent: its sender might never read the answer.
    if (isStopping || (raw.complete && isOneTooMany?.())) void reply.header('connection', 'close')
    if (payload instanceof Readable) {
      streams.add(payload)
      payload.once('close', () => streams.delete(payload))
    }
    done(null, payload)
  })
}

/** Fastify stops at the first part of a request that is not valid; the caller is told of every fault at once. */
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
 * Well-formed UTF-8 only: a decoder that replaces broken bytes would store something else than was sent. `*` reads as JSON whatever it
 * is called, for callers that we cannot teach.
 */
export function useStrictJson(app: Server, mediaType: 'application/json' | '*' = 'application/json'): void {
  const parse = mediaType === '*' ? app.getDefaultJsonParser('error', 'error') : null
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(mediaType, { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    if (!isUtf8(body)) return done(new AppError('malformed_json', { detail: 'The body is not well-formed UTF-8.' }))
    // Many clients name a media type with every request. Where no body is expected, none is no fault.
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

/** 404 for an address that no route has, 405 with `Allow` for one that has it under another method; before any body is read. */
function answerUnknownRoutes(app: Server): void {
  const routes: { pattern: RegExp; method: string }[] = []
  const documented = new Set<string>()
  app.addHook('onRoute', (route) => {
    const isHidden = route.schema !== undefined && 'hide' in route.schema
    if (!isHidden && !route.url.includes('*')) documented.add(route.url)
    const pattern = new RegExp(
      `^${route.url
        .replace(/[.+?^$()|[\]\\]/g, '\\$&')
        .replace(/:[^/]+/g, '[^/]+')
        .replace('*', '.*')}$`,
    )
    for (const method of [route.method].flat()) routes.push({ pattern, method })
  })
  const refuse = (request: FastifyRequest) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = [...new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
    // A route that is there and does not find what it is for, such as a file, is no matter of its method.
    if (allowed.length === 0 || allowed.includes(request.method)) {
      const suggestion = suggestAddress(path, [...documented])
      throw new AppError('not_found', {
        detail: `There is nothing at this address${suggestion || '.'} /docs lists all.`,
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
  // For what a route itself does not find, such as a file of /docs.
  app.setNotFoundHandler(refuse)
}

/** What was most likely meant by an address that does not exist: nothing, or the end of a sentence. */
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

/** A well-formed id that the client sent is kept, so that both sides find the same request. */
function toRequestId(sent: string | string[] | undefined): string {
  return typeof sent === 'string' && /^[\w.:/+=@~-]{1,128}$/.test(sent) ? sent : randomUUID()
}
