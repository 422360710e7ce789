import { Type } from 'typebox'
import type { Db, Reads } from '../db/sql.ts'
import { userOf } from '../http/caller.ts'
import { problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { invalidField } from '../lib/errors.ts'
import { listApiRequests } from '../requests/store.ts'
import { findShownMerchantId } from './overview-routes.ts'
import { ApiRequestsView } from './schema.ts'

const pageSize = 50

/** The log of a merchant's API requests: errors, up to a limit, and a sample of the successes. */
export function registerApiRequestRoutes(app: Server, deps: { db: Db; reads: Reads; clock: Clock }): void {
  app.get(
    '/dashboard/api/api-request',
    {
      config: { access: { permission: 'webhook.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          {
            clientId: Type.String({
              description: 'The client whose merchant’s requests are listed; a merchant’s users always get their own',
              maxLength: 128,
            }),
            statusClass: Type.Optional(Type.Enum(['2', '4', '5'])),
            route: Type.Optional(
              Type.String({ description: 'A part of method and route, such as `POST /transaction`', maxLength: 100 }),
            ),
            requestId: Type.Optional(Type.String({ maxLength: 128 })),
            before: Type.Optional(Type.String({ description: '`next` of the previous page', maxLength: 50 })),
          },
          { additionalProperties: false },
        ),
        response: { 200: ApiRequestsView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { clientId, statusClass, route, requestId, before } = request.query
      const merchantId = await findShownMerchantId(deps, userOf(request), clientId)
      assert(merchantId, 'a client that is named has a merchant')
      const rows = await listApiRequests(deps.reads, {
        merchantId,
        statusClass: statusClass === undefined ? null : Number(statusClass),
        route: route ?? null,
        requestId: requestId ?? null,
        before: before === undefined ? null : parseCursor(before),
        limit: pageSize,
      })
      const last = rows.length === pageSize ? rows.at(-1) : undefined
      return {
        data: rows.map(({ at, request_id, duration_ms, record_id, problem, response, ...row }) => ({
          ...row,
          at: at.toISOString(),
          requestId: request_id,
          durationMs: duration_ms,
          recordId: record_id,
          problem: problem && {
            code: problem.code,
            errors: problem.errors.map(({ field, code }) => ({ field, code })),
          },
          response: problem ?? response,
        })),
        next: last === undefined ? null : `${last.at.getTime()}-${last.id}`,
      }
    },
  )
}

function parseCursor(text: string): { at: Date; id: number } {
  const [, at, id] = /^(\d{1,14})-(\d{1,15})$/.exec(text) ?? []
  if (at !== undefined && id !== undefined) return { at: new Date(Number(at)), id: Number(id) }
  const message = 'must be the `next` of a page'
  throw invalidField('before', 'invalid_cursor', message)
}
