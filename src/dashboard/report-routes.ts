import { type Static, Type } from 'typebox'
import { findKnownClient } from '../auth/clients.ts'
import type { Db, Reads } from '../db/sql.ts'
import { type SignedIn, userOf } from '../http/caller.ts'
import { sendFile } from '../http/csv.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { findBalancesAt } from '../ledger/store.ts'
import { languages } from '../lib/alert-settings.ts'
import type { Clock } from '../lib/clock.ts'
import { invalidField } from '../lib/errors.ts'
import { listDayEndBalances } from '../reports/balances.ts'
import { sumChanges } from '../reports/fee-store.ts'
import { makeFeeStatement } from '../reports/fees.ts'
import { checkPeriod, type Period, windowOfPeriod } from '../reports/period.ts'
import {
  type ReportFormat,
  type ReportName,
  reportDates,
  reportFormats,
  reportNames,
  reportPermissions,
  writeReport,
} from '../reports/write.ts'
import { zipReports } from '../reports/zip.ts'
import { ClientFilter } from './overview-routes.ts'
import { DayBalancesView, PeriodView } from './report-schema.ts'
import { DataOf } from './schema.ts'

type Deps = { db: Db; reads: Reads; clock: Clock }

const Day = (description: string) => Type.String({ minLength: 10, maxLength: 10, description })
const periodQuery = {
  clientId: ClientFilter,
  from: Day('The first day, in Brasília'),
  until: Day('The last day'),
}
const options = {
  by: Type.Optional(Type.Enum([...reportDates])),
  language: Type.Optional(Type.Enum([...languages])),
}
const PeriodQuery = Type.Object(periodQuery, { additionalProperties: false })

/** Reports of one merchant: files and figures of a period, and the balances of recent days. */
export function registerReportRoutes(app: Server, deps: Deps): void {
  const { reads, clock } = deps
  registerFileRoutes(app, deps)
  registerZipRoute(app, deps)

  app.get(
    '/dashboard/api/report/period',
    {
      config: { access: { permission: 'balance.read' } },
      schema: {
        hide: true,
        querystring: PeriodQuery,
        response: { 200: PeriodView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request): Promise<Static<typeof PeriodView>> => {
      const { merchant, period } = await readRequest(deps, userOf(request), request.query)
      const window = windowOfPeriod(period)
      const [{ available: opening }, changes, fees] = await Promise.all([
        findBalancesAt(deps.db, merchant.id, new Date(window.from.getTime() - 1)),
        sumChanges(reads, merchant.id, window),
        makeFeeStatement(reads, merchant.id, period),
      ])
      return {
        ...{ ...period, isOver: window.to <= clock.now() },
        // The closing balance is computed, not queried: while the period is not over, it may change between two
        // queries.
        ...{ opening, closing: changes.reduce((sum, { amount }) => sum + amount, opening), changes, fees },
      }
    },
  )

  app.get(
    '/dashboard/api/balance-history',
    {
      config: { access: { permission: 'balance.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          { clientId: ClientFilter, days: Type.Optional(Type.Integer({ minimum: 1, maximum: 366 })) },
          { additionalProperties: false },
        ),
        response: { 200: DataOf(DayBalancesView), ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { id } = await findMerchant(deps, userOf(request), request.query.clientId)
      return { data: await listDayEndBalances(deps, { merchantId: id, days: request.query.days ?? 30 }) }
    },
  )
}

function registerFileRoutes(app: Server, deps: Deps): void {
  for (const report of reportNames) {
    app.get(
      `/dashboard/api/report/${report}`,
      {
        config: { access: { permission: reportPermissions[report] } },
        schema: {
          hide: true,
          querystring: Type.Object(
            {
              ...periodQuery,
              format: Type.Enum<ReportFormat[]>([...reportFormats[report]]),
              ...options,
            },
            { additionalProperties: false },
          ),
          response: { 200: Type.String(), ...problems(401, 403, 404, 422, 429) },
        },
      },
      async (request, reply) => {
        const { format, by = 'created', language = 'pt' } = request.query
        const { merchant, period } = await readRequest(deps, userOf(request), request.query)
        return sendFile(reply, writeReport(deps, { merchant, report, format, period, by, language }))
      },
    )
  }
}

function registerZipRoute(app: Server, deps: Deps): void {
  app.get(
    '/dashboard/api/report/month.zip',
    {
      config: { access: { permission: 'balance.read' } },
      schema: {
        hide: true,
        querystring: Type.Object({ ...periodQuery, ...options }, { additionalProperties: false }),
        response: { 200: Type.String(), ...problems(401, 403, 404, 422, 429) },
      },
    },
    async (request, reply) => {
      const user = userOf(request)
      const { by = 'created', language = 'pt' } = request.query
      const found = await readRequest(deps, user, request.query)
      const mayRead = (report: ReportName) => user.permissions.includes(reportPermissions[report])
      return sendFile(reply, zipReports(deps, { ...found, by, language }, mayRead))
    },
  )
}

async function readRequest(deps: Deps, user: SignedIn, query: Period & { clientId?: string | undefined }) {
  const period = checkPeriod({ from: query.from, until: query.until })
  return { merchant: await findMerchant(deps, user, query.clientId), period }
}

/**
 * The merchant of a report or of a payment page: users of a merchant get their own; users of the operator must name
 * one.
 *
 * @throws {AppError} `validation_failed` if none is named, `not_found` if there is no such client
 */
export async function findMerchant(
  deps: { db: Db; clock: Clock },
  { merchant }: SignedIn,
  clientId: string | undefined,
): Promise<{ id: string; name: string }> {
  if (merchant) return { id: merchant.merchantId, name: merchant.name }
  if (clientId === undefined) throw invalidField('clientId', 'invalid', 'is required: name a client of the merchant')
  const client = await findKnownClient(deps, clientId)
  return { id: client.merchant_id, name: client.name }
}
