import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import type { Db, Reads } from '../db/sql.ts'
import { explainRecord } from '../explain/explain.ts'
import { merchantSeenBy, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { fromTxid } from '../pix/ids.ts'
import { ClientFilter, findSeen } from './overview-routes.ts'
import { DataOf, ExplanationView, HitView } from './schema.ts'
import { findRecords } from './search-store.ts'

/** Finds a record by any identifier, and explains its history. */
export function registerRecordRoutes(
  app: Server,
  deps: { db: Db; reads: Reads; clock: Clock; acquirers: Acquirers },
): void {
  const isConfigured = (acquirer: string) => deps.acquirers.get(acquirer) !== undefined
  app.get(
    '/dashboard/api/search',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: {
        hide: true,
        querystring: Type.Object(
          { q: Type.String({ minLength: 3, maxLength: 255 }), clientId: ClientFilter },
          { additionalProperties: false },
        ),
        response: { 200: DataOf(HitView), ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const merchantId = await findSeen(deps, user, request.query.clientId)
      const text = request.query.q.trim()
      const id = fromTxid(text.replaceAll('-', '').toLowerCase())
      const hits = await findRecords(deps.reads, { text, id, merchantId })
      const seesWithdrawals = user.permissions.includes('withdrawal.read')
      const seen = hits.filter(({ type }) => type === 'transaction' || seesWithdrawals)
      return { data: seen.map(({ createdAt, ...hit }) => ({ ...hit, createdAt: createdAt.toISOString() })) }
    },
  )

  app.get(
    '/dashboard/api/record/:id',
    {
      config: { access: { permission: 'transaction.read' } },
      schema: {
        hide: true,
        params: Type.Object({ id: Type.String({ format: 'uuid-any' }) }),
        querystring: NoQuery,
        response: { 200: ExplanationView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const seen = merchantSeenBy(user)
      const id = request.params.id.toLowerCase()
      const explanation = await explainRecord({ ...deps, isConfigured }, id, { isForMerchant: seen !== null })
      const isSeen =
        explanation !== null &&
        (seen === null || explanation.merchantId === seen) &&
        (explanation.type === 'transaction' || user.permissions.includes('withdrawal.read'))
      if (!isSeen)
        throw new AppError('not_found', { detail: 'There is neither a transaction nor a withdrawal with this id.' })
      return explanation
    },
  )
}
