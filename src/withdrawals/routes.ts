import type { FastifyReply, FastifyRequest } from 'fastify'
import { byCaller } from '../audit/record.ts'
import type { Reads } from '../db/sql.ts'
import { callerOf } from '../http/caller.ts'
import { alsoCsv, CsvView, csvDescription, csvProduces, sendCsv, wantsCsv, withoutPage } from '../http/csv.ts'
import { toDate } from '../http/formats.ts'
import { IdempotencyHeaders, takeIdempotencyKeyFromHeader } from '../http/idempotency-key.ts'
import { readSlice, toEnvelope } from '../http/page.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { detectPixKey } from '../pix/key.ts'
import { listEvents } from '../webhooks/read-store.ts'
import { EventList, ListEventsQuery } from '../webhooks/schema.ts'
import { toEventView } from '../webhooks/view.ts'
import { cancelWithdrawal } from './cancel.ts'
import { confirmWithdrawal } from './confirm.ts'
import { type CreateWithdrawalDeps, createWithdrawal } from './create.ts'
import { listWithdrawals, type WithdrawalFilters } from './list-store.ts'
import { unknownWithdrawal } from './refusals.ts'
import {
  CreateWithdrawalBody,
  ExportWithdrawalsBody,
  type ListWithdrawalsFilters,
  ListWithdrawalsQuery,
  SearchWithdrawalsBody,
  WithdrawalCreatedView,
  type WithdrawalFilterQuery,
  WithdrawalList,
  WithdrawalParams,
  WithdrawalView,
  withdrawalsCsvExample,
} from './schema.ts'
import { findWithdrawal } from './store.ts'
import { toWithdrawalCreatedView, toWithdrawalView, writeWithdrawalsCsv } from './view.ts'

export type WithdrawalRoutesDeps = CreateWithdrawalDeps & { reads: Reads; wakeDeliveries: () => void; baseUrl: string }

export function registerWithdrawalRoutes(app: Server, deps: WithdrawalRoutesDeps): void {
  app.post(
    '/withdrawal',
    {
      config: { access: { scope: 'withdrawal.write' } },
      preValidation: takeIdempotencyKeyFromHeader,
      schema: {
        operationId: 'createWithdrawal',
        summary: 'Withdraw to a PIX key',
        headers: IdempotencyHeaders,
        description:
          'Amount and fee are reserved at once, and returned if the money is not sent. A webhook reports the outcome, and GET returns it.',
        tags: ['Withdrawals'],
        querystring: NoQuery,
        body: CreateWithdrawalBody,
        response: {
          201: WithdrawalCreatedView,
          ...problems(
            ...[401, 403, 422, 500],
            ...(['withdrawal_not_possible', 'insufficient_balance', 'payouts_stopped'] as const),
          ),
        },
      },
    },
    async (request, reply) => {
      const created = await createWithdrawal(deps, { ...callerOf(request), by: byCaller(request), input: request.body })
      if (created.isReplay) void reply.header('idempotent-replayed', 'true')
      void reply.code(201).header('location', `${deps.baseUrl}/withdrawal/${created.row.id}`)
      return toWithdrawalCreatedView(created.row)
    },
  )

  registerReading(app, deps)
  registerStopping(app, deps)
}

function registerReading(app: Server, deps: WithdrawalRoutesDeps): void {
  app.get(
    '/withdrawal',
    {
      config: { access: { scope: 'withdrawal.read' } },
      schema: {
        operationId: 'listWithdrawals',
        summary: 'List withdrawals',
        description: `Newest first. Dates filter \`createdAt\`, both ends inclusive. ${alsoCsv}`,
        tags: ['Withdrawals'],
        querystring: ListWithdrawalsQuery,
        response: { 200: WithdrawalList, ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => await list(request, reply, request.query),
  )

  app.post(
    '/withdrawal/search',
    {
      config: { access: { scope: 'withdrawal.read' } },
      schema: {
        operationId: 'searchWithdrawals',
        summary: 'Search withdrawals',
        description: `The same as \`GET /withdrawal\`, with the filters in the body: ${whyBody}. ${alsoCsv}`,
        tags: ['Withdrawals'],
        querystring: NoQuery,
        body: SearchWithdrawalsBody,
        response: { 200: WithdrawalList, ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => await list(request, reply, request.body),
  )

  async function list(request: FastifyRequest, reply: FastifyReply, query: ListWithdrawalsFilters) {
    if (wantsCsv(request)) return exportCsv(request, reply, query)
    const slice = readSlice({ url: '/withdrawal', query })
    const page = await listWithdrawals(deps.reads, callerOf(request).merchantId, toWithdrawalFilters(query), slice)
    return toEnvelope(page, slice, toWithdrawalView)
  }

  const exported = { 200: CsvView(withdrawalsCsvExample), ...problems(401, 403, 422, 500) }

  app.get(
    '/withdrawal.csv',
    {
      config: { access: { scope: 'withdrawal.read' } },
      schema: {
        operationId: 'exportWithdrawals',
        summary: 'Export withdrawals',
        description: csvDescription,
        tags: ['Withdrawals'],
        querystring: withoutPage(ListWithdrawalsQuery),
        produces: csvProduces,
        response: exported,
      },
    },
    async (request, reply) => exportCsv(request, reply, request.query),
  )

  app.post(
    '/withdrawal/search.csv',
    {
      config: { access: { scope: 'withdrawal.read' } },
      schema: {
        operationId: 'exportWithdrawalSearch',
        summary: 'Export a search of withdrawals',
        description: `The same as \`GET /withdrawal.csv\`, with the filters in the body: ${whyBody}.`,
        tags: ['Withdrawals'],
        querystring: NoQuery,
        body: ExportWithdrawalsBody,
        produces: csvProduces,
        response: exported,
      },
    },
    async (request, reply) => exportCsv(request, reply, request.body),
  )

  function exportCsv(request: FastifyRequest, reply: FastifyReply, query: WithdrawalFilterQuery) {
    const lines = writeWithdrawalsCsv(deps.reads, callerOf(request).merchantId, toWithdrawalFilters(query))
    return sendCsv(reply, 'withdrawals', lines)
  }

  app.get(
    '/withdrawal/:id',
    {
      config: { access: { scope: 'withdrawal.read' } },
      schema: {
        operationId: 'getWithdrawal',
        summary: 'Fetch a withdrawal',
        description: 'The withdrawal as it is now.',
        tags: ['Withdrawals'],
        params: WithdrawalParams,
        querystring: NoQuery,
        response: { 200: WithdrawalView, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request) => {
      const row = await findWithdrawal(deps.db, callerOf(request).merchantId, request.params.id)
      if (!row) throw unknownWithdrawal()
      return toWithdrawalView(row)
    },
  )

  app.get(
    '/withdrawal/:id/event',
    {
      config: { access: { scope: 'withdrawal.read' } },
      schema: {
        operationId: 'listWithdrawalEvents',
        summary: 'List the events of a withdrawal',
        description: 'Its status changes, newest first.',
        tags: ['Events'],
        params: WithdrawalParams,
        querystring: ListEventsQuery,
        response: { 200: EventList, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      const row = await findWithdrawal(deps.db, merchantId, request.params.id)
      if (!row) throw unknownWithdrawal()
      const slice = readSlice(request)
      return toEnvelope(await listEvents(deps.reads, merchantId, { recordId: row.id }, slice), slice, toEventView)
    },
  )
}

const whyBody = 'a PIX key should not be in a URL, because proxies log URLs'

function registerStopping(app: Server, deps: WithdrawalRoutesDeps): void {
  app.post(
    '/withdrawal/:id/cancel',
    {
      config: { access: { scope: 'withdrawal.write' } },
      schema: {
        operationId: 'cancelWithdrawal',
        summary: 'Cancel a withdrawal',
        description: 'While it is PENDING: nothing has been sent. Amount and fee are returned.',
        tags: ['Withdrawals'],
        params: WithdrawalParams,
        querystring: NoQuery,
        response: { 200: WithdrawalView, ...problems(401, 403, 404, 422, 500, 'withdrawal_not_possible') },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      const canceling = { merchantId, id: request.params.id, by: byCaller(request) }
      return toWithdrawalView(await cancelWithdrawal(deps, canceling))
    },
  )

  app.post(
    '/withdrawal/:id/confirm',
    {
      config: { access: { scope: 'withdrawal.write' } },
      schema: {
        operationId: 'confirmWithdrawal',
        summary: 'Confirm a withdrawal that looks like a duplicate',
        description:
          'When a withdrawal has the same amount and key as a recent one, under another idempotency key, its `hold` is `duplicate` and nothing is sent until this request confirms it. If it needs the operator’s approval, it waits for that next.',
        tags: ['Withdrawals'],
        params: WithdrawalParams,
        querystring: NoQuery,
        response: { 200: WithdrawalView, ...problems(401, 403, 404, 422, 500, 'withdrawal_not_possible') },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      const confirming = { merchantId, id: request.params.id, by: byCaller(request) }
      return toWithdrawalView(await confirmWithdrawal(deps, confirming))
    },
  )
}

export function toWithdrawalFilters(query: WithdrawalFilterQuery): WithdrawalFilters {
  return {
    startDate: toDate(query.startDate),
    endDate: toDate(query.endDate),
    statuses: query.status,
    id: query.id,
    pixKey: query.pixKey === undefined ? undefined : detectPixKey(query.pixKey)?.key,
    endToEnd: query.endToEnd,
    endToEndRefund: query.endToEndRefund,
    externalCode: query.externalCode,
    minAmount: query.minAmount,
    maxAmount: query.maxAmount,
  }
}
