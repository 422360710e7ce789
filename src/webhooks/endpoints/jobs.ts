import type { Db } from '../../db/sql.ts'
import type { Job } from '../../jobs/jobs.ts'
import type { Clock } from '../../lib/clock.ts'
import { updateToFollow } from './store.ts'

export const followJob = 'webhook-endpoint.follow'

/**
 * After a change of an endpoint its deliveries are due at once, a thousand per commit; the worker then cancels them or
 * sends them to the new address. A delivery that this misses follows when it is due.
 */
export function endpointJobs(deps: { db: Db; clock: Clock; wakeDeliveries: () => void }): Record<string, Job> {
  const { db, clock, wakeDeliveries } = deps
  return {
    [followJob]: async (payload, stopping) => {
      const { merchantId, endpointId } = payload as { merchantId: string; endpointId: string }
      const now = clock.now()
      while (!stopping.aborted && (await updateToFollow(db, { merchantId, endpointId, now })) > 0) wakeDeliveries()
      stopping.throwIfAborted()
    },
  }
}
