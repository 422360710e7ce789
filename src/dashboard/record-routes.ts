import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Db, Reads } from '../db/sql.ts'
import { explainRecord } from '../explain/explain.ts'
import { merchantSeenBy, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { type Language, languages } from '../lib/alert-settings.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { writeReceipt, writeRefundReceipt, writeWithdrawalReceipt } from '../reports/receipt.ts'
import { findReceipt, findRefundReceipt, findWithdrawalReceipt } from '../reports/receipt-store.ts'
import { customerPagesMax, findCustomer } from './customer.ts'
import { PdfFile } from './operator-schema.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'
import { CustomerView, ExplanationView, SearchView } from './schema.ts'
import { search } from './search.ts'

const receiptSchema = {
  hide: true,
  params: Type.Object({ id: Type.String({ format: 'uuid-any' }) }),
  querystring: Type.Object({ language: Type.Optional(Type.Enum([...languages])) }, { additionalProperties: false }),
  response: { 200: PdfFile, ...problems(401, 403, 404, 422) },
}

/** Finds records and customers by what people know of them, explains the history of a record, and writes receipts. */
export function registerRecordRoutes(
  app: Server,
  deps: { db: Db; reads: Reads; clock: Clock; acquirers: Acquirers; sandbox: object | null },
): void {
  const isConfigured = (acquirer: string) => deps.acquirers.get(acquirer) !== undefined
  const optionsOf = ({ language = 'pt' }: { language?: Language }) => ({
    ...{ language, now: deps.clock.now(), isSimulated: deps.sandbox !== null },
  })
  app.post(
    '/dashboard/api/search',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        // A name or a document must not be in an address, which proxies log.
        body: Type.Object({ text: Type.String({ minLength: 1, maxLength: 255 }), clientId: ClientFilter }),
        response: { 200: SearchView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const merchantId = await findShownMerchantId(deps, user, request.body.clientId)
      const seesWithdrawals = user.permissions.includes('withdrawal.read')
      return await search(deps.reads, { merchantId, text: request.body.text.trim(), seesWithdrawals })
    },
  )

  app.get(
    '/dashboard/api/customer/:id',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: {
        hide: true,
        params: Type.Object({ id: Type.String({ format: 'uuid-any' }) }),
        querystring: Type.Object(
          {
            by: Type.Optional(Type.Enum(['document', 'email'])),
            page: Type.Optional(Type.Integer({ minimum: 1, maximum: customerPagesMax })),
          },
          { additionalProperties: false },
        ),
        response: { 200: CustomerView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { by = 'document', page = 1 } = request.query
      const merchantId = merchantSeenBy(userOf(request))
      return await findCustomer(deps.reads, { id: request.params.id.toLowerCase(), merchantId, by, page })
    },
  )

  app.get(
    '/dashboard/api/transaction/:id/receipt.pdf',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: receiptSchema,
    },
    async (request, reply) => {
      const merchantId = merchantSeenBy(userOf(request))
      const receipt = await findReceipt(deps.db, { id: request.params.id, merchantId })
      if (!receipt) throw new AppError('not_found', { detail: 'There is no paid transaction with this id.' })
      return await sendPdf(
        reply,
        receipt,
        await writeReceipt(receipt, { ...optionsOf(request.query), isPublic: false }),
      )
    },
  )

  app.get(
    '/dashboard/api/withdrawal/:id/receipt.pdf',
    {
      config: { access: { permission: 'withdrawal.read' } },
      schema: receiptSchema,
    },
    async (request, reply) => {
      const merchantId = merchantSeenBy(userOf(request))
      const receipt = await findWithdrawalReceipt(deps.db, { id: request.params.id, merchantId })
      if (!receipt)
        throw new AppError('not_found', { detail: 'There is no withdrawal with this id, or it was not sent.' })
      return await sendPdf(reply, receipt, await writeWithdrawalReceipt(receipt, optionsOf(request.query)))
    },
  )

  app.get(
    '/dashboard/api/refund/:id/receipt.pdf',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: receiptSchema,
    },
    async (request, reply) => {
      const merchantId = merchantSeenBy(userOf(request))
      const receipt = await findRefundReceipt(deps.db, { id: request.params.id, merchantId })
      if (!receipt) throw new AppError('not_found', { detail: 'There is no refund with this id, or it was not sent.' })
      return await sendPdf(reply, receipt, await writeRefundReceipt(receipt, optionsOf(request.query)))
    },
  )

  app.get(
    '/dashboard/api/record/:id',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: {
        hide: true,
        params: Type.Object({ id: Type.String({ format: 'uuid-any' }) }),
        querystring: NoQuery,
        response: { 200: ExplanationView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const seen = merchantSeenBy(user)
      const id = request.params.id.toLowerCase()
      const explanation = await explainRecord({ ...deps, isConfigured }, id, { isForMerchant: seen !== null })
      const isSeen =
        explanation !== null &&
        (seen === null || explanation.merchantId === seen) &&
        (explanation.type === 'transaction' || user.permissions.includes('withdrawal.read'))
      if (!isSeen)
        throw new AppError('not_found', { detail: 'There is neither a transaction nor a withdrawal with this id.' })
      return explanation
    },
  )
}

async function sendPdf(
  reply: FastifyReply,
  { id, end_to_end: endToEnd }: { id: string; end_to_end: string | null },
  file: Buffer,
) {
  return await reply
    .type('application/pdf')
    .header('content-disposition', `attachment; filename="pix-${endToEnd ?? id}.pdf"`)
    .send(file)
}
