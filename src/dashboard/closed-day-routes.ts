import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import { userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { languages } from '../lib/alert-settings.ts'
import { findClosedDay, listDays, showClosedDay } from '../operator/closed-days.ts'
import { assertDayIsOver, findClosingTime } from '../reconciliation/close.ts'
import { requestRun } from '../reconciliation/requested-run.ts'
import { publicStatementKeys } from '../reconciliation/sign.ts'
import { writeDayPdf } from '../reports/day-pdf.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { ClosedDayView, ListedDayView, PdfFile, StatementFile, StatementKeys } from './operator-schema.ts'
import { assertKnown } from './reconciliation-routes.ts'
import { IdView, PageOf } from './schema.ts'

type Deps = Pick<SettleDeps, 'db' | 'clock' | 'acquirers'> & { baseUrl: string }

const perPage = 20
const AcquirerName = Type.String({ minLength: 1, maxLength: 64 })
const Day = Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$' })
const Params = Type.Object({ acquirer: AcquirerName, day: Day })
const Version = Type.Object(
  { version: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6, description: 'The latest by default' })) },
  { additionalProperties: false },
)
const reading = { access: { permission: 'reconciliation.read' } } as const

/** Closed days: reconciled, totalled and signed. */
export function registerClosedDayRoutes(app: Server, deps: Deps): void {
  const { db } = deps
  app.get(
    '/dashboard/api/reconciliation/day',
    {
      config: reading,
      schema: {
        hide: true,
        querystring: Type.Object(
          {
            acquirer: Type.Optional(AcquirerName),
            page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6 })),
          },
          { additionalProperties: false },
        ),
        response: { 200: PageOf(ListedDayView), ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      const { acquirer, page = 1 } = request.query
      const { total, data } = await listDays(db, { acquirer, limit: perPage, offset: (page - 1) * perPage })
      return { total, totalPages: Math.ceil(total / perPage), data }
    },
  )

  app.get(
    '/dashboard/api/reconciliation/day/:acquirer/:day',
    {
      config: reading,
      schema: {
        hide: true,
        params: Params,
        querystring: Version,
        response: { 200: ClosedDayView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { version } = request.query
      return await showClosedDay(db, await findClosedDay(db, { ...request.params, version }))
    },
  )

  app.get(
    '/dashboard/api/reconciliation/day/:acquirer/:day/statement.jws',
    {
      config: reading,
      schema: {
        hide: true,
        params: Params,
        querystring: Version,
        response: { 200: StatementFile, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { acquirer, day, version, statement } = await findClosedDay(db, {
        ...request.params,
        version: request.query.version,
      })
      return await reply
        .type('application/jose')
        .header('content-disposition', `attachment; filename="${acquirer}-${day}-v${version}.jws"`)
        .send(statement)
    },
  )

  app.get(
    '/dashboard/api/reconciliation/day/:acquirer/:day/statement.pdf',
    {
      config: reading,
      schema: {
        hide: true,
        params: Params,
        querystring: Type.Object(
          { ...Version.properties, language: Type.Optional(Type.Enum([...languages])) },
          { additionalProperties: false },
        ),
        response: { 200: PdfFile, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { version, language = 'pt' } = request.query
      const row = await findClosedDay(db, { ...request.params, version })
      return await reply
        .type('application/pdf')
        .header('content-disposition', `attachment; filename="${row.acquirer}-${row.day}-v${row.version}.pdf"`)
        .send(await writeDayPdf(row, { language, baseUrl: deps.baseUrl }))
    },
  )

  app.get(
    '/dashboard/api/reconciliation/statement-keys.json',
    {
      config: reading,
      schema: { hide: true, querystring: NoQuery, response: { 200: StatementKeys, ...problems(401, 403) } },
    },
    async (_, reply) =>
      await reply
        .header('content-disposition', 'attachment; filename="statement-keys.json"')
        .send(await publicStatementKeys(db)),
  )

  app.post(
    '/dashboard/api/reconciliation/day',
    {
      config: { access: { permission: 'reconciliation.decide' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object({ acquirer: AcquirerName, day: Day }, { additionalProperties: false }),
        response: { 202: IdView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { acquirer, day } = request.body
      assertKnown(deps, acquirer)
      assertDayIsOver(day, await findClosingTime(deps))
      const id = await requestRun(deps, { acquirer, day, by: byUser(userOf(request)) })
      return await reply.code(202).send({ id })
    },
  )
}
