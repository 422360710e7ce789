import type { Logger } from 'pino'
import { byService, recordAction } from '../../audit/record.ts'
import type { Db } from '../../db/sql.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Answer } from '../attempt.ts'
import { detailsOf, enqueueEndpointChange } from './change.ts'
import { type EndpointState, lockEndpoint, updateEndpoint, updateFailingSince } from './store.ts'

/** Longer than a long weekend, and than the schedule of one event's attempts (without Retry-After). */
export const failingMaxMs = 5 * 24 * 60 * 60_000

type Deps = { db: Db; clock: Clock; log: Pick<Logger, 'warn' | 'error'> }
type Attempt = { merchantId: string; endpoint: EndpointState; answer: Answer; startedAt: Date }

/**
 * Notes when an endpoint begins to fail and when it succeeds again, and disables one that answered 410 or has failed
 * for too long. Runs no statement while the endpoint keeps succeeding, or keeps failing for less than the limit. Never
 * rejects: an error is logged, and the next attempt at a delivery updates the state again. Not called for attempts that
 * the service itself stopped (`stopped`).
 */
export async function updateEndpointHealth(deps: Deps, attempt: Attempt): Promise<void> {
  const { merchantId, endpoint, answer, startedAt } = attempt
  const { id: endpointId, url, failingSince } = endpoint
  const key = { merchantId, endpointId, url }
  try {
    if (answer.outcome === 'success') {
      if (failingSince !== null) await updateFailingSince(deps.db, { ...key, since: null })
    } else if (answer.outcome === 'gone') await disable(deps, { ...key, reason: 'gone' })
    else if (failingSince === null) await updateFailingSince(deps.db, { ...key, since: startedAt })
    else if (startedAt.getTime() - failingSince.getTime() >= failingMaxMs)
      await disable(deps, { ...key, reason: 'failing' })
  } catch (error) {
    deps.log.error({ merchantId, endpointId, err: error }, 'The state of a webhook endpoint could not be updated')
  }
}

async function disable(
  { db, clock, log }: Deps,
  {
    merchantId,
    endpointId,
    url,
    reason,
  }: { merchantId: string; endpointId: string; url: string; reason: 'failing' | 'gone' },
): Promise<void> {
  const isDisabled = await db.transaction(async (tx) => {
    const row = await lockEndpoint(tx, { merchantId, endpointId })
    // A response from a previous URL says nothing about the current one.
    if (!row || row.disabled_at !== null || row.url !== url) return false
    const now = clock.now()
    // Since this attempt began, another may have succeeded, or somebody re-enabled the endpoint: both clear
    // failing_since.
    const failingMs = row.failing_since ? now.getTime() - row.failing_since.getTime() : 0
    if (reason === 'failing' && failingMs < failingMaxMs) return false
    const changed = { ...row, disabled_at: now, disabled_reason: reason, updated_at: now }
    await updateEndpoint(tx, changed)
    const about = { action: 'webhook-endpoint.disable', merchantId, recordId: endpointId } as const
    await recordAction(tx, { ...about, details: { ...detailsOf(row), reason }, by: byService, now })
    await enqueueEndpointChange(tx, changed)
    return true
  })
  if (isDisabled) log.warn({ merchantId, endpointId, reason }, 'A webhook endpoint was disabled')
}
