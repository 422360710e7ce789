import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import { byUser } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { type DisputeKey, notFound } from '../defences/case.ts'
import { DefenceInput, DefenceView, fileBytesMax, HandInInput, SendInput } from '../defences/schema.ts'
import { markSubmittedByHand, requestSending } from '../defences/send.ts'
import { findFile } from '../defences/store.ts'
import { addFile, fileTooLarge, removeFile, showDefence, writeDefence } from '../defences/write.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { sendFile } from '../http/csv.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { languages } from '../lib/alert-settings.ts'
import type { Clock } from '../lib/clock.ts'
import { zipDefence } from '../reports/defence-package.ts'
import { findDispute } from '../transactions/dispute/store.ts'

type Deps = { db: Db; clock: Clock; acquirers: Acquirers }

const path = '/dashboard/api/infraction/:id'
const Uuid = Type.String({ format: 'uuid-any' })
const OfDispute = Type.Object({ id: Uuid })
const OfFile = Type.Object({ id: Uuid, fileId: Uuid })
const read = { config: { access: { permission: 'infraction.read' } } }
const write = { config: { access: { permission: 'infraction.defend' } } }
const answers = { 200: DefenceView, ...problems(401, 403, 404, 409, 422) }
const BinaryFile = Type.Unsafe<Buffer>(Type.String())

/** The defence against a dispute: text, proof of the delivery and files. */
export function registerDefenceRoutes(app: Server, deps: Deps): void {
  app.get(
    `${path}/defence`,
    { ...read, schema: { hide: true, params: OfDispute, querystring: NoQuery, response: answers } },
    async (request) => await showDefence(deps, await findKey(deps, userOf(request), request.params.id)),
  )

  app.put(
    `${path}/defence`,
    {
      ...write,
      schema: { hide: true, params: OfDispute, querystring: NoQuery, body: DefenceInput, response: answers },
    },
    async (request) => {
      const key = await findKey(deps, userOf(request), request.params.id)
      return await writeDefence(deps, key, { input: request.body, by: byUser(userOf(request)) })
    },
  )

  app.post(
    `${path}/defence/sending`,
    { ...write, schema: { hide: true, params: OfDispute, querystring: NoQuery, body: SendInput, response: answers } },
    async (request) => {
      const key = await findKey(deps, userOf(request), request.params.id)
      return await requestSending(deps, key, { input: request.body, by: byUser(userOf(request)) })
    },
  )

  app.post(
    `${path}/defence/hand-in`,
    { ...write, schema: { hide: true, params: OfDispute, querystring: NoQuery, body: HandInInput, response: answers } },
    async (request) => {
      const key = await findKey(deps, userOf(request), request.params.id)
      return await markSubmittedByHand(deps, key, { input: request.body, by: byUser(userOf(request)) })
    },
  )

  app.get(
    `${path}/defence.zip`,
    {
      ...read,
      schema: {
        hide: true,
        params: OfDispute,
        querystring: Type.Object(
          { language: Type.Optional(Type.Enum([...languages])) },
          { additionalProperties: false },
        ),
        response: { 200: BinaryFile, ...problems(401, 403, 404, 422, 429) },
      },
    },
    async (request, reply) => {
      const key = await findKey(deps, userOf(request), request.params.id)
      return sendFile(reply, await zipDefence(deps, key, request.query.language ?? 'pt'))
    },
  )
  registerFileRoutes(app, deps)
}

function registerFileRoutes(app: Server, deps: Deps): void {
  app.get(
    `${path}/file/:fileId`,
    {
      ...read,
      schema: {
        hide: true,
        params: OfFile,
        querystring: NoQuery,
        response: { 200: BinaryFile, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const key = await findKey(deps, userOf(request), request.params.id)
      const owner = { merchant_id: key.merchantId, dispute_id: key.disputeId }
      const file = await findFile(deps.db, owner, request.params.fileId.toLowerCase())
      if (!file) throw notFound()
      // Somebody else uploaded it: a browser stores it, and never shows it as a page of this address.
      return await reply
        .type(file.type)
        .header('content-disposition', `attachment; filename*=UTF-8''${encodeName(file.name)}`)
        .header('content-security-policy', "sandbox; default-src 'none'")
        .send(file.content)
    },
  )

  app.delete(
    `${path}/file/:fileId`,
    { ...write, schema: { hide: true, params: OfFile, querystring: NoQuery, response: answers } },
    async (request) => {
      const key = await findKey(deps, userOf(request), request.params.id)
      return await removeFile(deps, key, { id: request.params.fileId.toLowerCase(), by: byUser(userOf(request)) })
    },
  )

  // In a scope of its own, because only this route of the dashboard takes anything but JSON.
  void app.register(async (scoped: Server) => {
    scoped.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_request, body, done) =>
      done(null, body),
    )
    scoped.put(
      `${path}/file/:fileId`,
      {
        ...write,
        bodyLimit: fileBytesMax,
        errorHandler: (error) => {
          throw error.code === 'FST_ERR_CTP_BODY_TOO_LARGE' ? fileTooLarge() : error
        },
        schema: {
          hide: true,
          params: OfFile,
          querystring: Type.Object({ name: Type.String({ maxLength: 300 }) }, { additionalProperties: false }),
          response: answers,
        },
      },
      async (request) => {
        const key = await findKey(deps, userOf(request), request.params.id)
        const id = request.params.fileId.toLowerCase()
        // A body of another type was parsed as JSON.
        const content = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        return await addFile(deps, key, { id, name: request.query.name, content, by: byUser(userOf(request)) })
      },
    )
  })
}

/** @throws {AppError} `not_found` for another merchant's dispute as well */
async function findKey({ db }: Deps, user: SignedIn, id: string): Promise<DisputeKey> {
  const dispute = await findDispute(db, id.toLowerCase())
  const seen = merchantSeenBy(user)
  if (!dispute || (seen !== null && dispute.merchant_id !== seen)) throw notFound()
  return { merchantId: dispute.merchant_id, transactionId: dispute.transaction_id, disputeId: dispute.id }
}

/** For the header Content-Disposition (RFC 8187). */
function encodeName(name: string): string {
  return encodeURIComponent(name).replace(/['()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
}
