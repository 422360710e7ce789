import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import type { Db } from '../db/sql.ts'
import { findProblem } from '../http/problem.ts'
import type { Server } from '../http/server.ts'
import { createBatcher } from '../lib/batch.ts'
import type { Clock } from '../lib/clock.ts'
import { collectNames, type KnownNames, redact, redactPath } from './redact.ts'
import { type ApiRequest, insertApiRequests } from './store.ts'

const batchRowsMax = 100
/** No request waits for the insert. */
const lingerMs = 100
/** With this many waiting the database is overloaded: further ones are dropped and counted. About 4 MB at the most. */
const waitingMax = 1_000
/** A minute of one merchant in one process: every error of a program that works, not all of one that runs wild. */
const errorsPerMinute = 300
/** Successes are a sample: they show what a request that works looks like. */
const successesPerMinute = 6
const minuteMs = 60_000
/** The counts of merchants that are kept at the same time. */
const merchantsMax = 10_000
const fieldsMax = 50
/** A redacted request is larger only if somebody tries. */
const charactersMax = 4_000

type Quota = { minute: number; errors: number; successes: number; dropped: number }

/**
 * Records the requests that clients make with their token: every error and a sample of the successes. Most requests cost
 * one look-up in a map, and nothing waits for the database.
 */
export function recordApiRequests(
  app: Server,
  { db, clock, log, registry }: { db: Db; clock: Clock; log: Logger; registry: Registry },
): void {
  const quotas = new Map<string, Quota>()
  const names = collectRouteNames(app)
  const write = createWriter({ db, log })
  const dropped = new Counter({
    name: 'guiche_api_requests_dropped_total',
    help: 'Failed requests of clients that were not written to their log: too many at once',
    registers: [registry],
  })
  const drop = (quota: Quota, count: number) => {
    quota.dropped += count
    dropped.inc(count)
  }
  app.addHook('onResponse', (request, reply, done) => {
    const { caller, user } = request
    done()
    if (caller === null || user !== null) return
    const now = clock.now()
    const isError = reply.statusCode >= 400
    const quota = quotaOf(quotas, caller.merchantId, now)
    if (isError ? quota.errors >= errorsPerMinute : quota.successes >= successesPerMinute) {
      if (isError) drop(quota, 1)
      return
    }
    if (isError) quota.errors += 1
    else quota.successes += 1
    const before = quota.dropped
    quota.dropped = 0
    const route = request.routeOptions.url ?? 'unknown'
    const row: ApiRequest = {
      ...toRedacted(request, names.get(`${request.method} ${route}`) ?? noNames),
      merchantId: caller.merchantId,
      at: now,
      requestId: request.id,
      method: request.method,
      route,
      status: reply.statusCode,
      durationMs: Math.round(reply.elapsedTime),
      dropped: before,
    }
    if (!write(row)) drop(quota, before + (isError ? 1 : 0))
  })
}

const noNames: KnownNames = new Set()

function quotaOf(quotas: Map<string, Quota>, merchantId: string, now: Date): Quota {
  const minute = Math.floor(now.getTime() / minuteMs)
  const known = quotas.get(merchantId)
  if (known?.minute === minute) return known
  if (quotas.size >= merchantsMax) quotas.clear()
  const quota = { minute, errors: 0, successes: 0, dropped: known?.dropped ?? 0 }
  quotas.set(merchantId, quota)
  return quota
}

function toRedacted(request: FastifyRequest, known: KnownNames): Pick<ApiRequest, 'recordId' | 'request' | 'problem'> {
  const { params, query, body } = request
  const problem = findProblem(request)
  const redacted = {
    ...(isFilled(query) && { query: redact(query, known) }),
    ...(body !== undefined && body !== null && { body: redact(body, known) }),
  }
  return {
    // An id that was not found is no record of this merchant.
    recordId: problem?.code === 'not_found' ? null : toRecordId(params),
    request: JSON.stringify(redacted).length > charactersMax ? { body: '[too long]' } : redacted,
    problem: problem && {
      code: problem.code,
      errors: (problem.details.fields ?? [])
        .slice(0, fieldsMax)
        .map(({ field, code }) => ({ field: redactPath(field, known), code })),
    },
  }
}

const isFilled = (value: unknown) => typeof value === 'object' && value !== null && Object.keys(value).length > 0

function toRecordId(params: unknown): string | null {
  const id = typeof params === 'object' && params !== null && 'id' in params ? params.id : null
  return typeof id === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(id) ? id : null
}

function collectRouteNames(app: Server): Map<string, KnownNames> {
  const names = new Map<string, KnownNames>()
  app.addHook('onRoute', ({ method, url, config, schema }) => {
    if (!config?.access || !('scope' in config.access)) return
    for (const one of [method].flat()) names.set(`${one} ${url}`, collectNames(schema?.body, schema?.querystring))
  })
  return names
}

/** Takes a row, or returns false if too many are waiting. A batch that fails is lost: it is not worth a second try. */
function createWriter({ db, log }: { db: Db; log: Logger }): (row: ApiRequest) => boolean {
  let waiting = 0
  const insert = createBatcher<ApiRequest, null>({
    maxBatchSize: batchRowsMax,
    maxConcurrency: 1,
    lingerMs,
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
