import type { FastifyReply } from 'fastify'
import type { Db, Reads } from '../db/sql.ts'
import { type Caller, callerOf } from '../http/caller.ts'
import { toDate } from '../http/formats.ts'
import { readSlice, toEnvelope } from '../http/page.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { AppError, invalidFields } from '../lib/errors.ts'
import type { Described } from './document.ts'
import { type FeedPage, type FeedRequest, readFeed } from './feed.ts'
import { findEvent } from './feed-store.ts'
import { createFeedWatch, type FeedWatch } from './feed-watch.ts'
import { buildBodies, type EventToSend, type LoadRecords } from './payload.ts'
import { listEvents } from './read-store.ts'
import { assertMayRead } from './readable.ts'
import {
  EventParams,
  EventsQuery,
  feedLimitDefault,
  feedParameters,
  listParameters,
  perPageDefault,
  toEventViews,
} from './schema.ts'
import { toEventView } from './view.ts'

type Deps = { db: Db; reads: Reads; loadRecords: LoadRecords; described: Described[] }

/** Events as a list, as the feed that a program follows, and one by one. */
export function registerEventRoutes(app: Server, deps: Deps): void {
  const views = toEventViews(deps.described)
  const watch = createFeedWatch({ db: deps.db, log: app.log })
  // Answers the requests that wait, so that a stop does not last until their `wait` ends.
  app.addHook('preClose', watch.stop)

  app.get(
    '/event',
    {
      config: { access: { scope: 'webhook.read' } },
      schema: {
        operationId: 'listEvents',
        summary: 'List events, or follow them',
        description:
          'With `after`: the feed. Events in a fixed order, oldest first, each with the payload of its webhook; save `next` and send it as `after`, and you get every event once. With `wait` the request is answered when there is an event. It also needs the scopes of the records: `transaction.read` and `withdrawal.read`, unless `type` selects one kind.\n\nWithout `after`: the list of all status changes, newest first, each with the state of its delivery to the record’s `webhookUrl`.',
        tags: ['Events'],
        querystring: EventsQuery,
        response: {
          200: views.events,
          ...problems(401, 403, 422, 500, 'position_unknown', 'overloaded'),
        },
      },
    },
    async (request, reply) => {
      const { query } = request
      const caller = callerOf(request)
      if (query.after !== undefined) return await sendFeed(deps, watch, { caller, query, reply })
      refuseTogether(query, feedParameters, 'is for the feed: send after=start as well')
      const perPage = query.perPage ?? perPageDefault
      const slice = readSlice({ url: request.url, query: { ...query, perPage } })
      return toEnvelope(await listEvents(deps.reads, caller.merchantId, {}, slice), slice, toEventView)
    },
  )

  app.get(
    '/event/:id',
    {
      config: { access: { scope: 'webhook.read' } },
      schema: {
        operationId: 'getEvent',
        summary: 'Fetch an event',
        description:
          'The payload of its webhook. It also needs the scope of its record: `transaction.read` or `withdrawal.read`.',
        tags: ['Events'],
        params: EventParams,
        querystring: NoQuery,
        response: { 200: views.event, ...problems(401, 403, 404, 422, 500) },
      },
    },
    async (request, reply) => {
      const caller = callerOf(request)
      const eventId = request.params.id.toLowerCase()
      const event = await findEvent(deps.reads, { merchantId: caller.merchantId, eventId })
      if (!event) throw new AppError('not_found', { detail: 'There is no event with this id.' })
      assertMayRead(caller, [event.recordType])
      const [body] = await buildAll(deps.loadRecords, [event])
      return sendJson(reply, body ?? '')
    },
  )
}

type FeedCall = { caller: Caller; query: EventsQuery; reply: FastifyReply }

async function sendFeed(deps: Deps, watch: FeedWatch, { caller, query, reply }: FeedCall): Promise<FastifyReply> {
  refuseTogether(query, listParameters, 'is for the list: the feed has limit and next')
  const { after = 'start', limit = feedLimitDefault, wait = 0, type: types, recordId, startDate } = query
  assertMayRead(caller, types ?? null)
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const filters = { types, recordId: recordId?.toLowerCase(), from: toDate(startDate) }
  const request = { ...filters, merchantId: caller.merchantId, after, limit }
  const page = await readOrWait(deps, watch, request, { ms: wait * 1_000, signal: gone.signal })
  const bodies = await buildAll(deps.loadRecords, page.events)
  const data = page.events.map(
    ({ number, position }, index) =>
      `{"number":${number},"position":"${position}",${bodies[index]?.toString().slice(1)}`,
  )
  return sendJson(reply, `{"data":[${data.join()}],"next":"${page.next}","hasMore":${page.hasMore}}`)
}

/**
 * Reads a page. If it is empty and the feed has no more events, waits up to `ms` for one that matches. Waits less if too
 * many requests wait, the client disconnects or the service stops. Events that do not match are read once.
 */
async function readOrWait(
  deps: Deps,
  watch: FeedWatch,
  request: FeedRequest,
  { ms, signal }: { ms: number; signal: AbortSignal },
): Promise<FeedPage> {
  const endsAt = performance.now() + ms
  for (let { after } = request; ; ) {
    const page = await readFeed(deps, { ...request, after })
    const limits = { ms: endsAt - performance.now(), signal }
    const feed = { merchantId: request.merchantId, after: page.nextNumber }
    if (page.events.length > 0 || page.hasMore || !(await watch.wait(feed, limits))) return page
    after = page.next
  }
}

/** The bodies of the events' webhooks. None is left out: a reader would miss it. */
async function buildAll(loadRecords: LoadRecords, events: EventToSend[]): Promise<Buffer[]> {
  const bodies = await buildBodies(loadRecords, events, (_, cause) => {
    throw cause
  })
  return bodies.filter((body) => body !== null)
}

function sendJson(reply: FastifyReply, text: string | Buffer): FastifyReply {
  // As bytes, so that Fastify does not serialize it again: the webhook has exactly the same body.
  return reply.type('application/json; charset=utf-8').send(Buffer.from(text))
}

/** @throws {AppError} `validation_failed` if the query has one of these parameters */
function refuseTogether(query: EventsQuery, names: readonly (keyof EventsQuery)[], message: string): void {
  const fields = names
    .filter((name) => query[name] !== undefined)
    .map((field) => ({ field, code: 'invalid' as const, message }))
  if (fields.length > 0) throw invalidFields(fields)
}
