import { randomUUID } from 'node:crypto'
import { Type } from 'typebox'
import type { Db } from '../db/sql.ts'
import { userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, invalidField } from '../lib/errors.ts'
import { SavedViewSchema } from './list-schema.ts'
import { countOtherViews, deleteSavedView, listSavedViews, saveView } from './saved-view-store.ts'
import { DataOf } from './schema.ts'

/** Of one user, over all lists: more than anybody finds again in a menu. */
const viewsMax = 50
const Screen = Type.Enum(['transactions', 'withdrawals', 'webhooks'])
/** Filters with personal data. The dashboard keeps them out of a list's address, and saved views have none either. */
const personalDataFilters = ['customerName', 'customerDocument', 'customerEmail', 'customerPhone', 'pixKey']
const access = { permission: null }

/** The filters that a user has named, per list. Each user sees only their own. */
export function registerSavedViewRoutes(app: Server, { db, clock }: { db: Db; clock: Clock }): void {
  app.get(
    '/dashboard/api/saved-view',
    {
      config: { access },
      schema: {
        hide: true,
        querystring: Type.Object({ screen: Screen }, { additionalProperties: false }),
        response: { 200: DataOf(SavedViewSchema), ...problems(401, 403, 422) },
      },
    },
    async (request) => ({ data: await listSavedViews(db, userOf(request).id, request.query.screen) }),
  )

  app.post(
    '/dashboard/api/saved-view',
    {
      config: { access },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object(
          {
            screen: Screen,
            name: Type.String({ minLength: 1, maxLength: 60, pattern: '\\S' }),
            query: Type.String({ maxLength: 1000 }),
          },
          { additionalProperties: false },
        ),
        response: { 201: SavedViewSchema, ...problems(401, 403, 422) },
      },
    },
    async (request, reply) => {
      const { screen, name, query } = request.body
      const parameters = new URLSearchParams(query)
      if (personalDataFilters.some((one) => parameters.has(one)))
        throw invalidField('query', 'invalid', 'has personal data')
      const userId = userOf(request).id
      const [saved] = await db.transaction(async (tx) => {
        const view = { id: randomUUID(), userId, screen, name: name.trim(), query: parameters.toString() }
        if ((await countOtherViews(tx, view)) >= viewsMax)
          throw invalidField('name', 'invalid', `cannot be saved: there are ${viewsMax} views already`)
        return await saveView(tx, { ...view, now: clock.now() })
      })
      assert(saved, 'the view was saved')
      return await reply.code(201).send(saved)
    },
  )

  app.delete(
    '/dashboard/api/saved-view/:id',
    {
      config: { access },
      schema: {
        hide: true,
        querystring: NoQuery,
        params: Type.Object({ id: Type.String({ format: 'uuid-any' }) }),
        response: { 204: Type.Unsafe<undefined>({ type: 'null' }), ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      if (!(await deleteSavedView(db, userOf(request).id, request.params.id)))
        throw new AppError('not_found', { detail: 'You have no saved view with this id.' })
      return await reply.code(204).send()
    },
  )
}
