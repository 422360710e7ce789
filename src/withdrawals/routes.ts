import type { FastifyReply, FastifyRequest } from 'fastify'
import { byCaller } from '../audit/record.ts'
import type { Reads } from '../db/sql.ts'
import { callerOf } from '../http/caller.ts'
import { csvDescription, pageOrCsv, sendCsv, wantsCsv } from '../http/csv.ts'
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
  type ListWithdrawalsFilters,
  ListWithdrawalsQuery,
  SearchWithdrawalsBody,
  WithdrawalCreatedView,
  WithdrawalList,
  WithdrawalParams,
  WithdrawalView,
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
        summary: 'Withdraw to a PIX key',
        headers: IdempotencyHeaders,
        description:
          'Amount and fee are reserved at once, and returned if the money is not sent. A webhook reports the outcome, and GET returns it.',
        tags: ['Withdrawals'],
        querystring: NoQuery,
        body: CreateWithdrawalBody,
        response: { 201: WithdrawalCreatedView, ...problems(401, 403, 422, 500, 503) },
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
        summary: 'List withdrawals',
        description: `Newest first. Dates filter \`createdAt\`, both ends inclusive. ${csvDescription}`,
        tags: ['Withdrawals'],
        querystring: ListWithdrawalsQuery,
        response: { 200: pageOrCsv(WithdrawalList), ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => await list(request, reply, request.query),
  )

  app.post(
    '/withdrawal/search',
    {
      config: { access: { scope: 'withdrawal.read' } },
      schema: {
        summary: 'Search withdrawals',
        description: `The same as \`GET /withdrawal\`, with the filters in the body: a PIX key should not be in a URL, because proxies log URLs. ${csvDescription}`,
        tags: ['Withdrawals'],
        querystring: NoQuery,
        body: SearchWithdrawalsBody,
        response: { 200: pageOrCsv(WithdrawalList), ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => await list(request, reply, request.body),
  )

  async function list(request: FastifyRequest, reply: FastifyReply, query: ListWithdrawalsFilters) {
    const { merchantId } = callerOf(request)
    const filters = toFilters(query)
    if (wantsCsv(request)) return sendCsv(reply, 'withdrawals', writeWithdrawalsCsv(deps.reads, merchantId, filters))
    const slice = readSlice({ url: '/withdrawal', query })
    const page = await listWithdrawals(deps.reads, merchantId, filters, slice)
    return toEnvelope(page, slice, toWithdrawalView)
  }

  app.get(
    '/withdrawal/:id',
    {
      config: { access: { scope: 'withdrawal.read' } },
      schema: {
        summary: 'Fetch a withdrawal',
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
        summary: 'List the events of a withdrawal',
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

function registerStopping(app: Server, deps: WithdrawalRoutesDeps): void {
  app.post(
    '/withdrawal/:id/cancel',
    {
      config: { access: { scope: 'withdrawal.write' } },
      schema: {
        summary: 'Cancel a withdrawal',
        description: 'While it is PENDING: nothing has been sent. Amount and fee are returned.',
        tags: ['Withdrawals'],
        params: WithdrawalParams,
        querystring: NoQuery,
        response: { 200: WithdrawalView, ...problems(401, 403, 404, 422, 500) },
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
        summary: 'Confirm a withdrawal that looks like a duplicate',
        description:
          'When a withdrawal has the same amount and key as a recent one, under another idempotency key, its `hold` is `duplicate` and nothing is sent until this request confirms it. If it needs the operator’s approval, it waits for that next.',
        tags: ['Withdrawals'],
        params: WithdrawalParams,
        querystring: NoQuery,
        response: { 200: WithdrawalView, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      const confirming = { merchantId, id: request.params.id, by: byCaller(request) }
      return toWithdrawalView(await confirmWithdrawal(deps, confirming))
    },
  )
}

function toFilters(query: ListWithdrawalsFilters): WithdrawalFilters {
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
