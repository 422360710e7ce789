import { createHash, timingSafeEqual } from 'node:crypto'
import { Type } from 'typebox'
import { AppError } from '../lib/errors.ts'
import { problem } from './schemas.ts'
import type { Server } from './server.ts'

type Options = {
  contentType: string
  readMetrics: () => Promise<string>
  /** Null: anyone who reaches the service may read the metrics. */
  metricsToken: string | null
  /** Rejects while the service cannot do its work. */
  checkReady: () => Promise<void>
}

const State = Type.Object({ status: Type.String() })

/** For whoever runs the service: is it alive, may it be sent requests, how is it doing. */
export function registerHealthRoutes(app: Server, options: Options): void {
  const config = { access: { public: true } } as const
  app.get(
    '/health/live',
    {
      config,
      logLevel: 'warn',
      schema: { summary: 'The process runs', tags: ['Operation'], response: { 200: State } },
    },
    async () => ({ status: 'live' }),
  )

  app.get(
    '/health/ready',
    {
      config,
      logLevel: 'warn',
      schema: { summary: 'The service can do its work', tags: ['Operation'], response: { 200: State, 503: State } },
    },
    async (request, reply) => {
      try {
        await options.checkReady()
        return { status: 'ready' }
      } catch (error) {
        request.log.warn({ requestId: request.id, err: error }, 'not ready')
        return await reply.code(503).send({ status: 'not ready' })
      }
    },
  )

  app.get(
    '/metrics',
    {
      config,
      logLevel: 'warn',
      schema: {
        summary: "Metrics in Prometheus' format",
        tags: ['Operation'],
        produces: ['text/plain'],
        response: {
          200: Type.String(),
          401: problem('METRICS_TOKEN is set and was not sent'),
        },
      },
    },
    async (request, reply) => {
      if (
        options.metricsToken !== null &&
        !isEqual(request.headers.authorization ?? '', `Bearer ${options.metricsToken}`)
      ) {
        throw new AppError('invalid_token', {
          detail: 'Send the header "Authorization: Bearer <METRICS_TOKEN>", with what the service was configured with.',
          headers: { 'www-authenticate': 'Bearer realm="metrics"' },
        })
      }
      return await reply.type(options.contentType).send(await options.readMetrics())
    },
  )
}

/** In the same time wherever the two differ. */
function isEqual(left: string, right: string): boolean {
  const [one, other] = [left, right].map((text) => createHash('sha256').update(text).digest())
  return one !== undefined && other !== undefined && timingSafeEqual(one, other)
}
