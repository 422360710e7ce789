import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Db, Reads } from '../db/sql.ts'
import { callerOf } from '../http/caller.ts'
import { alsoCsv, CsvView, csvDescription, csvProduces, sendCsv, wantsCsv, withoutPage } from '../http/csv.ts'
import { toDate } from '../http/formats.ts'
import { readSlice, toEnvelope } from '../http/page.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import {
  BalanceQuery,
  BalanceView,
  Statement,
  type StatementFilterQuery,
  StatementQuery,
  statementCsvExample,
} from './schema.ts'
import { findBalances, findBalancesAt, listStatement, type StatementFilters } from './store.ts'
import { toBalanceView, toStatementEntryView, writeStatementCsv } from './view.ts'

export function registerLedgerRoutes(app: Server, deps: { db: Db; reads: Reads; clock: Clock }): void {
  app.get(
    '/balance',
    {
      config: { access: { scope: 'balance.read' } },
      schema: {
        operationId: 'getBalance',
        summary: 'Fetch the balance, now or at a past moment',
        description: 'What can be withdrawn, what is reserved or blocked, and what is owed.',
        tags: ['Balance'],
        querystring: BalanceQuery,
        response: { 200: BalanceView, ...problems(401, 403, 422, 500) },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      const at = toDate(request.query.at)
      const balances = at ? await findBalancesAt(deps.db, merchantId, at) : await findBalances(deps.db, merchantId)
      return toBalanceView(balances, at ?? deps.clock.now())
    },
  )

  app.get(
    '/statement',
    {
      config: { access: { scope: 'balance.read' } },
      schema: {
        operationId: 'listStatement',
        summary: 'List the changes of the available balance',
        description: `Newest first, each with the balance after it. ${alsoCsv}`,
        tags: ['Balance'],
        querystring: StatementQuery,
        response: { 200: Statement, ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => {
      if (wantsCsv(request)) return exportCsv(request, reply, request.query)
      const slice = readSlice(request, 'number')
      const { merchantId } = callerOf(request)
      const page = await listStatement(deps.reads, merchantId, toFilters(request.query), slice)
      return toEnvelope(page, slice, toStatementEntryView)
    },
  )

  app.get(
    '/statement.csv',
    {
      config: { access: { scope: 'balance.read' } },
      schema: {
        operationId: 'exportStatement',
        summary: 'Export the changes of the available balance',
        description: csvDescription,
        tags: ['Balance'],
        querystring: withoutPage(StatementQuery),
        produces: csvProduces,
        response: { 200: CsvView(statementCsvExample), ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => exportCsv(request, reply, request.query),
  )

  function exportCsv(request: FastifyRequest, reply: FastifyReply, query: StatementFilterQuery) {
    const lines = writeStatementCsv(deps.reads, callerOf(request).merchantId, toFilters(query))
    return sendCsv(reply, 'statement', lines)
  }
}

function toFilters({ startDate, endDate, kind }: StatementFilterQuery): StatementFilters {
  return { startDate: toDate(startDate), endDate: toDate(endDate), kinds: kind }
}
