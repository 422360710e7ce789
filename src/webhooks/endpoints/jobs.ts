import type { Db } from '../../db/sql.ts'
import type { Job } from '../../jobs/jobs.ts'
import type { Clock } from '../../lib/clock.ts'
import { makeDeliveriesDue } from './store.ts'

export const applyEndpointChangeJob = 'webhook-endpoint.follow'

/**
 * Applies a changed endpoint to the deliveries that wait for their next attempt: makes them due now, a thousand per
 * commit. The worker that claims them cancels them if the endpoint is disabled or deleted, or sends them to its new
 * URL. Deliveries that are leased or locked are skipped: the worker applies the change to those when they are due.
 */
export function endpointJobs(deps: { db: Db; clock: Clock; wakeDeliveries: () => void }): Record<string, Job> {
  const { db, clock, wakeDeliveries } = deps
  return {
    [applyEndpointChangeJob]: async (payload, stopping) => {
      const { merchantId, endpointId } = payload as { merchantId: string; endpointId: string }
      const now = clock.now()
      while (!stopping.aborted && (await makeDeliveriesDue(db, { merchantId, endpointId, now })) > 0) wakeDeliveries()
      stopping.throwIfAborted()
    },
  }
}
