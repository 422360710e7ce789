import type { Server } from '../http/server.ts'
import { registerApiRequestRoutes } from './api-request-routes.ts'
import { registerAttentionRoutes } from './attention-routes.ts'
import { registerAuditRoutes } from './audit-routes.ts'
import { registerBrandingRoutes } from './branding-routes.ts'
import { registerClientRoutes } from './client-routes.ts'
import { registerClosedDayRoutes } from './closed-day-routes.ts'
import { registerDefenceRoutes } from './defence-routes.ts'
import { registerDeliveryListRoutes } from './delivery-list-routes.ts'
import { registerDisputeRoutes } from './dispute-routes.ts'
import { registerEntryRoutes } from './entry-routes.ts'
import { registerFirstStepsRoutes } from './first-steps-routes.ts'
import { registerOperatorLedgerRoutes } from './ledger-routes.ts'
import { registerLinkRoutes } from './link-routes.ts'
import { registerListRoutes } from './list-routes.ts'
import { type LiveDeps, registerLiveRoutes } from './live-routes.ts'
import { registerOverviewRoutes } from './overview-routes.ts'
import { registerPersonalDataRoutes } from './personal-data-routes.ts'
import { registerProposalRoutes } from './proposal-routes.ts'
import { registerReconciliationRoutes } from './reconciliation-routes.ts'
import { registerRecordRoutes } from './record-routes.ts'
import { registerRefundRoutes } from './refund-routes.ts'
import { registerReportRoutes } from './report-routes.ts'
import { registerReportScheduleRoutes } from './report-schedule-routes.ts'
import { registerSavedViewRoutes } from './saved-view-routes.ts'
import { registerSuspenseRoutes } from './suspense-routes.ts'
import { registerSystemRoutes } from './system-routes.ts'
import { registerWebhookScreenRoutes } from './webhook-routes.ts'
import { registerWithdrawalDecisionRoutes } from './withdrawal-routes.ts'

export type DashboardDeps = LiveDeps &
  Parameters<typeof registerClientRoutes>[1] &
  Parameters<typeof registerRecordRoutes>[1] &
  Parameters<typeof registerLinkRoutes>[1] &
  Parameters<typeof registerSystemRoutes>[1] &
  Parameters<typeof registerWithdrawalDecisionRoutes>[1] &
  Parameters<typeof registerReconciliationRoutes>[1] &
  Parameters<typeof registerSuspenseRoutes>[1] &
  Parameters<typeof registerClosedDayRoutes>[1] &
  Parameters<typeof registerReportScheduleRoutes>[1] &
  Parameters<typeof registerFirstStepsRoutes>[1] &
  Parameters<typeof registerWebhookScreenRoutes>[1]

/**
 * Request bodies of the dashboard's API may only have the fields of their schema at their top level. Its routes ship
 * with the page that calls them, so an unknown field is an attempt to change or record something else. Call it before
 * the routes are registered.
 */
export function refuseUnknownFields(app: Server): void {
  app.addHook('onRoute', (route) => {
    const body = route.schema?.body
    if (!route.url.startsWith('/dashboard/api/') || typeof body !== 'object' || body === null) return
    route.schema = { ...route.schema, body: { ...body, additionalProperties: false } }
  })
}

/**
 * Registers the API that only the dashboard uses. Its sessions may also use the merchants' API. It changes with the
 * dashboard, which the same process serves.
 */
export function registerDashboardRoutes(app: Server, deps: DashboardDeps): void {
  registerOverviewRoutes(app, deps)
  registerLiveRoutes(app, deps)
  registerAttentionRoutes(app, deps)
  registerRecordRoutes(app, deps)
  registerFirstStepsRoutes(app, deps)
  registerBrandingRoutes(app, deps)
  registerLinkRoutes(app, deps)
  registerDeliveryListRoutes(app, deps)
  registerListRoutes(app, deps)
  registerSavedViewRoutes(app, deps)
  registerClientRoutes(app, deps)
  registerWithdrawalDecisionRoutes(app, deps)
  registerProposalRoutes(app, deps)
  registerDisputeRoutes(app, deps)
  registerDefenceRoutes(app, deps)
  registerRefundRoutes(app, deps)
  registerWebhookScreenRoutes(app, deps)
  registerApiRequestRoutes(app, deps)
  registerOperatorLedgerRoutes(app, deps)
  registerEntryRoutes(app, deps)
  registerReconciliationRoutes(app, deps)
  registerClosedDayRoutes(app, deps)
  registerSuspenseRoutes(app, deps)
  registerReportRoutes(app, deps)
  registerReportScheduleRoutes(app, deps)
  registerSystemRoutes(app, deps)
  registerAuditRoutes(app, deps)
  registerPersonalDataRoutes(app, deps)
}
