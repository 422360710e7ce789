import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import { byUser } from '../audit/record.ts'
import type { Db, Reads } from '../db/sql.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { Amount, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { windowOf } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { decideDispute, enterDispute, toDisputeView } from '../operator/disputes.ts'
import {
  listUnattributedDisputes,
  toDisputeView as toUnattributedView,
  type UnattributedDispute,
} from '../suspense/dispute-store.ts'
import { dueSoonMs } from '../transactions/dispute/dispute.ts'
import { findOwners } from '../transactions/owner-store.ts'
import { previewRefund } from '../transactions/refund/preview.ts'
import { disputeTabs, findListedDisputes, matchingDisputes } from './dispute-list-store.ts'
import { readPage, toSummary } from './list.ts'
import { clientAndDays, cursors } from './list-routes.ts'
import { DisputesView } from './list-schema.ts'
import { countStatuses } from './list-store.ts'
import { findShownMerchantId } from './overview-routes.ts'
import { DisputeView, RefundPreviewView } from './schema.ts'

type Deps = { db: Db; reads: Reads; clock: Clock; acquirers: Acquirers; wakeDeliveries: () => void }

/** How many of them are shown, the oldest first. Each waits for a person, so there are seldom more than a few. */
const unattributedMax = 20

const TransactionId = Type.String({ format: 'uuid-any' })
const amount = Amount(1, 'Cents')

/** Disputes (MED), and the preview of a refund. */
export function registerDisputeRoutes(app: Server, deps: Deps): void {
  registerList(app, deps)

  app.post(
    '/dashboard/api/infraction',
    {
      config: { access: { permission: 'infraction.decide' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object(
          {
            // Chosen by the page, so that a repeated request enters one dispute.
            id: Type.String({ format: 'uuid-v4' }),
            transactionId: TransactionId,
            amount: Type.Optional(amount),
            reason: Type.Optional(Type.String({ minLength: 3, maxLength: 255 })),
          },
          { additionalProperties: false },
        ),
        response: { 201: DisputeView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) =>
      await reply.code(201).send(await enterDispute(deps, { ...request.body, by: byUser(userOf(request)) })),
  )

  app.post(
    '/dashboard/api/infraction/:id/decision',
    {
      config: { access: { permission: 'infraction.decide' } },
      schema: {
        hide: true,
        params: Type.Object({ id: Type.String({ format: 'uuid-any' }) }),
        querystring: NoQuery,
        body: Type.Object(
          { transactionId: TransactionId, decision: Type.Enum(['accept', 'reject']) },
          { additionalProperties: false },
        ),
        response: { 200: DisputeView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const disputeId = request.params.id.toLowerCase()
      return await decideDispute(deps, { ...request.body, disputeId, by: byUser(userOf(request)) })
    },
  )

  app.get(
    '/dashboard/api/transaction/:id/refund',
    {
      config: { access: { permission: 'refund.write' } },
      schema: {
        hide: true,
        params: Type.Object({ id: TransactionId }),
        querystring: Type.Object({ amount: Type.Optional(amount) }, { additionalProperties: false }),
        response: { 200: RefundPreviewView, ...problems(401, 403, 404, 422, 503) },
      },
    },
    async (request) => {
      const { id: transactionId } = request.params
      const merchantId = await findMerchantOf(deps, userOf(request), transactionId)
      const { until, ...cents } = await previewRefund(deps, {
        merchantId,
        transactionId,
        amount: request.query.amount,
      })
      return { ...cents, until: until.toISOString() }
    },
  )
}

/** The disputes of one merchant or of all, in tabs. */
function registerList(app: Server, deps: Deps): void {
  const body = Type.Object(
    {
      ...clientAndDays,
      ...cursors,
      tab: Type.Optional(Type.Enum([...disputeTabs])),
      isDueSoon: Type.Optional(Type.Boolean()),
    },
    { additionalProperties: false },
  )
  app.post(
    '/dashboard/api/list/dispute',
    {
      config: { access: { permission: 'infraction.read' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body,
        response: { 200: DisputesView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request) => {
      const { clientId, from, until, tab, isDueSoon, after, before } = request.body
      const user = userOf(request)
      const merchantId = await findShownMerchantId(deps, user, clientId)
      const now = deps.clock.now()
      const filters = {
        openedFrom: from === undefined ? undefined : windowOf(from).from,
        openedBefore: until === undefined ? undefined : windowOf(until).to,
        dueUntil: isDueSoon ? new Date(now.getTime() + dueSoonMs) : undefined,
      }
      const seen = { merchantId, reader: user.id }
      const sort = tab === 'to_answer' || tab === 'answered' ? 'deadline' : 'newest'
      const matching = matchingDisputes({ ...filters, tab }, seen)
      const page = await readPage(deps.reads, matching, { sort, after, before }, findListedDisputes)
      const counts = await countStatuses(deps.reads, matchingDisputes({ ...filters, tab: undefined }, seen))
      const { isMore } = toSummary(counts, null, null)
      // Disputes of payments that belong to no transaction: only the operator sees them, on the first page for all
      // merchants.
      const isFirstOfAll = after === undefined && before === undefined && !isDueSoon && clientId === undefined
      const showsUnattributed = merchantSeenBy(user) === null && tab === 'to_answer' && isFirstOfAll
      const unattributed = showsUnattributed
        ? await listUnattributedDisputes(deps.db, { ...filters, limit: unattributedMax })
        : []
      return {
        ...{ next: page.next, previous: page.previous, now: now.toISOString() },
        counts: counts.map(({ status, count }) => ({ status, count })),
        isMore,
        data: page.items.map((row) => ({ ...toDisputeView(row), defence: row.defence, payerName: row.payer_name })),
        unattributed: unattributed.map(toUnattributed),
      }
    },
  )
}

/** @throws {AppError} `not_found`, also if the transaction belongs to another merchant */
async function findMerchantOf({ db }: Deps, user: SignedIn, transactionId: string): Promise<string> {
  const [owner] = await findOwners(db, [transactionId])
  const seen = merchantSeenBy(user)
  if (!owner || (seen !== null && owner.merchant_id !== seen)) {
    throw new AppError('not_found', { detail: 'There is no transaction with this id.' })
  }
  return owner.merchant_id
}

function toUnattributed(row: UnattributedDispute & { suspense_id: string | null }) {
  return { ...toUnattributedView(row), acquirer: row.acquirer, endToEnd: row.end_to_end, suspenseId: row.suspense_id }
}
