import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import { userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'
import { listClosedDays, listVersions } from '../operator/reconciliation-store.ts'
import { askForRun } from '../reconciliation/by-hand.ts'
import { assertDayIsOver, readStatement } from '../reconciliation/close.ts'
import { findStatement, type StatementRow } from '../reconciliation/close-store.ts'
import { publicStatementKeys } from '../reconciliation/sign.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { assertKnown } from './reconciliation-routes.ts'

type Deps = Pick<SettleDeps, 'db' | 'clock' | 'acquirers'>

const perPage = 20
/** How many discrepancies of a day are shown; the signed statement has all. */
const shownMax = 200

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
  const { db, clock } = deps
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
        response: problems(401, 403, 422),
      },
    },
    async (request) => {
      const { acquirer, page = 1 } = request.query
      const { total, items } = await listClosedDays(db, { acquirer, limit: perPage, offset: (page - 1) * perPage })
      return { total, totalPages: Math.ceil(total / perPage), data: items.map(toListedDay) }
    },
  )

  app.get(
    '/dashboard/api/reconciliation/day/:acquirer/:day',
    {
      config: reading,
      schema: { hide: true, params: Params, querystring: Version, response: problems(401, 403, 404, 422) },
    },
    async (request): Promise<ClosedDayView> => {
      const row = await find(deps, { ...request.params, version: request.query.version })
      const versions = await listVersions(db, row)
      return {
        ...toDayView(row),
        versions: versions.map(({ version, signed_at }) => ({ version, signedAt: signed_at.toISOString() })),
      }
    },
  )

  app.get(
    '/dashboard/api/reconciliation/day/:acquirer/:day/statement.jws',
    {
      config: reading,
      schema: { hide: true, params: Params, querystring: Version, response: problems(401, 403, 404, 422) },
    },
    async (request, reply) => {
      const { acquirer, day, version, statement } = await find(deps, {
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
    '/dashboard/api/reconciliation/statement-keys.json',
    { config: reading, schema: { hide: true, querystring: NoQuery, response: problems(401, 403) } },
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
        response: problems(401, 403, 404, 422),
      },
    },
    async (request, reply) => {
      const { acquirer, day } = request.body
      assertKnown(deps, acquirer)
      assertDayIsOver(day, clock.now())
      const id = await askForRun(deps, { acquirer, day, by: byUser(userOf(request)) })
      return await reply.code(202).send({ id })
    },
  )
}

type Of = { acquirer: string; day: string; version: number | undefined }

async function find({ db }: Deps, of: Of): Promise<StatementRow> {
  const row = Number.isNaN(Date.parse(of.day)) ? null : await findStatement(db, of)
  if (row) return row
  throw new AppError('not_found', { detail: `${of.day} of ${of.acquirer} is not closed, or has no such version.` })
}

export type ListedDay = ReturnType<typeof toListedDay>

function toListedDay(row: StatementRow) {
  const { books, acquirerSays, differences } = readStatement(row)
  return {
    acquirer: row.acquirer,
    day: row.day,
    version: row.version,
    signedAt: row.signed_at.toISOString(),
    in: { acquirer: acquirerSays.in, books: books.in },
    closing: { acquirer: acquirerSays.closing, books: books.closing },
    differences: differences.length,
    openDifferences: differences.filter(({ state }) => state === 'open').length,
  }
}

export type ClosedDayView = ReturnType<typeof toDayView> & { versions: { version: number; signedAt: string }[] }

function toDayView(row: StatementRow) {
  const { books, acquirerSays, dated, differences, changes, former, from, to } = readStatement(row)
  return {
    acquirer: row.acquirer,
    day: row.day,
    version: row.version,
    signedAt: row.signed_at.toISOString(),
    sha256: row.sha256,
    from,
    to,
    books,
    acquirerSays,
    dated,
    former,
    changes: changes && {
      ...changes,
      totals: changes.totals.slice(0, shownMax),
      differences: changes.differences.slice(0, shownMax),
    },
    differenceCount: differences.length,
    differences: differences.slice(0, shownMax),
  }
}
