import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Db } from '../db/sql.ts'
import { callerOf } from '../http/caller.ts'
import { toDate } from '../http/formats.ts'
import { readSlice, toEnvelope } from '../http/page.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { writeStatementCsv } from './export.ts'
import { BalanceQuery, BalanceView, Statement, StatementQuery } from './schema.ts'
import { findBalances, findBalancesAt, listStatement } from './store.ts'
import { toBalanceView, toStatementEntryView } from './view.ts'

export function registerLedgerRoutes(app: Server, deps: { db: Db; clock: Clock }): void {
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
        summary: 'List what changed the available balance',
        description:
          'The last booked first, each with the balance after it. With `Accept: text/csv` all entries that match, as CSV, and no pages.',
        tags: ['Balance'],
        querystring: StatementQuery,
        response: {
          200: {
            description: 'A page of entries, or all of them as CSV',
            content: { 'application/json': { schema: Statement }, 'text/csv': { schema: Type.String() } },
          },
          ...problems(401, 403, 422, 500),
        },
      },
    },
    async (request, reply) => {
      const { merchantId } = callerOf(request)
      const { startDate, endDate, kind } = request.query
      const filters = { startDate: toDate(startDate), endDate: toDate(endDate), kinds: kind }
      if (/\btext\/csv\b/.test(request.headers.accept ?? '')) {
        return sendCsv(reply, writeStatementCsv(deps.db, merchantId, filters))
      }
      const slice = readSlice(request.query, 'number')
      return toEnvelope(await listStatement(deps.db, merchantId, filters, slice), slice, toStatementEntryView)
    },
  )
}

/** Sent as it is read: an export of years needs no more memory than a page. */
function sendCsv(reply: FastifyReply, lines: AsyncGenerator<string>): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', 'attachment; filename="statement.csv"')
    .send(Readable.from(lines))
}
