import type { Server } from '../http/server.ts'
import { registerClientRoutes } from './client-routes.ts'
import { registerInfractionRoutes } from './infraction-routes.ts'
import { registerOverviewRoutes } from './overview-routes.ts'
import { registerRecordRoutes } from './record-routes.ts'
import { registerSystemRoutes } from './system-routes.ts'
import { registerWithdrawalDecisionRoutes } from './withdrawal-routes.ts'

export type DashboardDeps = Parameters<typeof registerClientRoutes>[1] &
  Parameters<typeof registerSystemRoutes>[1] &
  Parameters<typeof registerWithdrawalDecisionRoutes>[1]

/**
 * What the dashboard asks for besides the shops' API, which its sessions may use as well. Not part of that API: it changes with the
 * dashboard, which is served by the same process.
 */
export function registerDashboardRoutes(app: Server, deps: DashboardDeps): void {
  registerOverviewRoutes(app, deps)
  registerRecordRoutes(app, deps)
  registerClientRoutes(app, deps)
  registerWithdrawalDecisionRoutes(app, deps)
  registerInfractionRoutes(app, deps)
  registerSystemRoutes(app, deps)
}
