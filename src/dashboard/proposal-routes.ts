import { Type } from 'typebox'
import type { ActionName } from '../audit/actions.ts'
import { byUser, toActor } from '../audit/record.ts'
import type { ActionRow } from '../audit/store.ts'
import type { Db } from '../db/sql.ts'
import { type SignedIn, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { decideProposal, listProposals } from '../operator/proposals.ts'
import { type ClientName, findClientNames } from '../operator/suspense-store.ts'
import { proposalKinds } from '../proposal-kinds.ts'
import type { ProposalKind } from '../proposals/decide.ts'
import { idOrderToleranceMs } from './audit.ts'
import { findIdAt, listActionsToNotice } from './audit-store.ts'
import { DataOf, NoticeView, ProposalView, StateView } from './schema.ts'

type Deps = { db: Db; clock: Clock; wakeDeliveries: () => void }

const Params = Type.Object({ id: Type.String({ format: 'uuid-any' }) })
/** Each kind of proposal also requires its own permission. */
const access = { permission: 'withdrawal.approve' } as const

/**
 * Actions that every admin should notice, whoever at the operator did them: new withdrawal limits, access that is given,
 * changed or restored, also by the identity provider, and a second factor that was locked after wrong codes. Access that
 * is only taken away needs no notice.
 */
const noticedActions: ActionName[] = [
  'withdrawal.limits',
  'withdrawal.limits.propose',
  'user.invite',
  'user.accept',
  'user.link',
  'user.unlink',
  'user.change',
  'user.enable',
  'user.reset',
  'user.lock_second_factor',
  'client.create',
  'client.rotate-secret',
  'client.scopes',
]
/** Covers a week of holidays, and is still short enough to read. */
const noticedMs = 7 * 24 * 60 * 60_000
const noticedMax = 20

/** Actions that need two persons and wait for the second one, and notices for admins. For the operator only. */
export function registerProposalRoutes(app: Server, deps: Deps): void {
  app.get(
    '/dashboard/api/notice',
    {
      config: { access: { permission: 'user.write' } },
      schema: { hide: true, querystring: NoQuery, response: { 200: DataOf(NoticeView), ...problems(401, 403, 422) } },
    },
    async (request) => {
      if (userOf(request).merchant) return { data: [] }
      const since = new Date(deps.clock.now().getTime() - noticedMs)
      const from = await findIdAt(deps.db, new Date(since.getTime() - idOrderToleranceMs))
      const rows = await listActionsToNotice(deps.db, { actions: noticedActions, since, from, limit: noticedMax })
      const clients = await findClientNames(
        deps.db,
        rows.flatMap(({ merchant_id: merchantId }) => merchantId ?? []),
      )
      return { data: rows.map((row) => toNotice(row, clients)) }
    },
  )

  app.get(
    '/dashboard/api/proposal',
    {
      config: { access },
      schema: { hide: true, querystring: NoQuery, response: { 200: DataOf(ProposalView), ...problems(401, 403, 422) } },
    },
    async (request) => {
      const user = userOf(request)
      const kinds = proposalKinds.filter(({ permission }) => user.permissions.includes(permission))
      return { data: await listProposals(deps, toActor(user), { kinds: kinds.map(({ name }) => name) }) }
    },
  )

  const route = {
    config: { access },
    schema: {
      ...{ hide: true, params: Params, querystring: NoQuery },
      response: { 200: StateView, ...problems(401, 403, 404, 422, 503) },
    },
  }
  for (const [path, decision] of [
    ['approval', 'approve'],
    ['rejection', 'reject'],
  ] as const) {
    app.post(`/dashboard/api/proposal/:id/${path}`, route, async (request) => {
      const user = userOf(request)
      if (user.merchant) throw new AppError('not_found', { detail: 'There is no proposal with this id.' })
      const deciding = { id: request.params.id, decision, by: byUser(user) }
      return await decideProposal(deps, deciding, (kind) => assertMayDecide(user, kind))
    })
  }
}

function toNotice(row: ActionRow, clients: Map<string, ClientName>): NoticeView {
  return {
    id: row.id,
    at: row.at.toISOString(),
    actor: row.actor,
    action: row.action,
    clientName: row.merchant_id === null ? null : (clients.get(row.merchant_id)?.name ?? null),
    proposedBy: typeof row.details?.proposedBy === 'string' ? row.details.proposedBy : null,
  }
}

/** @throws {AppError} `permission_missing` */
function assertMayDecide({ role, permissions }: SignedIn, { permission }: ProposalKind): void {
  if (permissions.includes(permission)) return
  throw new AppError('permission_missing', {
    detail: `The role ${role} does not have the permission ${permission}. Ask whoever manages your users.`,
  })
}
