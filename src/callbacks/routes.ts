import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { Type } from 'typebox'
import { type Acquirer, type CallbackNotice, UnreadableCallback } from '../acquirers/acquirer.ts'
import type { Acquirers } from '../acquirers/registry.ts'
import { type Config, ConfigError } from '../config.ts'
import type { Db } from '../db/sql.ts'
import { createProxyCheck } from '../http/connections.ts'
import { toAppError } from '../http/problem.ts'
import { type Server, useStrictJson } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { findPayoutIds } from '../withdrawals/store.ts'
import { createBacklogLimit } from './backlog.ts'
import { findCertificateFault } from './certificate.ts'
import { countRefusals } from './metrics.ts'
import { isCallbackSecret } from './path.ts'
import { type ReceiveDeps, receiveCallback } from './receive.ts'
import { countOpenNotices } from './store.ts'

/** A PSP may put many payments into one callback. */
const bodyBytesMax = 1024 * 1024
/** The standard's suffix, Sicoob's for payouts, and Inter's for payouts; some PSPs append none. */
const suffixes = ['', '/pix', '/lancamento', '/pix-pagamento']
/** When a refused callback may be repeated. */
const retryAfterSeconds = 60

export type CallbackRoutesDeps = ReceiveDeps & {
  config: Pick<Config, 'trustedProxies'>
  db: Db
  clock: Clock
  key: SecretKey
  log: FastifyBaseLogger
  registry: Registry
  acquirers: Acquirers
}

/**
 * Receives the acquirers' callbacks about payments and payouts. Not part of the merchants' API. Any media type is
 * parsed as JSON, and every callback that was read and stored is answered with an empty 200, so that no PSP repeats it.
 */
export function registerCallbackRoutes(app: Server, deps: CallbackRoutesDeps): void {
  const { acquirers, config, clock, db, log } = deps
  requireProxies(deps)
  const isTrusted = createProxyCheck(config.trustedProxies)
  const hasRoom = createBacklogLimit(async (acquirer, limit) => await countOpenNotices(db, acquirer, limit))
  const countRefusal = countRefusals(deps.registry)
  const params = Type.Object({ acquirer: Type.String(), secret: Type.String() })

  void app.register((callbacks: Server, _options, done) => {
    useStrictJson(callbacks, '*')
    for (const suffix of suffixes) {
      callbacks.post(
        `/callbacks/:acquirer/:secret${suffix}`,
        {
          config: { access: { public: true } },
          bodyLimit: bodyBytesMax,
          errorHandler: (error, { params }) => {
            if (toAppError(error).code === 'malformed_json') countRefusal(findAcquirer(params).name, 'unreadable')
            throw error.code === 'FST_ERR_CTP_BODY_TOO_LARGE' ? callbackTooLarge() : error
          },
          // Before the body is read: a caller that does not know the address, or lacks the certificate, cannot send a
          // body.
          onRequest: async (request) => {
            requireCertificate(findAcquirer(request.params), request)
          },
          // The body has no schema: only ids are read from it, and no other text of a payer may cause a refusal.
          schema: { hide: true, params },
        },
        async (request, reply) => {
          const acquirer = findAcquirer(request.params)
          const notices = await withPayoutIds(acquirer, readNotices(acquirer, request.body))
          await requireRoom(acquirer, notices.length)
          await receiveCallback(deps, { acquirer: acquirer.name, notices })
          return await reply.code(200).send()
        },
      )
    }
    done()
  })

  function findAcquirer({ acquirer: name, secret }: { acquirer: string; secret: string }): Acquirer {
    const acquirer = acquirers.get(name)
    if (!acquirer || !isCallbackSecret(deps.key, acquirer, secret)) throw new AppError('not_found')
    return acquirer
  }

  function requireCertificate({ name, callbacks }: Acquirer, { raw }: FastifyRequest): void {
    if (!callbacks.clientCertificate) return
    const call = { peer: raw.socket.remoteAddress ?? '', headers: raw.headers, now: clock.now() }
    const fault = findCertificateFault(callbacks.clientCertificate, isTrusted, call)
    if (!fault) return
    countRefusal(name, fault.reason)
    log.warn({ acquirer: name, ...fault }, 'a callback without the configured client certificate was refused')
    throw new AppError('certificate_refused')
  }

  function readNotices(acquirer: Acquirer, body: unknown): CallbackNotice[] {
    try {
      return acquirer.readCallback(body, (reason) => countRefusal(acquirer.name, reason))
    } catch (error) {
      if (!(error instanceof UnreadableCallback)) throw error
      countRefusal(acquirer.name, 'unreadable')
      throw new AppError('validation_failed', { detail: `The callback cannot be read: ${error.message}`, cause: error })
    }
  }

  /** Some PSPs identify a payout by their own name for it alone; this maps it to our withdrawal. */
  async function withPayoutIds({ name }: Acquirer, notices: CallbackNotice[]): Promise<CallbackNotice[]> {
    const references = notices.flatMap(({ payoutReference }) => payoutReference ?? [])
    if (references.length === 0) return notices
    const ids = await findPayoutIds(db, name, references)
    return notices.flatMap(({ payoutReference, ...notice }) => {
      const payoutId = ids.get(payoutReference ?? '') ?? notice.payoutId
      // A payout that others sent from this account is not one of our withdrawals.
      return payoutReference !== undefined && payoutId === null ? [] : [{ ...notice, payoutId }]
    })
  }

  async function requireRoom({ name }: Acquirer, notices: number): Promise<void> {
    if (notices === 0 || (await hasRoom(name, notices))) return
    countRefusal(name, 'too_many_open')
    log.error({ acquirer: name }, 'a callback was refused: too many are still to be processed')
    throw new AppError('overloaded', { headers: { 'retry-after': String(retryAfterSeconds) } })
  }
}

/** Without a trusted proxy, every call of such an acquirer would be refused. */
function requireProxies({ acquirers, config }: CallbackRoutesDeps): void {
  if (config.trustedProxies.length > 0) return
  const names = acquirers.all.flatMap(({ name, callbacks }) => (callbacks.clientCertificate ? [name] : []))
  if (names.length === 0) return
  throw new ConfigError([
    `callbacks.clientCertificate of ${names.join(', ')} needs TRUST_PROXY: the address of the proxy that passes the certificate on`,
  ])
}

function callbackTooLarge(): AppError {
  return new AppError('body_too_large', { detail: `A callback may have ${bodyBytesMax / 1024 ** 2} MiB at most.` })
}
