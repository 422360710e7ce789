import type { Db, Reads } from '../db/sql.ts'
import { callerOf } from '../http/caller.ts'
import { csvDescription, pageOrCsv, sendCsv, wantsCsv } from '../http/csv.ts'
import { toDate } from '../http/formats.ts'
import { readSlice, toEnvelope } from '../http/page.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { BalanceQuery, BalanceView, Statement, StatementQuery } from './schema.ts'
import { findBalances, findBalancesAt, listStatement } from './store.ts'
import { toBalanceView, toStatementEntryView, writeStatementCsv } from './view.ts'

export function registerLedgerRoutes(app: Server, deps: { db: Db; reads: Reads; clock: Clock }): void {
  app.get(
    '/balance',
    {
      config: { access: { scope: 'balance.read' } },
      schema: {
        summary: 'Fetch the balance, now or at a past moment',
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
        summary: 'List the changes of the available balance',
        description: `Newest first, each with the balance after it. ${csvDescription}`,
        tags: ['Balance'],
        querystring: StatementQuery,
        response: { 200: pageOrCsv(Statement), ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => {
      const { merchantId } = callerOf(request)
      const { startDate, endDate, kind } = request.query
      const filters = { startDate: toDate(startDate), endDate: toDate(endDate), kinds: kind }
      if (wantsCsv(request)) return sendCsv(reply, 'statement', writeStatementCsv(deps.reads, merchantId, filters))
      const slice = readSlice(request, 'number')
      return toEnvelope(await listStatement(deps.reads, merchantId, filters, slice), slice, toStatementEntryView)
    },
  )
}
