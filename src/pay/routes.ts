import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf } from '../http/caller.ts'
import { chooseLanguage } from '../http/language.ts'
import { toAppError } from '../http/problem.ts'
import { enforceRateLimit, type RateLimiter, toHost } from '../http/rate-limit.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { AppError, errors } from '../lib/errors.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { writeReceipt } from '../reports/receipt.ts'
import { findReceipt } from '../reports/receipt-store.ts'
import type { Sandbox } from '../sandbox/routes.ts'
import type { TransactionReader } from '../transactions/fetch.ts'
import { TransactionParams } from '../transactions/schema.ts'
import { checkNow } from '../transactions/store.ts'
import { embedScript } from './embed.ts'
import { policyOf, renderNotice, renderPayment } from './page.ts'
import { registerSampleRoutes, type SampleDeps } from './sample.ts'
import { PaymentLinkView, PayParams } from './schema.ts'
import { isOpen } from './state.ts'
import { findLogo, findPayment, type PaymentRow } from './store.ts'
import { readPaymentToken } from './token.ts'
import { createWatch } from './watch.ts'

export type PayDeps = Parameters<typeof createWatch>[0] &
  SampleDeps & {
    key: SecretKey
    baseUrl: string
    /** Not null if all money is simulated. */
    sandbox: Pick<Sandbox, 'pay'> | null
    readTransaction: TransactionReader
    /** Per address that tries wrong tokens. */
    wrongTokenLimit: RateLimiter
    /** Queries to the acquirer about charges whose page is opened. */
    checkLimit: RateLimiter
    /** PDFs per transaction: making one costs more than a page. */
    receiptLimit: RateLimiter
  }

/** The page to which a merchant sends its customer, and the route that gives the merchant its address. */
export async function registerPayRoutes(app: Server, deps: PayDeps): Promise<void> {
  app.get(
    '/transaction/:id/payment-link',
    {
      config: { access: { scope: 'transaction.read' } },
      schema: {
        operationId: 'getPaymentLink',
        summary: 'Fetch the link to the payment page',
        description:
          'The page shows the code, the amount and your name, no data of the customer, and turns to "paid" automatically. The link of a transaction is always the same.',
        tags: ['Transactions'],
        params: TransactionParams,
        querystring: NoQuery,
        response: { 200: PaymentLinkView, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request) => {
      const row = await deps.readTransaction({ merchantId: callerOf(request).merchantId, recordId: request.params.id })
      if (!row) throw new AppError('not_found', { detail: 'There is no transaction with this id.' })
      return { url: deps.paymentUrlOf(row.id), expiresAt: row.pix_expires_at?.toISOString() ?? null }
    },
  )
  await app.register(async (scoped) => registerPage(scoped as Server, deps))
}

function registerPage(app: Server, deps: PayDeps): void {
  const watch = createWatch(deps)
  // Ends the streams: a stop aborts those that are still open a moment later.
  app.addHook('preClose', watch.stop)
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply))
  registerFiles(app, deps)
  if (deps.sandbox) registerSampleRoutes(app, { ...deps, sandbox: deps.sandbox })
  const route = { config: { access: { public: true } }, schema: { hide: true, params: PayParams } } as const

  app.get('/pay/:token', route, async (request, reply) => {
    const payment = await findShown(deps, request.params.token, request, reply)
    const language = chooseLanguage(request.headers['accept-language'])
    const now = deps.clock.now()
    await requestCheck(deps, payment, now)
    const { token } = request.params
    return sendPage(
      reply,
      renderPayment({ payment, token, language, now, isSimulated: deps.sandbox !== null }),
      payment,
    )
  })

  app.get('/pay/:token/events', { ...route, exposeHeadRoute: false }, async (request, reply) => {
    const payment = await findShown(deps, request.params.token, request, reply)
    // This tells the browser not to reconnect.
    if (!isOpen(payment)) return await reply.code(204).send()
    const stream = watch.open(payment, toHost(request.ip))
    if (!stream) throw new AppError('rate_limited', { headers: { 'retry-after': '5' } })
    return await reply.type('text/event-stream').header('x-accel-buffering', 'no').send(stream)
  })
}

function registerFiles(app: Server, deps: PayDeps): void {
  const { db, clock, receiptLimit } = deps
  const access = { public: true } as const
  const route = { config: { access }, schema: { hide: true, params: PayParams } } as const

  app.get('/pay/:token/receipt.pdf', route, async (request, reply) => {
    const { id, merchant_id: merchantId } = await findShown(deps, request.params.token, request, reply)
    const receipt = await findReceipt(db, { id, merchantId })
    if (!receipt) throw new AppError('not_found')
    enforceRateLimit(receiptLimit, id, reply)
    const language = chooseLanguage(request.headers['accept-language'])
    const about = { language, now: clock.now(), isPublic: true, isSimulated: deps.sandbox !== null }
    const name = language === 'pt' ? 'comprovante-pix' : 'pix-receipt'
    return reply
      .type('application/pdf')
      .headers({ 'content-disposition': `attachment; filename="${name}.pdf"`, ...unlisted })
      .send(await writeReceipt(receipt, about))
  })

  app.get('/pay/:token/logo.png', route, async (request, reply) => {
    const logo = await findLogo(db, (await findShown(deps, request.params.token, request, reply)).merchant_id)
    if (!logo) throw new AppError('not_found')
    // A new logo has a new address.
    return reply.type('image/png').header('cache-control', 'private, max-age=86400').send(logo)
  })

  app.get('/pay/embed.js', { config: { access }, schema: { hide: true } }, async (_request, reply) =>
    reply
      .type('text/javascript; charset=utf-8')
      .headers({ 'cache-control': 'public, max-age=3600', 'cross-origin-resource-policy': 'cross-origin' })
      .send(embedScript),
  )
}

/** For this long after the last change of its status, a charge is not queried: the query would find nothing new. */
const newMs = 60_000

/** The acquirer may have removed the charge, and the page must not show a code that no bank accepts. */
async function requestCheck({ db, checkLimit }: PayDeps, payment: PaymentRow, now: Date): Promise<void> {
  const isNew = now.getTime() - payment.changed_at.getTime() < newMs
  if (payment.status !== 'PIX_QRCODE_GENERATED' || isNew || !checkLimit.take(payment.id).isAllowed) return
  await checkNow(db, payment, now)
}

/** @throws {AppError} `not_found`, or `rate_limited` after many of those from one address */
async function findShown(
  { db, key, wrongTokenLimit }: PayDeps,
  token: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<PaymentRow> {
  const id = readPaymentToken(key, token)
  const payment = id === null ? null : await findPayment(db, id)
  if (payment) return payment
  enforceRateLimit(wrongTokenLimit, toHost(request.ip), reply)
  throw new AppError('not_found')
}

/** An error page for customers: what they can do, in their language. */
function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { code, details } = toAppError(error)
  if (code === 'internal_error') request.log.error({ requestId: request.id, err: error }, 'a request failed')
  const notice = code === 'not_found' ? 'unknown' : code === 'rate_limited' ? 'limited' : 'broken'
  const language = chooseLanguage(request.headers['accept-language'])
  return sendPage(reply.code(errors[code].status).headers(details.headers ?? {}), renderNotice(notice, language))
}

const unlisted = { 'x-robots-tag': 'noindex, nofollow', vary: 'Accept-Language' }

function sendPage(reply: FastifyReply, page: string, payment: PaymentRow | null = null): FastifyReply {
  // The policy below says more precisely who may frame the page. Some browsers would obey the older header as well.
  if (payment?.embed_origins?.length) reply.removeHeader('x-frame-options')
  return reply
    .type('text/html; charset=utf-8')
    .headers({ 'content-security-policy': policyOf(payment), ...unlisted })
    .send(page)
}
