import { createHash, randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { chooseLanguage } from '../http/language.ts'
import { toAppError } from '../http/problem.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import { enforceRateLimit, toHost } from '../http/rate-limit.ts'
import type { Server } from '../http/server.ts'
import { createValidator } from '../http/validate.ts'
import type { Language } from '../lib/alert-settings.ts'
import { linkPrefix } from '../lib/cell.ts'
import { AppError, errors } from '../lib/errors.ts'
import { reserveCharge } from '../links/reserve.ts'
import { amountsOf, linkState } from '../links/state.ts'
import { deleteLinkCharge, findLinkWithTotals } from '../links/store.ts'
import { type CreateDeps, createTransaction } from '../transactions/create.ts'
import { Customer } from '../transactions/schema.ts'
import { findTransactionByKey } from '../transactions/store.ts'
import {
  type Entered,
  type EnteredField,
  linkContentSecurityPolicy,
  nothingEntered,
  renderLink,
  renderLinkNotice,
  type ShownLink,
} from './link-page.ts'
import type { LinkNotice } from './link-text.ts'
import { policyOf, renderNotice } from './page.ts'
import { findLinkBySlug, findLogo } from './store.ts'
import { paymentToken } from './token.ts'

export type LinkPageDeps = CreateDeps & {
  sandbox: object | null
  wrongTokenLimit: RateLimiter
  linkLimits: {
    /** Charges that visitors of one address create. */
    perAddress: RateLimiter
    /** Charges of one link. */
    perLink: RateLimiter
  }
}

/** Long enough to pay, short enough that what nobody pays is for sale again soon. */
const stockSeconds = 15 * 60
const expirationSeconds = 30 * 60
/** A form's fields, percent-encoded. */
const formBytesMax = 8_192

const Params = Type.Object({ slug: Type.String({ maxLength: 65 }) })
const route = { config: { access: { public: true } }, schema: { hide: true, params: Params } } as const

/** The public page of a payment link: a form that creates an ordinary charge and leads to its payment page. */
export async function registerLinkPage(app: Server, deps: LinkPageDeps): Promise<void> {
  await app.register(async (scoped) => registerRoutes(scoped as Server, deps))
}

function registerRoutes(app: Server, deps: LinkPageDeps): void {
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: formBytesMax },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  )
  app.setErrorHandler((error, request, reply) => {
    const { code, details } = toAppError(error)
    if (code === 'internal_error') request.log.error({ requestId: request.id, err: error }, 'a request failed')
    const notice = code === 'not_found' ? 'unknown' : code === 'rate_limited' ? 'limited' : 'broken'
    const answer = reply.code(errors[code].status).headers(details.headers ?? {})
    return send(answer, renderNotice(notice, languageOf(request)), policyOf(null))
  })

  app.get('/l/:slug', route, async (request, reply) => {
    const link = await findShown(deps, request, reply)
    const language = languageOf(request)
    const now = deps.clock.now()
    const totals = link.stock === null ? null : await findLinkWithTotals(deps.db, { ...ofLink(link), now })
    // The charges of a merchant that has moved are created at another address.
    const state = link.moved_to_address === null ? linkState({ ...link, live: totals?.live ?? 0 }, now) : 'disabled'
    if (state !== 'active') return sendNotice(reply, state, link, language)
    const page = renderLink({ ...shown(deps, link, language), entered: nothingEntered, errors: [] })
    return send(reply, page, linkContentSecurityPolicy(link))
  })

  app.get('/l/:slug/logo.png', route, async (request, reply) => {
    const logo = await findLogo(deps.db, (await findShown(deps, request, reply)).merchant_id)
    if (!logo) throw new AppError('not_found')
    // A new logo has a new address.
    return reply.type('image/png').header('cache-control', 'private, max-age=86400').send(logo)
  })

  app.post('/l/:slug', route, async (request, reply) => {
    const link = await findShown(deps, request, reply)
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    const language = languageOf(request)
    const entered = readEntered(form)
    const read = readOrder(link, entered)
    if (Array.isArray(read)) {
      const page = renderLink({ ...shown(deps, link, language), entered, errors: read })
      return send(reply.code(422), page, linkContentSecurityPolicy(link))
    }
    enforceRateLimit(deps.linkLimits.perAddress, toHost(request.ip), reply)
    enforceRateLimit(deps.linkLimits.perLink, link.id, reply)
    const formKey = form.get('request')?.slice(0, 64) ?? randomUUID()
    const outcome = await order(deps, link, { ...read, formKey })
    if (typeof outcome === 'string') return sendNotice(reply, outcome, link, language)
    return await reply.redirect(`../pay/${paymentToken(deps.key, outcome.id)}`, 303)
  })
}

type Order = { amount: number; customer: { name: string; email: string; document: string } | null }

/**
 * Reserves, then creates the charge. The key is derived from the form, so sending it twice creates one charge. What a
 * refused charge reserved is freed; with an unknown outcome it stays reserved, because the charge may exist.
 */
async function order(
  deps: LinkPageDeps,
  link: ShownLink,
  { formKey, ...content }: Order & { formKey: string },
): Promise<{ id: string } | LinkNotice> {
  const { merchant_id: merchantId } = link
  const hash = createHash('sha256').update(JSON.stringify([link.id, formKey, content]))
  const key = `link:${hash.digest('hex')}`
  const state = await reserveCharge(deps.db, { link, key, now: deps.clock.now() })
  if (state !== 'active') return state
  try {
    const { row } = await createTransaction(deps, {
      merchantId,
      clientId: link.client_id,
      merchantName: link.merchant_name,
      movedToAddress: link.moved_to_address,
      by: null,
      input: {
        amount: content.amount,
        paymentMethod: 'PIX',
        isInfoProduct: true,
        idempotencyKey: key,
        description: link.title,
        metadata: { paymentLinkId: link.id },
        ...(content.customer && { customer: content.customer }),
        ...(link.webhook_url !== null && { webhookUrl: link.webhook_url }),
        pix: { expirationSeconds: link.stock === null ? expirationSeconds : stockSeconds },
      },
    })
    return { id: row.id }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    if (error.code === 'acquirer_unavailable') return toUnavailable(error)
    // The form was sent before, and its link was changed since. The amount and the customer are in the key.
    if (error.code === 'idempotency_key_reused') {
      const first = await findTransactionByKey(deps.db, merchantId, key)
      if (first) return { id: first.id }
    }
    if (error.code !== 'acquirer_refused' && error.code !== 'merchant_moved') throw error
    await deleteLinkCharge(deps.db, { merchantId, key })
    return error.code === 'merchant_moved' ? 'disabled' : 'refused'
  }
}

/** Its payment page shows the code as soon as it is known. */
function toUnavailable({ details }: AppError): { id: string } | LinkNotice {
  const id = details.members?.transactionId
  return typeof id === 'string' ? { id } : 'unavailable'
}

function readEntered(form: URLSearchParams): Entered {
  const read = (name: keyof Entered) => form.get(name)?.trim() ?? ''
  return { amount: read('amount'), name: read('name'), email: read('email'), document: read('document') }
}

/** The order, or the fields that are wrong. */
function readOrder(link: ShownLink, entered: Entered): Order | EnteredField[] {
  const { min, max } = amountsOf(link)
  const amount = link.amount ?? readReais(entered.amount)
  const wrong: EnteredField[] = []
  if (amount === null || amount < min || amount > max) wrong.push('amount')
  const { amount: _, ...given } = entered
  const customer = link.needs_customer ? given : null
  const checked = customer && validateCustomer(customer)
  const faults = checked && 'error' in checked ? checked.error.details.fields : []
  for (const name of ['name', 'email', 'document'] as const)
    if (faults?.some(({ field }) => field === name)) wrong.push(name)
  return amount === null || wrong.length > 0 ? wrong : { amount, customer }
}

/** The API's own check of a customer, who has no webhook URL. */
const validateCustomer = createValidator({ checkWebhookUrl: () => null })({ schema: Customer })

/** `1.234,56`, `1234.56` and `1234` in cents, also after `R$`. Null for anything else. */
export function readReais(text: string): number | null {
  const bare = text.replace(/^R\$\s*/, '')
  const match = /^(\d{1,3}(?:\.\d{3})+|\d{1,7})(?:,(\d{1,2}))?$/.exec(bare) ?? /^(\d{1,7})\.(\d{1,2})$/.exec(bare)
  return match ? Number(match[1]?.replaceAll('.', '')) * 100 + Number((match[2] ?? '').padEnd(2, '0')) : null
}

/** @throws {AppError} `not_found`, or `rate_limited` after many of those from one address */
async function findShown(deps: LinkPageDeps, request: FastifyRequest, reply: FastifyReply): Promise<ShownLink> {
  const path = (request.params as { slug: string }).slug.toLowerCase()
  const prefix = linkPrefix(deps.acquirers.cell)
  // The name of the cell is only for the proxy. An address that is older than the cell has none.
  const link = await findLinkBySlug(deps.db, path.startsWith(prefix) ? path.slice(prefix.length) : path)
  if (link) return { ...link, path }
  enforceRateLimit(deps.wrongTokenLimit, toHost(request.ip), reply)
  throw new AppError('not_found')
}

const ofLink = ({ merchant_id: merchantId, id }: ShownLink) => ({ merchantId, id })

function shown(deps: LinkPageDeps, link: ShownLink, language: Language) {
  const isSimulated = deps.sandbox !== null
  return { link, language, formKey: randomUUID(), bankName: bankName(deps), isSimulated }
}

/**
 * Banks show the holder of the account that receives the charge. Before there is a charge, the holder is known only if
 * all accounts have the same one.
 */
function bankName({ acquirers }: LinkPageDeps): string | null {
  const names = new Set(acquirers.all.map(({ receiver }) => receiver.name))
  return names.size === 1 ? ([...names][0] ?? null) : null
}

function languageOf({ headers }: FastifyRequest): Language {
  return chooseLanguage(headers['accept-language'])
}

const statuses: Record<LinkNotice, number> = {
  disabled: 410,
  expired: 410,
  sold_out: 410,
  refused: 422,
  unavailable: 503,
}

function sendNotice(reply: FastifyReply, notice: LinkNotice, link: ShownLink, language: Language): FastifyReply {
  return send(reply.code(statuses[notice]), renderLinkNotice(notice, link, language), linkContentSecurityPolicy(link))
}

function send(reply: FastifyReply, page: string, contentPolicy: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .headers({ 'content-security-policy': contentPolicy, 'x-robots-tag': 'noindex, nofollow', vary: 'Accept-Language' })
    .send(page)
}
