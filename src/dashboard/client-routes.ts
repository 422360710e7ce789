import { Type } from 'typebox'
import { byUser } from '../audit/record.ts'
import { changeScopes, findKnownClient, revokeClient, unknownClient } from '../auth/clients.ts'
import { scopes } from '../auth/scopes.ts'
import { type KnownClient, listClients, listValidSecrets } from '../auth/store.ts'
import type { Db } from '../db/sql.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import type { SecretKey } from '../lib/secrets.ts'
import { createClient, rotateSecret, toClientView } from '../operator/clients.ts'
import { listSecretsSigning } from '../webhooks/store.ts'
import { ClientDetailView, ClientView, DataOf, NewClientView, NewSecretView, type ValidSecret } from './schema.ts'

type Deps = {
  db: Db
  clock: Clock
  key: SecretKey
  /** True if an external provider issues the tokens and knows the secrets. */
  hasProvider: boolean
}

const Params = Type.Object({ clientId: Type.String({ maxLength: 128 }) })
const Scopes = Type.Array(Type.Enum([...scopes]), { minItems: 1, uniqueItems: true })

/**
 * The merchants' credentials: each client belongs to one merchant. A secret is shown once, in the response that
 * creates it.
 */
export function registerClientRoutes(app: Server, deps: Deps): void {
  const { db, clock } = deps
  app.get(
    '/dashboard/api/client',
    {
      config: { access: { permission: null } },
      schema: { hide: true, querystring: NoQuery, response: { 200: DataOf(ClientView), ...problems(401) } },
    },
    async (request) => {
      const seen = merchantSeenBy(userOf(request))
      const clients = await listClients(db, clock.now())
      return { data: clients.filter(({ merchant_id }) => seen === null || merchant_id === seen).map(toClientView) }
    },
  )

  app.post(
    '/dashboard/api/client',
    {
      config: { access: { permission: 'credential.write' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object({
          name: Type.String({ format: 'international-name', minLength: 1, maxLength: 255 }),
          scopes: Scopes,
          clientId: Type.Optional(Type.String({ pattern: '^[\\w.:@-]{3,128}$' })),
        }),
        response: { 201: NewClientView, ...problems(401, 403, 422) },
      },
    },
    async (request, reply) => {
      const user = userOf(request)
      if (user.merchant) throw new AppError('permission_missing', { detail: 'Only the operator creates clients.' })
      return await reply.code(201).send(await createClient(deps, { ...request.body, by: byUser(user) }))
    },
  )

  app.get(
    '/dashboard/api/client/:clientId',
    {
      config: { access: { permission: 'credential.write' } },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        response: { 200: ClientDetailView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const client = await find(deps, userOf(request), request.params.clientId)
      const now = clock.now()
      const [secrets, webhookSecrets] = await Promise.all([
        listValidSecrets(db, client.merchant_id, now),
        listSecretsSigning(db, client.merchant_id, now),
      ])
      const { hasProvider } = deps
      return {
        ...{ ...toClientView(client), hasProvider },
        ...{ secrets: secrets.map(toSecretView), webhookSecrets: webhookSecrets.map(toSecretView) },
      }
    },
  )

  app.post(
    '/dashboard/api/client/:clientId/secret',
    {
      config: { access: { permission: 'credential.write' } },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        body: Type.Object({
          of: Type.Enum(['client', 'webhook']),
          overlapHours: Type.Number({ minimum: 0, maximum: 2160 }),
          /** Of the new secret. If the current secret has it, the rotation is repeated (db/secrets.ts). */
          id: Type.Optional(Type.String({ format: 'uuid-v4' })),
        }),
        response: { 201: NewSecretView, ...problems(401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const user = userOf(request)
      const client = await find(deps, user, request.params.clientId)
      const { of } = request.body
      if (of === 'client') assertCovers(user, client)
      return await reply.code(201).send(await rotateSecret(deps, { ...request.body, client, by: byUser(user) }))
    },
  )

  app.patch(
    '/dashboard/api/client/:clientId',
    {
      config: { access: { permission: 'credential.write' } },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        body: Type.Object({
          scopes: Scopes,
          before: Type.Array(Type.Enum([...scopes]), { description: 'As they were read' }),
        }),
        response: { 200: ClientView, ...problems(401, 403, 404, 409, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      if (user.merchant) throw new AppError('permission_missing', { detail: 'Only the operator grants scopes.' })
      const client = await find(deps, user, request.params.clientId)
      await changeScopes(deps, { ...request.body, clientId: client.client_id, by: byUser(user) })
      return toClientView({ ...client, scopes: request.body.scopes })
    },
  )

  app.post(
    '/dashboard/api/client/:clientId/revocation',
    {
      config: { access: { permission: 'credential.write' } },
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        body: Type.Object({ tokensOnly: Type.Boolean() }),
        response: { 200: ClientView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      const client = await find(deps, user, request.params.clientId)
      const { tokensOnly } = request.body
      // A disabled client stops the whole merchant, and a new secret enables it again: only who may create one may
      // disable it. After `tokensOnly` the merchant gets a new token with its next request.
      if (!tokensOnly) assertCovers(user, client)
      await revokeClient(deps, { clientId: client.client_id, tokensOnly, by: byUser(user) })
      return toClientView(await find(deps, user, client.client_id))
    },
  )
}

function toSecretView({ id, createdAt, expiresAt }: Awaited<ReturnType<typeof listValidSecrets>>[number]): ValidSecret {
  return { id, createdAt: createdAt.toISOString(), expiresAt: expiresAt?.toISOString() ?? null }
}

async function find(deps: Deps, user: SignedIn, clientId: string): Promise<KnownClient> {
  const client = await findKnownClient(deps, clientId)
  const seen = merchantSeenBy(user)
  if (seen !== null && client.merchant_id !== seen) throw unknownClient()
  return client
}

/** Whoever creates a secret knows it, and can do with it whatever the client may do. */
function assertCovers(user: SignedIn, client: KnownClient): void {
  const lacking = client.scopes.filter((scope) => !user.permissions.includes(scope))
  if (lacking.length === 0) return
  throw new AppError('permission_missing', {
    detail: `The client has permissions that your role lacks: ${lacking.join(', ')}. Ask an owner, or the operator.`,
  })
}
