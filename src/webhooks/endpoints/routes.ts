import type { FastifyRequest } from 'fastify'
import { byCaller } from '../../audit/record.ts'
import type { Db, Reads } from '../../db/sql.ts'
import { callerOf } from '../../http/caller.ts'
import { readSlice, toEnvelope } from '../../http/page.ts'
import { enforceRateLimit } from '../../http/rate-limit.ts'
import { NoQuery, problems } from '../../http/schemas.ts'
import type { Server } from '../../http/server.ts'
import type { Clock } from '../../lib/clock.ts'
import type { SecretKey } from '../../lib/secrets.ts'
import { assertMayRead } from '../readable.ts'
import { changeEndpoint, createEndpoint, deleteEndpoint, rotateEndpointSecret, unknownEndpoint } from './change.ts'
import {
  ChangeEndpointBody,
  CreateEndpointBody,
  EndpointList,
  EndpointParams,
  EndpointSecretView,
  EndpointView,
  ListEndpointsQuery,
  NewEndpointView,
  RotateSecretBody,
  TestDeliveryView,
} from './schema.ts'
import { findEndpoint, listEndpoints } from './store.ts'
import type { WebhookTests } from './test-delivery.ts'
import { toEndpointView } from './view.ts'

type Deps = {
  db: Db
  reads: Reads
  clock: Clock
  key: SecretKey
  baseUrl: string
  tests: WebhookTests
}

const tags = ['Webhook endpoints']
const read = { access: { scope: 'webhook.read' } } as const
/** It reveals a secret, or decides where data of payers goes: people need the permission for credentials. */
const write = { access: { scope: 'webhook.write', userPermission: 'credential.write' } } as const

/** A token needs the scopes of the records. With the permission for credentials, people can make one that has them. */
function receivingOf(request: FastifyRequest): (types: string[] | null) => void {
  return (types) => {
    if (!request.user) assertMayRead(callerOf(request), types)
  }
}

/** The addresses that a merchant registers for the events of all its records. */
export function registerEndpointRoutes(app: Server, deps: Deps): void {
  const { db, reads } = deps
  app.post(
    '/webhook-endpoint',
    {
      config: write,
      schema: {
        operationId: 'createWebhookEndpoint',
        summary: 'Register a webhook endpoint',
        description:
          'It receives the events of all your records that match its filter, from now on, signed with its own secret. It also needs the scopes of their records: `transaction.read` and `withdrawal.read`, unless `eventTypes` selects one kind.',
        tags,
        querystring: NoQuery,
        body: CreateEndpointBody,
        response: { 201: NewEndpointView, ...problems(401, 403, 422, 500) },
      },
    },
    async (request, reply) => {
      const { merchantId } = callerOf(request)
      const { row, secret } = await createEndpoint(deps, {
        ...{ merchantId, input: request.body, by: byCaller(request) },
        assertMayReceive: receivingOf(request),
      })
      void reply.code(201).header('location', `${deps.baseUrl}/webhook-endpoint/${row.id}`)
      return { ...toEndpointView(row), secret }
    },
  )

  app.get(
    '/webhook-endpoint',
    {
      config: read,
      schema: {
        operationId: 'listWebhookEndpoints',
        summary: 'List webhook endpoints',
        description: 'Newest first.',
        tags,
        querystring: ListEndpointsQuery,
        response: { 200: EndpointList, ...problems(401, 403, 422, 500) },
      },
    },
    async (request) => {
      const slice = readSlice(request)
      return toEnvelope(await listEndpoints(reads, callerOf(request).merchantId, slice), slice, toEndpointView)
    },
  )

  app.get(
    '/webhook-endpoint/:id',
    {
      config: read,
      schema: {
        operationId: 'getWebhookEndpoint',
        summary: 'Fetch a webhook endpoint',
        description: 'Without its secret, which only the answer to its registration shows.',
        tags,
        params: EndpointParams,
        querystring: NoQuery,
        response: { 200: EndpointView, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      const row = await findEndpoint(db, { merchantId, endpointId: request.params.id })
      if (!row) throw unknownEndpoint()
      return toEndpointView(row)
    },
  )

  registerChanges(app, deps)
}

function registerChanges(app: Server, deps: Deps): void {
  app.patch(
    '/webhook-endpoint/:id',
    {
      config: write,
      schema: {
        operationId: 'updateWebhookEndpoint',
        summary: 'Change a webhook endpoint',
        description:
          'Fields that are left out stay as they are. With another `url`, what waits for the endpoint is sent there. Disabled, what waits for it is canceled. Another `url`, other `eventTypes`, and enabling it need the scopes of the records, as registering it does.',
        tags,
        params: EndpointParams,
        querystring: NoQuery,
        body: ChangeEndpointBody,
        response: { 200: EndpointView, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request) => {
      const { merchantId } = callerOf(request)
      const target = { merchantId, endpointId: request.params.id, by: byCaller(request) }
      const change = { ...target, input: request.body, assertMayReceive: receivingOf(request) }
      return toEndpointView(await changeEndpoint(deps, change))
    },
  )

  app.delete(
    '/webhook-endpoint/:id',
    {
      config: write,
      schema: {
        operationId: 'deleteWebhookEndpoint',
        summary: 'Delete a webhook endpoint',
        description: 'What waits for it is canceled. Its past deliveries stay in the list.',
        tags,
        params: EndpointParams,
        querystring: NoQuery,
        response: { 204: { type: 'null', description: 'It is deleted' }, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request, reply) => {
      const { merchantId } = callerOf(request)
      await deleteEndpoint(deps, { merchantId, endpointId: request.params.id, by: byCaller(request) })
      return await reply.code(204).send(null)
    },
  )

  app.post(
    '/webhook-endpoint/:id/secret',
    {
      config: write,
      schema: {
        operationId: 'rotateWebhookEndpointSecret',
        summary: 'Rotate the secret of a webhook endpoint',
        description:
          'Deliveries carry two signatures until the former secret expires, so that the receiver can switch at any moment.',
        tags,
        params: EndpointParams,
        querystring: NoQuery,
        body: RotateSecretBody,
        response: { 201: EndpointSecretView, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request, reply) => {
      const { merchantId } = callerOf(request)
      const target = { merchantId, endpointId: request.params.id, by: byCaller(request) }
      const { secret, formerExpiresAt } = await rotateEndpointSecret(deps, { ...request.body, ...target })
      void reply.code(201).header('location', `${deps.baseUrl}/webhook-endpoint/${request.params.id}`)
      return { secret, formerExpiresAt: formerExpiresAt.toISOString() }
    },
  )

  registerTest(app, deps)
}

function registerTest(app: Server, deps: Deps): void {
  app.addHook('onClose', async () => await deps.tests.close())
  app.post(
    '/webhook-endpoint/:id/test',
    {
      config: write,
      schema: {
        operationId: 'testWebhookEndpoint',
        summary: 'Send a test to a webhook endpoint',
        description:
          'POSTs a signed body of the type `webhook.test` at once, and returns the receiver’s answer. It is not repeated, and changes nothing.',
        tags,
        params: EndpointParams,
        querystring: NoQuery,
        response: { 200: TestDeliveryView, ...problems(401, 403, 404, 422, 429, 500) },
      },
    },
    async (request, reply) => {
      const { merchantId } = callerOf(request)
      enforceRateLimit(deps.tests.limit, merchantId, reply)
      const endpoint = await findEndpoint(deps.db, { merchantId, endpointId: request.params.id })
      if (!endpoint) throw unknownEndpoint()
      const { id: endpointId, url, receiver, description } = endpoint
      return await deps.tests.send({
        ...{ merchantId, url, endpointId, data: { endpointId, description } },
        audit: { by: byCaller(request), action: 'webhook-endpoint.test', recordId: endpointId, details: { receiver } },
      })
    },
  )
}
