import type { FastifyReply, FastifyRequest } from 'fastify'
import { findClient, findSetting } from '../auth/store.ts'
import { enforceRateLimit, type RateLimiter, toHost } from '../http/rate-limit.ts'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'
import type { Sandbox } from '../sandbox/routes.ts'
import { type CreateDeps, createTransaction } from '../transactions/create.ts'
import { PayParams } from './schema.ts'
import { findPayment } from './store.ts'
import { paymentToken, readPaymentToken } from './token.ts'

export type SampleDeps = CreateDeps & {
  baseUrl: string
  sampleLimits: {
    perAddress: RateLimiter
    /** All visitors together. */
    all: RateLimiter
  }
}

const sample = { amount: 2590, paymentMethod: 'PIX', isInfoProduct: true, pix: { expirationSeconds: 1800 } } as const

/**
 * For visitors of the front page of a sandbox: a button that creates a sample charge, and a button on the payment page
 * that pays it. Visitors need no account. Only a page of this service may create a sample charge; it belongs to the
 * sandbox client. The second button is on the payment page of every charge of the sandbox, and whoever has the address
 * of that page may pay the charge: the money is simulated. Both actions are limited to a low rate. Redirects are
 * relative, because visitors may use another address than BASE_URL.
 */
export function registerSampleRoutes(app: Server, deps: SampleDeps & { sandbox: Pick<Sandbox, 'pay'> }): void {
  const { sampleLimits, baseUrl, key, db } = deps
  // The buttons send empty forms.
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: 1024 },
    (_request, _body, done) => done(null, undefined),
  )
  const limit = (request: FastifyRequest, reply: FastifyReply) => {
    enforceRateLimit(sampleLimits.perAddress, toHost(request.ip), reply)
    enforceRateLimit(sampleLimits.all, 'all', reply)
  }

  app.post('/pay/sample', { config: { access: { public: true } }, schema: { hide: true } }, async (request, reply) => {
    if (!isFromOwnPage(request, baseUrl)) throw new AppError('csrf_token_missing')
    limit(request, reply)
    const clientId = await findSetting(db, 'sandbox_client')
    const client = clientId === null ? null : await findClient(db, clientId, deps.clock.now())
    // Without a sandbox client, or once it is revoked, the dashboard opens: a signed-in user can create a charge there.
    if (!client?.has_secret) return reply.redirect('../dashboard/sandbox', 303)
    const { row } = await createTransaction(deps, {
      merchantId: client.merchant_id,
      clientId: client.client_id,
      merchantName: client.name,
      movedToAddress: client.moved_to_address,
      by: null,
      input: { ...sample },
    })
    return reply.redirect(`./${paymentToken(key, row.id)}`, 303)
  })

  app.post(
    '/pay/:token',
    { config: { access: { public: true } }, schema: { hide: true, params: PayParams } },
    async (request, reply) => {
      limit(request, reply)
      const { token } = request.params
      const id = readPaymentToken(key, token)
      const payment = id === null ? null : await findPayment(db, id)
      if (!payment) throw new AppError('not_found')
      // The sandbox refuses a charge that is paid or has expired. The payment page then shows that state.
      if (payment.pix_uri !== null) await deps.sandbox.pay({ uri: payment.pix_uri })
      return reply.redirect(`./${token}`, 303)
    },
  )
}

/**
 * Whether a page of this service sent the form. Over https and on localhost, browsers send `Sec-Fetch-Site`; elsewhere
 * they send only `Origin`. Programs other than browsers use the API.
 */
function isFromOwnPage({ headers, host }: FastifyRequest, baseUrl: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined) return site === 'same-origin'
  if (!origin || !URL.canParse(origin)) return false
  return [host, new URL(baseUrl).host].includes(new URL(origin).host)
}
