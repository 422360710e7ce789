import type { FastifyReply, FastifyRequest, preSerializationHookHandler, RouteOptions } from 'fastify'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import { findProblem } from '../http/problem.ts'
import type { Server } from '../http/server.ts'
import { createBatcher } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import type { AppError, ErrorCode } from '../lib/errors.ts'
import { redactProblem, redactSuccess, toCreatedId, toId } from './answer.ts'
import { collectNames, type KnownNames, redact } from './redact.ts'
import { type ApiRequest, insertApiRequests } from './store.ts'

const batchRowsMax = 100
/** No request waits for the insert: several rows share it even when they are few. */
const intervalMs = 250
/** With this many waiting the database is overloaded: further ones are dropped. About 6 MB of JSON at the most. */
const waitingMax = 1_000
/** A minute of one merchant in one process: every error of a program that works, not all of one that runs wild. */
const errorsPerMinute = 300
/** Successes are a sample: they show what a request that works looks like. */
const successesPerMinute = 6
const minuteMs = 60_000
/** The counts of merchants that are kept at the same time. */
const merchantsMax = 10_000
/** A redacted request is larger only if somebody tries. */
const charactersMax = 4_000

type Quota = { minute: number; errors: number; successes: number; dropped: number }

/** Errors that the guard throws about a client whose token's signature it has verified. */
const refusedTokens = new Set<ErrorCode>(['token_expired', 'token_revoked', 'insufficient_scope'])

type Deps = {
  db: Db
  clock: Clock
  log: Logger
  registry: Registry
  findMerchantId: (clientId: string) => Promise<string | null>
}

/**
 * Records the requests that clients make with their token: the errors, up to a limit per minute, and a sample of the
 * successes. Most requests cost two look-ups in a map, and no response waits for the database.
 */
export function recordApiRequests(app: Server, deps: Deps): void {
  const { clock, log } = deps
  const quotas = new Map<string, Quota>()
  const names = collectRouteNames(app)
  const bodies = keepSampledBodies(app, (merchantId) => isInSample(quotas.get(merchantId), clock.now()))
  const record = createRecorder(deps, quotas)
  app.addHook('onResponse', (request, reply, done) => {
    done()
    const { caller, user } = request
    if (user !== null) return
    const clientId = caller === null ? findRefusedClient(request) : null
    if (caller === null && clientId === null) return
    const toRow = (merchantId: string): Omit<ApiRequest, 'dropped'> => {
      const route = request.routeOptions.url ?? 'unknown'
      return {
        ...toRedacted(request, reply, names.get(`${request.method} ${route}`) ?? noNames),
        response: redactSuccess(bodies.get(request)),
        merchantId,
        at: clock.now(),
        requestId: request.id,
        method: request.method,
        route,
        status: reply.statusCode,
        durationMs: Math.round(reply.elapsedTime),
      }
    }
    if (caller !== null) return record(caller.merchantId, reply.statusCode, toRow)
    // After the response, so that no refusal waits for the database.
    if (clientId !== null)
      deps
        .findMerchantId(clientId)
        .then((merchantId) => merchantId !== null && record(merchantId, reply.statusCode, toRow))
        .catch((error: unknown) => log.debug({ err: error }, 'a request was not recorded'))
  })
}

function findRefusedClient(request: FastifyRequest): string | null {
  const problem = findProblem(request)
  return problem !== null && refusedTokens.has(problem.code) ? (problem.details.about?.clientId ?? null) : null
}

/** Writes a row if the merchant's quota allows it. The row is made only then. */
function createRecorder({ db, clock, log, registry }: Deps, quotas: Map<string, Quota>) {
  const write = createWriter({ db, log })
  const dropped = new Counter({
    name: 'guiche_api_requests_dropped_total',
    help: 'Failed requests of clients that were not written to their log: too many at once',
    registers: [registry],
  })
  const drop = (quota: Quota) => {
    quota.dropped += 1
    dropped.inc()
  }
  return (merchantId: string, status: number, toRow: (merchantId: string) => Omit<ApiRequest, 'dropped'>): void => {
    const isError = status >= 400
    const quota = quotaOf(quotas, merchantId, clock.now())
    if (isError ? quota.errors >= errorsPerMinute : quota.successes >= successesPerMinute) {
      if (isError) drop(quota)
      return
    }
    if (isError) quota.errors += 1
    else quota.successes += 1
    if (write({ ...toRow(merchantId), dropped: quota.dropped })) quota.dropped = 0
    else if (isError) drop(quota)
  }
}

/** Keeps a reference to the body that the handler answers with, until its request ends. Nothing is copied or parsed. */
function keepSampledBodies(app: Server, isSampled: (merchantId: string) => boolean): WeakMap<FastifyRequest, object> {
  const bodies = new WeakMap<FastifyRequest, object>()
  const keep: preSerializationHookHandler<unknown> = (request, _reply, body, done) => {
    const { caller, user } = request
    if (caller !== null && user === null && typeof body === 'object' && body !== null && isSampled(caller.merchantId))
      bodies.set(request, body)
    done(null, body)
  }
  app.addHook('onRoute', (route) => {
    if (isForTokens(route)) route.preSerialization = [...[route.preSerialization ?? []].flat(), keep]
  })
  return bodies
}

const isForTokens = ({ config }: RouteOptions) => config?.access !== undefined && 'scope' in config.access

function isInSample(quota: Quota | undefined, now: Date): boolean {
  return quota === undefined || quota.successes < successesPerMinute || quota.minute !== minuteOf(now)
}

const minuteOf = (now: Date) => Math.floor(now.getTime() / minuteMs)

const noNames: KnownNames = new Set()

function quotaOf(quotas: Map<string, Quota>, merchantId: string, now: Date): Quota {
  const minute = minuteOf(now)
  const known = quotas.get(merchantId)
  if (known?.minute === minute) return known
  if (quotas.size >= merchantsMax) quotas.clear()
  const quota = { minute, errors: 0, successes: 0, dropped: known?.dropped ?? 0 }
  quotas.set(merchantId, quota)
  return quota
}

function toRedacted(
  request: FastifyRequest,
  reply: FastifyReply,
  known: KnownNames,
): Pick<ApiRequest, 'recordId' | 'request' | 'problem'> {
  const { params, query, body } = request
  const problem = findProblem(request)
  const redacted = {
    ...(isFilled(query) && { query: redact(query, known) }),
    ...(body !== undefined && body !== null
      ? { body: redact(body, known) }
      : hasUnreadBody(request) && { body: '[not read]' }),
  }
  return {
    recordId: problem ? findRecordId(request, problem) : (toCreatedId(reply.getHeader('location')) ?? idOf(params)),
    request: JSON.stringify(redacted).length > charactersMax ? { body: '[too long]' } : redacted,
    problem: problem && redactProblem(problem, known),
  }
}

const isFilled = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length > 0

/** A request that is refused early is answered before its body is read. */
const hasUnreadBody = ({ headers }: FastifyRequest) =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/** An id that was not found, or not looked up because the token was refused, may be no record of this merchant. */
function findRecordId({ caller, params }: FastifyRequest, { code, details }: AppError): string | null {
  if (caller === null || code === 'not_found') return null
  return toId(details.members?.transactionId) ?? idOf(params)
}

const idOf = (params: unknown): string | null =>
  typeof params === 'object' && params !== null && 'id' in params ? toId(params.id) : null

function collectRouteNames(app: Server): Map<string, KnownNames> {
  const names = new Map<string, KnownNames>()
  app.addHook('onRoute', (route) => {
    if (!isForTokens(route)) return
    const { method, url, schema } = route
    for (const one of [method].flat()) names.set(`${one} ${url}`, collectNames(schema?.body, schema?.querystring))
  })
  return names
}

/** Takes a row, or returns false if too many are waiting. A batch that fails is lost: it is not worth a second try. */
function createWriter({ db, log }: { db: Db; log: Logger }): (row: ApiRequest) => boolean {
  let waiting = 0
  const insert = createBatcher<ApiRequest, null>({
    name: 'requests',
    maxBatchSize: batchRowsMax,
    maxConcurrency: 1,
    intervalMs,
    retryIndividually: () => false,
    run: async (rows) => {
      await insertApiRequests(db, rows)
      return rows.map(() => null)
    },
  })
  return (row) => {
    if (waiting >= waitingMax) return false
    waiting += 1
    insert(row)
      .catch((error: unknown) => log.debug({ err: error }, 'a request was not recorded'))
      .finally(() => {
        waiting -= 1
      })
    return true
  }
}
