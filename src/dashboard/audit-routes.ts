import { type Static, Type } from 'typebox'
import { actionAreas } from '../audit/actions.ts'
import type { Reads } from '../db/sql.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { sendCsv } from '../http/csv.ts'
import { toDate } from '../http/formats.ts'
import { DateTimeFilter, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { readActions, writeActionsCsv } from './audit.ts'
import type { ActionSearch, NamedAction } from './audit-store.ts'
import { ActionsView } from './operator-schema.ts'

const pageMax = 100

const filters = {
  person: Type.Optional(Type.String({ maxLength: 100, description: 'A part of a name or of an address' })),
  area: Type.Optional(Type.Enum(actionAreas)),
  from: Type.Optional(DateTimeFilter('At or after')),
  until: Type.Optional(DateTimeFilter('At or before')),
}
const Filters = Type.Object(filters, { additionalProperties: false })
const Query = Type.Object(
  {
    before: Type.Optional(Type.Integer({ minimum: 1, description: 'The id of an entry: lists the ones before it' })),
    ...filters,
  },
  { additionalProperties: false },
)

/** The audit log, for people. */
export function registerAuditRoutes(app: Server, { reads }: { reads: Reads }): void {
  const config = { access: { permission: 'audit.read' } } as const
  app.get(
    '/dashboard/api/audit',
    { config, schema: { hide: true, querystring: Query, response: { 200: ActionsView, ...problems(401, 403, 422) } } },
    async (request) => {
      const { before = null, ...query } = request.query
      const search = toSearch(userOf(request), query)
      const { rows, next } = await readActions(reads, search, { before, limit: pageMax })
      return { data: rows.map(toView), next }
    },
  )

  app.get(
    '/dashboard/api/audit.csv',
    {
      config,
      schema: {
        hide: true,
        querystring: Filters,
        response: { 200: Type.String(), ...problems(401, 403, 422, 429) },
      },
    },
    async (request, reply) => sendCsv(reply, 'audit', writeActionsCsv(reads, toSearch(userOf(request), request.query))),
  )
}

function toSearch(user: SignedIn, { person, area, from, until }: Static<typeof Filters>): ActionSearch {
  return {
    ...{ merchantId: merchantSeenBy(user), person: person ?? null, area: area ?? null },
    ...{ from: toDate(from) ?? null, until: toDate(until) ?? null },
  }
}

function toView({ id, at, actor, action, details, amount, ...row }: NamedAction) {
  const { client_id: clientId, client_name: name } = row
  return {
    ...{ id, at: at.toISOString(), actor, action, details, amount },
    recordId: row.record_id,
    actorName: row.actor_name,
    userName: row.user_name,
    merchant: clientId === null || name === null ? null : { clientId, name },
  }
}
