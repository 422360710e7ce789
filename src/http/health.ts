import { createHash, timingSafeEqual } from 'node:crypto'
import { Type } from 'typebox'
import { AppError } from '../lib/errors.ts'
import { problem } from './schemas.ts'
import type { Server } from './server.ts'

type Options = {
  contentType: string
  readMetrics: () => Promise<string>
  /** If null, anyone who reaches the service may read the metrics; on a public service nobody may. */
  metricsToken: string | null
  /** Whether other machines can reach the service. */
  isPublic: boolean
  /** Whether the service is stopping. It still answers, but load balancers must send it no further requests. */
  isStopping: () => boolean
  /** Rejects while the service cannot do its work. */
  checkReady: () => Promise<void>
}

/**
 * Collecting the metrics takes several statements and some 20 ms of processor time. On a public service, scrapes within
 * this time share one collection.
 */
const metricsAgeMaxMs = 1_000

/** Load balancers check again sooner. */
const retryAfterSeconds = 5

const stateOf = (description: string, status: string) =>
  Type.Object(
    { status: Type.String({ description: 'live, ready, not ready or stopping' }) },
    {
      title: 'HealthState',
      description: 'A state of the service',
      'x-response-description': description,
      examples: [{ status }],
    },
  )

/** For operators: liveness, readiness and metrics. */
export function registerHealthRoutes(app: Server, options: Options): void {
  const config = { access: { public: true } } as const
  const readMetrics = readAtMostEvery(options.isPublic ? metricsAgeMaxMs : 0, options.readMetrics)
  app.get(
    '/health/live',
    {
      config,
      logLevel: 'warn',
      schema: {
        operationId: 'getLiveness',
        summary: 'The process runs',
        description: 'For a supervisor: restart the process if this is not answered.',
        tags: ['Operation'],
        response: { 200: stateOf('It runs', 'live') },
      },
    },
    async () => ({ status: 'live' }),
  )

  app.get(
    '/health/ready',
    {
      config,
      logLevel: 'warn',
      schema: {
        operationId: 'getReadiness',
        summary: 'The service can do its work',
        description: 'For a load balancer: send requests only while this is answered with 200.',
        tags: ['Operation'],
        response: {
          200: stateOf('It is ready', 'ready'),
          503: stateOf('It is not ready, or is stopping', 'not ready'),
        },
      },
    },
    async (request, reply) => {
      const unready = () => reply.code(503).header('retry-after', retryAfterSeconds)
      if (options.isStopping()) return await unready().send({ status: 'stopping' })
      try {
        await options.checkReady()
        return { status: 'ready' }
      } catch (error) {
        request.log.warn({ requestId: request.id, err: error }, 'not ready')
        return await unready().send({ status: 'not ready' })
      }
    },
  )

  app.get(
    '/metrics',
    {
      config,
      logLevel: 'warn',
      schema: {
        operationId: 'getMetrics',
        summary: "Metrics in Prometheus' format",
        description: 'Needs `METRICS_TOKEN` as the bearer token where one is set.',
        tags: ['Operation'],
        produces: ['text/plain'],
        response: {
          200: Type.String({
            description: 'All metrics as text',
            examples: ['# TYPE guiche_payouts_stopped gauge\nguiche_payouts_stopped 0\n'],
          }),
          401: problem('METRICS_TOKEN was not sent, or the service is public and none is set', ['invalid_token']),
        },
      },
    },
    async (request, reply) => {
      assertMayReadMetrics(options, request.headers.authorization)
      return await reply.type(options.contentType).send(await readMetrics())
    },
  )
}

function assertMayReadMetrics({ metricsToken, isPublic }: Options, authorization = ''): void {
  const isOpen = metricsToken === null && !isPublic
  if (isOpen || (metricsToken !== null && isEqual(authorization, `Bearer ${metricsToken}`))) return
  throw new AppError('invalid_token', {
    detail:
      metricsToken === null
        ? 'Other machines can reach this service, so its metrics need a token. Set METRICS_TOKEN, restart the service, and send the header "Authorization: Bearer <METRICS_TOKEN>".'
        : 'Send the header "Authorization: Bearer <METRICS_TOKEN>", with the value that the service was configured with.',
    headers: { 'www-authenticate': 'Bearer realm="metrics"' },
  })
}

/** Callers within this time share one collection. A failure is not cached. */
function readAtMostEvery(ageMaxMs: number, read: () => Promise<string>): () => Promise<string> {
  let last: { text: Promise<string>; startedAt: number } | null = null
  return () => {
    if (last && performance.now() - last.startedAt < ageMaxMs) return last.text
    const started = { text: read(), startedAt: performance.now() }
    last = started
    started.text.catch(() => {
      if (last === started) last = null
    })
    return started.text
  }
}

/** Compares in constant time. */
function isEqual(left: string, right: string): boolean {
  const [one, other] = [left, right].map((text) => createHash('sha256').update(text).digest())
  return one !== undefined && other !== undefined && timingSafeEqual(one, other)
}
