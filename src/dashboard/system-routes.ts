import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import { conditionOf } from '../alerts/conditions.ts'
import { listAlerts } from '../alerts/store.ts'
import { screenOf, wordAlert } from '../alerts/text.ts'
import { byUser } from '../audit/record.ts'
import { findInboxBacklog } from '../callbacks/store.ts'
import type { Config } from '../config.ts'
import type { Db, Reads } from '../db/sql.ts'
import { listUnconfigured } from '../explain/unconfigured-store.ts'
import { userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { findJobBacklog } from '../jobs/store.ts'
import { releasePayouts, showPayoutFreeze, stopPayouts } from '../ledger/payout-freeze.ts'
import { languages } from '../lib/alert-settings.ts'
import type { Clock } from '../lib/clock.ts'
import { readCells } from '../operator/cells.ts'
import { findVerified } from '../verification.ts'
import { listUndelivered, type MerchantDeliveries } from '../webhooks/resend-store.ts'
import { AlertsView, CellsView, FreezeView, ReleaseView, SystemView } from './operator-schema.ts'

type Deps = {
  db: Db
  reads: Reads
  clock: Clock
  acquirers: Acquirers
  version: string
  config: Pick<Config, 'cells' | 'metricsToken'>
  timedJobs: () => string[]
}

const endedAlertsMax = 10
/** The same period as on the screen of a merchant's webhooks. */
export const deliveriesMs = 24 * 60 * 60_000
/** The merchants whose webhooks fail most. Few, to keep the screen short. */
const merchantsMax = 5
const reason = Type.String({ minLength: 3, maxLength: 500 })
const Reason = Type.Object({ reason })
const Release = Type.Object({
  reason,
  isChecked: Type.Optional(Type.Boolean()),
  engagedAt: Type.Optional(Type.String({ format: 'iso-date-time', description: 'Of the freeze that was shown' })),
  reasonLength: Type.Optional(Type.Integer({ minimum: 0, description: 'Of the reason that was shown' })),
})

/** The state of the service and of the other cells, alerts, and the payout freeze. */
export function registerSystemRoutes(app: Server, deps: Deps): void {
  const { db, clock } = deps
  app.get(
    '/dashboard/api/system',
    {
      config: { access: { permission: 'system.read' } },
      schema: { hide: true, querystring: NoQuery, response: { 200: SystemView, ...problems(401, 403) } },
    },
    async () => {
      const now = clock.now()
      const [jobs, inbox, undelivered, payoutFreeze, verified, unconfigured] = await Promise.all([
        findJobBacklog(db, deps.timedJobs()),
        findInboxBacklog(db, now),
        listUndelivered(db, { since: new Date(now.getTime() - deliveriesMs) }),
        showPayoutFreeze(db),
        findVerified(db),
        listUnconfigured(
          db,
          deps.acquirers.all.map(({ name }) => name),
        ),
      ])
      return {
        version: deps.version,
        node: process.version,
        startedAt: new Date(Date.now() - process.uptime() * 1000).toISOString(),
        memoryBytes: process.memoryUsage().rss,
        jobs,
        callbacks: { due: inbox.due, failing: inbox.failing, oldestDueAt: inbox.oldest?.toISOString() ?? null },
        deliveries: sumUndelivered(undelivered),
        acquirers: deps.acquirers.all.map((acquirer) => ({
          name: acquirer.name,
          isRemote: acquirer.isRemote,
          isAvailable: acquirer.isAvailable(),
          hasPayouts: acquirer.payouts !== null,
          hasDisputes: acquirer.disputes !== null,
          certificateExpiresAt: acquirer.certificate?.expiresAt()?.toISOString() ?? null,
        })),
        // Acquirers that have open records but are no longer configured: nobody can query them.
        unconfigured: unconfigured.map(({ name }) => name),
        verified,
        payoutFreeze,
      }
    },
  )

  app.get(
    '/dashboard/api/alerts',
    {
      config: { access: { permission: 'system.read' } },
      schema: {
        hide: true,
        querystring: Type.Object({ language: Type.Enum([...languages]) }, { additionalProperties: false }),
        response: { 200: AlertsView, ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      const alerts = await listAlerts(db, { endedMax: endedAlertsMax })
      return {
        data: alerts.map((alert) => ({
          id: alert.id,
          severity: conditionOf(alert.kind).severity,
          ...wordAlert(alert, request.query.language),
          screen: screenOf(alert),
          beganAt: alert.began_at.toISOString(),
          endedAt: alert.ended_at?.toISOString() ?? null,
        })),
      }
    },
  )

  app.get(
    '/dashboard/api/cells',
    {
      config: { access: { permission: 'system.read' } },
      schema: { hide: true, querystring: NoQuery, response: { 200: CellsView, ...problems(401, 403) } },
    },
    async () => ({ data: await readCells(deps.config) }),
  )

  app.post(
    '/dashboard/api/payout-freeze',
    {
      config: { access: { permission: 'payouts.release' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Reason,
        response: { 200: FreezeView, ...problems(401, 403, 422) },
      },
    },
    async (request) => await stopPayouts(deps, { reason: request.body.reason, by: byUser(userOf(request)) }),
  )

  app.post(
    '/dashboard/api/payout-freeze/release',
    {
      config: { access: { permission: 'payouts.release' } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Release,
        response: { 200: ReleaseView, ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      return { released: await releasePayouts(deps, { ...request.body, by: byUser(userOf(request)) }) }
    },
  )
}

export function sumUndelivered(merchants: MerchantDeliveries[]) {
  const sum = (name: 'waiting' | 'failing' | 'givenUp') => merchants.reduce((total, one) => total + one[name], 0)
  const oldest = merchants.flatMap(({ oldestWaitingAt }) => oldestWaitingAt?.getTime() ?? [])
  return {
    waiting: sum('waiting'),
    failing: sum('failing'),
    givenUp: sum('givenUp'),
    oldestWaitingAt: oldest.length === 0 ? null : new Date(Math.min(...oldest)).toISOString(),
    worst: merchants
      .filter(({ failing, givenUp }) => failing + givenUp > 0)
      .slice(0, merchantsMax)
      .map(({ clientId, name, failing, givenUp, givenUpState }) => ({
        ...{ clientId, name, failing, givenUp },
        state: failing > 0 || givenUpState === null ? 'pending' : givenUpState,
      })),
  }
}
