import type { FastifyReply, FastifyRequest, preParsingHookHandler } from 'fastify'
import { byCaller } from '../audit/record.ts'
import type { Reads } from '../db/sql.ts'
import { callerOf } from '../http/caller.ts'
import { alsoCsv, CsvView, csvDescription, csvProduces, sendCsv, wantsCsv, withoutPage } from '../http/csv.ts'
import { toDate } from '../http/formats.ts'
import { IdempotencyHeaders, takeIdempotencyKeyFromHeader } from '../http/idempotency-key.ts'
import { readSlice, toEnvelope } from '../http/page.ts'
import { enforceRateLimit, type RateLimiter } from '../http/rate-limit.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { parseDocument } from '../lib/document.ts'
import { AppError } from '../lib/errors.ts'
import { phoneDigits } from '../lib/phone.ts'
import { toSearchText } from '../lib/text.ts'
import { listEvents } from '../webhooks/read-store.ts'
import { EventList, ListEventsQuery } from '../webhooks/schema.ts'
import { toEventView } from '../webhooks/view.ts'
import { cancelTransaction } from './cancel.ts'
import { type CreateDeps, createTransaction } from './create.ts'
import { createTransactionFetcher, type TransactionReader, type WrittenTransaction } from './fetch.ts'
import { listTransactions, type TransactionFilters } from './list/store.ts'
import { refundTransaction } from './refund/refund.ts'
import { RefundBody, RefundCreatedView } from './refund/schema.ts'
import {
  CreateTransactionBody,
  ExportTransactionsBody,
  type ListTransactionsFilters,
  ListTransactionsQuery,
  SearchTransactionsBody,
  TransactionCreatedView,
  type TransactionFilterQuery,
  TransactionList,
  TransactionParams,
  type TransactionResponse,
  TransactionView,
  transactionsCsvExample,
} from './schema.ts'
import type { SettleDeps } from './settle.ts'
import { toRefundCreatedView, toTransactionView, writeTransactionsCsv } from './view.ts'

export type TransactionRoutesDeps = CreateDeps &
  SettleDeps & {
    reads: Reads
    createLimit: RateLimiter
    readTransaction: TransactionReader
    baseUrl: string
  }

export function registerTransactionRoutes(app: Server, deps: TransactionRoutesDeps): void {
  const fetcher = createTransactionFetcher(deps)
  app.addHook('onClose', async () => fetcher.stop())

  /** Runs after the guard and before the body is read: a request refused here costs little and uses up no key. */
  const limited: preParsingHookHandler = (request, reply, payload, done) => {
    enforceRateLimit(deps.createLimit, callerOf(request).merchantId, reply)
    done(null, payload)
  }

  app.post(
    '/transaction',
    {
      config: { access: { scope: 'transaction.write' } },
      preParsing: limited,
      preValidation: takeIdempotencyKeyFromHeader,
      schema: {
        operationId: 'createTransaction',
        summary: 'Create a transaction',
        description:
          'Creates a charge and returns its QR code, which expires. Requests with the same idempotency key create one charge.',
        tags: ['Transactions'],
        headers: IdempotencyHeaders,
        querystring: NoQuery,
        body: CreateTransactionBody,
        response: {
          201: TransactionCreatedView,
          ...problems(
            ...[401, 403, 422, 429, 500],
            ...(['merchant_moved', 'acquirer_refused', 'acquirer_unavailable'] as const),
          ),
        },
      },
    },
    async (request, reply) => {
      const created = await createTransaction(deps, {
        ...callerOf(request),
        by: byCaller(request),
        input: request.body,
      })
      if (created.isReplay) void reply.header('idempotent-replayed', 'true')
      void reply.code(201).header('location', `${deps.baseUrl}/transaction/${created.row.id}`)
      return created.view
    },
  )

  app.post(
    '/transaction/:id/refund',
    {
      config: { access: { scope: 'refund.write' } },
      preValidation: takeIdempotencyKeyFromHeader,
      schema: {
        operationId: 'refundTransaction',
        summary: 'Refund a transaction',
        headers: IdempotencyHeaders,
        description:
          'Refunds what is left of the payment or a part of it, within 90 days, one refund at a time. The transaction shows the outcome.',
        tags: ['Transactions'],
        params: TransactionParams,
        querystring: NoQuery,
        body: RefundBody,
        response: {
          201: RefundCreatedView,
          ...problems(
            ...[401, 403, 404, 422, 500],
            ...(['refund_not_possible', 'insufficient_balance', 'rate_limited', 'payouts_stopped'] as const),
          ),
        },
      },
    },
    async (request, reply) => {
      const { merchantId } = callerOf(request)
      const refunding = { merchantId, transactionId: request.params.id, by: byCaller(request), input: request.body }
      const requested = await refundTransaction(deps, refunding)
      if (requested.isReplay) void reply.header('idempotent-replayed', 'true')
      // A refund has no URL of its own: its transaction lists it.
      void reply.code(201).header('location', `${deps.baseUrl}/transaction/${requested.refund.transaction_id}`)
      return toRefundCreatedView(requested.refund)
    },
  )

  app.post(
    '/transaction/:id/cancel',
    {
      config: { access: { scope: 'transaction.write' } },
      // Like a create, it costs a request to the acquirer.
      preParsing: limited,
      schema: {
        operationId: 'cancelTransaction',
        summary: 'Cancel a transaction',
        description:
          'Removes the charge at the acquirer, so that nobody can pay it: the transaction is FAILED with `failureCode` `canceled`. A payment that was faster wins: 409, and the transaction is PAID. Repeat the request freely.',
        tags: ['Transactions'],
        params: TransactionParams,
        querystring: NoQuery,
        response: {
          200: TransactionView,
          ...problems(
            ...[401, 403, 404, 422, 429, 500],
            'cancel_not_possible',
            'acquirer_refused',
            'acquirer_unavailable',
          ),
        },
      },
    },
    async (request) => {
      const canceling = { merchantId: callerOf(request).merchantId, id: request.params.id, by: byCaller(request) }
      return toTransactionView(await cancelTransaction(deps, canceling))
    },
  )

  app.get(
    '/transaction',
    {
      config: { access: { scope: 'transaction.read' } },
      schema: {
        operationId: 'listTransactions',
        summary: 'List transactions',
        description: `Newest first. Dates filter \`createdAt\`, both ends inclusive. ${alsoCsv}`,
        tags: ['Transactions'],
        querystring: ListTransactionsQuery,
        response: { 200: TransactionList, ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => await list(request, reply, request.query),
  )

  app.post(
    '/transaction/search',
    {
      config: { access: { scope: 'transaction.read' } },
      schema: {
        operationId: 'searchTransactions',
        summary: 'Search transactions',
        description: `The same as \`GET /transaction\`, with the filters in the body: ${whyBody}. ${alsoCsv}`,
        tags: ['Transactions'],
        querystring: NoQuery,
        body: SearchTransactionsBody,
        response: { 200: TransactionList, ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => await list(request, reply, request.body),
  )

  async function list(request: FastifyRequest, reply: FastifyReply, query: ListTransactionsFilters) {
    if (wantsCsv(request)) return exportCsv(request, reply, query)
    const slice = readSlice({ url: '/transaction', query })
    const page = await listTransactions(deps.reads, callerOf(request).merchantId, toTransactionFilters(query), slice)
    return toEnvelope(page, slice, toTransactionView)
  }

  const exported = { 200: CsvView(transactionsCsvExample), ...problems(401, 403, 422, 500) }

  app.get(
    '/transaction.csv',
    {
      config: { access: { scope: 'transaction.read' } },
      schema: {
        operationId: 'exportTransactions',
        summary: 'Export transactions',
        description: csvDescription,
        tags: ['Transactions'],
        querystring: withoutPage(ListTransactionsQuery),
        produces: csvProduces,
        response: exported,
      },
    },
    async (request, reply) => exportCsv(request, reply, request.query),
  )

  app.post(
    '/transaction/search.csv',
    {
      config: { access: { scope: 'transaction.read' } },
      schema: {
        operationId: 'exportTransactionSearch',
        summary: 'Export a search of transactions',
        description: `The same as \`GET /transaction.csv\`, with the filters in the body: ${whyBody}.`,
        tags: ['Transactions'],
        querystring: NoQuery,
        body: ExportTransactionsBody,
        produces: csvProduces,
        response: exported,
      },
    },
    async (request, reply) => exportCsv(request, reply, request.body),
  )

  function exportCsv(request: FastifyRequest, reply: FastifyReply, query: TransactionFilterQuery) {
    const lines = writeTransactionsCsv(deps.reads, callerOf(request).merchantId, toTransactionFilters(query))
    return sendCsv(reply, 'transactions', lines)
  }

  app.get(
    '/transaction/:id',
    {
      config: { access: { scope: 'transaction.read' } },
      schema: {
        operationId: 'getTransaction',
        summary: 'Fetch a transaction',
        description: 'The transaction as it is now.',
        tags: ['Transactions'],
        params: TransactionParams,
        querystring: NoQuery,
        response: { 200: TransactionView, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request, reply) => {
      const key = { merchantId: callerOf(request).merchantId, recordId: request.params.id }
      const written = await fetcher.fetch(key, (view) => String(reply.serialize(view)))
      if (!written) throw unknownTransaction()
      // An object and not its JSON, because the hook that records requests reads its id and status. Fastify's types
      // know only handlers that return what the schema describes.
      void reply.type('application/json; charset=utf-8').serializer(takeJson)
      return written as unknown as TransactionResponse
    },
  )

  app.get(
    '/transaction/:id/event',
    {
      config: { access: { scope: 'transaction.read' } },
      schema: {
        operationId: 'listTransactionEvents',
        summary: 'List the events of a transaction',
        description: 'Its status changes, newest first.',
        tags: ['Events'],
        params: TransactionParams,
        querystring: ListEventsQuery,
        response: { 200: EventList, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      const row = await deps.readTransaction({ merchantId, recordId: request.params.id })
      if (!row) throw unknownTransaction()
      const slice = readSlice(request)
      return toEnvelope(await listEvents(deps.reads, merchantId, { recordId: row.id }, slice), slice, toEventView)
    },
  )
}

/** Returns text as it is: the JSON of an error. Fastify's types know only serializers that return text. */
const takeJson = ((body: WrittenTransaction | string) => (typeof body === 'string' ? body : body.json)) as () => string

const whyBody = 'use it for personal data, because proxies log URLs'

function unknownTransaction(): AppError {
  return new AppError('not_found', { detail: 'There is no transaction with this id.' })
}

export function toTransactionFilters(query: TransactionFilterQuery): TransactionFilters {
  return {
    startDate: toDate(query.startDate),
    endDate: toDate(query.endDate),
    statuses: query.status,
    customerEmail: query.customerEmail?.toLowerCase(),
    customerName: query.customerName === undefined ? undefined : toSearchText(query.customerName),
    customerDocument: query.customerDocument === undefined ? undefined : parseDocument(query.customerDocument)?.value,
    phoneDigits: query.customerPhone === undefined ? undefined : phoneDigits(query.customerPhone),
    id: query.id,
    endToEnd: query.endToEnd,
    endToEndRefund: query.endToEndRefund,
    externalCode: query.externalCode,
    minAmount: query.minAmount,
    maxAmount: query.maxAmount,
  }
}
