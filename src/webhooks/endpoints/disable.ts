import type { Logger } from 'pino'
import { byService, recordAction } from '../../audit/record.ts'
import type { Db } from '../../db/sql.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Answer } from '../attempt.ts'
import { detailsOf, enqueueFollow } from './change.ts'
import { type EndpointState, lockEndpoint, updateEndpoint, updateFailingSince } from './store.ts'

/** Longer than a weekend with a holiday, and longer than the attempts for one event. */
export const failingMaxMs = 5 * 24 * 60 * 60_000

type Deps = { db: Db; clock: Clock; log: Pick<Logger, 'warn' | 'error'> }
type Judged = { merchantId: string; endpoint: EndpointState; answer: Answer; startedAt: Date }

/**
 * Notes when an endpoint begins to fail and when it succeeds again, and disables one that answered 410 or has failed
 * for too long. Costs no statement while neither changes. Never rejects: the next attempt judges again.
 */
export async function judgeEndpoint(deps: Deps, judged: Judged): Promise<void> {
  const { merchantId, endpoint, answer, startedAt } = judged
  const { id: endpointId, url, failingSince } = endpoint
  const of = { merchantId, endpointId, url }
  try {
    if (answer.outcome === 'success') {
      if (failingSince !== null) await updateFailingSince(deps.db, { ...of, since: null })
    } else if (answer.outcome === 'gone') await disable(deps, { ...of, reason: 'gone' })
    else if (failingSince === null) await updateFailingSince(deps.db, { ...of, since: startedAt })
    else if (startedAt.getTime() - failingSince.getTime() >= failingMaxMs)
      await disable(deps, { ...of, reason: 'failing' })
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
    // The answer of a former address says nothing about the new one.
    if (!row || row.disabled_at !== null || row.url !== url) return false
    const now = clock.now()
    // Another attempt may have succeeded, or a person has changed the endpoint.
    const failingMs = row.failing_since ? now.getTime() - row.failing_since.getTime() : 0
    if (reason === 'failing' && failingMs < failingMaxMs) return false
    const changed = { ...row, disabled_at: now, disabled_reason: reason, updated_at: now }
    await updateEndpoint(tx, changed)
    const about = { action: 'webhook-endpoint.disable', merchantId, recordId: endpointId } as const
    await recordAction(tx, { ...about, details: { ...detailsOf(row), reason }, by: byService, now })
    await enqueueFollow(tx, changed)
    return true
  })
  if (isDisabled) log.warn({ merchantId, endpointId, reason }, 'A webhook endpoint was disabled')
}
