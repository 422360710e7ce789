import { type Static, Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { type SignedIn, userOf } from '../http/caller.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { languages } from '../lib/alert-settings.ts'
import type { Clock } from '../lib/clock.ts'
import { everyOptions } from '../reports/period.ts'
import { listSchedules } from '../reports/schedule-store.ts'
import {
  createSchedule,
  listCandidates,
  mayReceive,
  recipientsMax,
  removeSchedule,
  type Scope,
  scheduledReports,
  setPaused,
} from '../reports/schedules.ts'
import { type ReportFormat, reportDates } from '../reports/write.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'
import { ReportSchedulesView } from './report-schema.ts'
import { IdView } from './schema.ts'

type Deps = { db: Db; clock: Clock; hasMail: boolean }

const Query = Type.Object({ clientId: ClientFilter }, { additionalProperties: false })
const Params = Type.Object({ id: Type.String({ format: 'uuid-any' }) })
const formats: ReportFormat[] = ['csv', 'excel', 'ofx', 'pdf']
const writing = { access: { permission: 'report.write' } } as const

/** Reports that are sent by e-mail: of a merchant, or the operator's own if its user names no client. */
export function registerReportScheduleRoutes(app: Server, deps: Deps): void {
  const { db } = deps
  app.get(
    '/dashboard/api/report/schedule',
    {
      // The response names the people who may be recipients, so reading it needs the same permission.
      config: writing,
      schema: {
        hide: true,
        querystring: Query,
        response: { 200: ReportSchedulesView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => await showSchedules(deps, await findScope(deps, userOf(request), request.query.clientId)),
  )

  app.post(
    '/dashboard/api/report/schedule',
    {
      config: writing,
      schema: {
        hide: true,
        querystring: Query,
        body: Type.Object({
          id: Type.String({ format: 'uuid-v4' }),
          report: Type.Enum([...scheduledReports]),
          format: Type.Enum(formats),
          every: Type.Enum([...everyOptions]),
          by: Type.Enum([...reportDates]),
          language: Type.Enum([...languages]),
          recipients: Type.Array(Type.String({ format: 'uuid-any' }), { minItems: 1, maxItems: recipientsMax }),
        }),
        response: { 201: IdView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const user = userOf(request)
      const scope = await findScope(deps, user, request.query.clientId)
      await createSchedule(deps, { scope, schedule: request.body, by: byUser(user) })
      return await reply.code(201).send({ id: request.body.id })
    },
  )

  app.patch(
    '/dashboard/api/report/schedule/:id',
    {
      config: writing,
      schema: {
        hide: true,
        params: Params,
        querystring: Query,
        body: Type.Object({ isPaused: Type.Boolean() }),
        response: { 200: IdView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const scope = await findScope(deps, user, request.query.clientId)
      await setPaused(deps, { ...request.body, ...request.params, scope, by: byUser(user) })
      return request.params
    },
  )

  app.delete(
    '/dashboard/api/report/schedule/:id',
    {
      config: writing,
      schema: {
        hide: true,
        params: Params,
        querystring: Query,
        response: { 200: IdView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const scope = await findScope(deps, user, request.query.clientId)
      await removeSchedule(deps, { scope, ...request.params, by: byUser(user) })
      return request.params
    },
  )

  async function showSchedules({ hasMail }: Deps, scope: Scope): Promise<Static<typeof ReportSchedulesView>> {
    const merchantId = scope.merchantId ?? operatorMerchantId
    const [rows, people] = await Promise.all([
      listSchedules(db, { merchantId, isOperators: scope.isOperators }),
      listCandidates(db, scope),
    ])
    return {
      hasMail,
      data: rows.map((row) => ({
        ...{ id: row.id, report: row.report, format: row.format, every: row.every, by: row.dating },
        ...{ language: row.language, isPaused: row.paused_at !== null, dueAt: row.due_at.toISOString() },
        recipients: people
          .filter(({ id }) => row.recipients.includes(id))
          .map((person) => ({ name: person.name, email: person.email, mayRead: mayReceive(person, row.report) })),
        last: row.last && {
          ...{ from: row.last.first_day, until: row.last.last_day, outcome: row.last.outcome },
          ...{ sentTo: row.last.sent_to.length, attempts: row.last.attempts, error: row.last.last_error },
          finishedAt: row.last.finished_at?.toISOString() ?? null,
        },
      })),
      candidates: people.map((person) => ({
        ...{ id: person.id, name: person.name, email: person.email },
        reports: scheduledReports.filter(
          (report) => (report === 'closed_day') === (scope.merchantId === null) && mayReceive(person, report),
        ),
      })),
    }
  }
}

async function findScope(deps: Deps, user: SignedIn, clientId: string | undefined): Promise<Scope> {
  return { merchantId: await findShownMerchantId(deps, user, clientId), isOperators: user.merchant === null }
}
