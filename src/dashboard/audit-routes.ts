import { Type } from 'typebox'
import { actionAreas } from '../audit/actions.ts'
import type { Reads } from '../db/sql.ts'
import { merchantSeenBy, userOf } from '../http/caller.ts'
import { toDate } from '../http/formats.ts'
import { DateTimeFilter, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { findIdAt, findStretch, type NamedAction, searchActions } from './audit-store.ts'
import { ActionsView } from './operator-schema.ts'

const pageMax = 100
/** What one request with filters reads: about 10 ms. Older entries are found from where it ended. */
const readMax = 20_000
/** Entries that are written at the same time get ids in another order than times; clocks of nodes differ as well. */
const disorderMs = 60 * 60_000

const Query = Type.Object(
  {
    before: Type.Optional(Type.Integer({ minimum: 1, description: 'The id of an entry: lists the ones before it' })),
    person: Type.Optional(Type.String({ maxLength: 100, description: 'A part of a name or of an address' })),
    area: Type.Optional(Type.Enum(actionAreas)),
    from: Type.Optional(DateTimeFilter('At or after')),
    until: Type.Optional(DateTimeFilter('At or before')),
  },
  { additionalProperties: false },
)

/** The audit log, for people. */
export function registerAuditRoutes(app: Server, { reads }: { reads: Reads }): void {
  app.get(
    '/dashboard/api/audit',
    {
      config: { access: { permission: 'audit.read' } },
      schema: { hide: true, querystring: Query, response: { 200: ActionsView, ...problems(401, 403, 422) } },
    },
    async (request) => {
      const { before: asked = null, person = null, area = null, ...period } = request.query
      const from = toDate(period.from) ?? null
      const until = toDate(period.until) ?? null
      const merchantId = merchantSeenBy(userOf(request))
      const isSearch = [merchantId, person, area, from, until].some((filter) => filter !== null)

      const after = from === null ? 0 : await findIdAt(reads, new Date(from.getTime() - disorderMs))
      const end = until === null ? null : await findIdAt(reads, new Date(until.getTime() + disorderMs))
      const before = asked !== null && end !== null ? Math.min(asked, end) : (asked ?? end)
      const limit = isSearch ? readMax : pageMax
      const { oldest, count } = await findStretch(reads, { before, after, limit })
      if (oldest === null) return { data: [], next: null }

      const filters = { merchantId, person, area, from, until }
      const rows = await searchActions(reads, filters, { before, oldest, limit: pageMax })
      const isFull = rows.length === pageMax
      const lastRead = isFull ? (rows.at(-1)?.id ?? null) : oldest
      return { data: rows.map(toView), next: isFull || count === limit ? lastRead : null }
    },
  )
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
