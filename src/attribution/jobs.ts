import type { Logger } from 'pino'
import { byService } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { runDueChecks } from '../jobs/due-checks.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import { isDisputed } from '../suspense/dispute-store.ts'
import { claimDueSuspense, type SuspenseRow } from '../suspense/store.ts'
import { recordAttribution } from './attribute.ts'
import { findClear, rank } from './score.ts'
import { candidatesMax, leaveToOperator, listCandidates } from './store.ts'

export type AttributionDeps = {
  db: Db
  clock: Clock
  log: Logger
  /** The score from which an unattributed payment is attributed automatically; null: never. */
  attributionThreshold: number | null
  wakeDeliveries: () => void
}

/** Few, because each check searches the charges of three days. */
const claimedMax = 20
/** How long a claimed payment is not claimed again. If its check fails, it is checked again then. */
const leaseMs = 60_000

/** Checks each payment until a check succeeds: a clear case is attributed, any other is left to the operator. */
export function attributionJobs(deps: AttributionDeps): Record<string, Job> {
  return {
    'suspense.attribute': async (_, stopping) => {
      const { db, clock, attributionThreshold: threshold } = deps
      if (threshold === null) return
      await runDueChecks(clock, stopping, {
        claim: async (claim) => await claimDueSuspense(db, 'held', claim),
        claimedMax,
        leaseMs,
        check: async (payment) => await attributeIfClear(deps, payment, threshold),
        concurrency: 1,
      })
    },
  }
}

export const attributionSchedules: Record<string, JobSchedule> = { 'suspense.attribute': { everySeconds: 30 } }

async function attributeIfClear(deps: AttributionDeps, payment: SuspenseRow, threshold: number): Promise<void> {
  try {
    // Once a part of a payment was returned, what is left can only be sent back.
    if (payment.taken_amount > 0) return await leaveToOperator(deps.db, payment)
    const candidates = await listCandidates(deps.db, payment, null)
    // A full list may lack a charge that fits as well.
    const clear = candidates.length < candidatesMax ? findClear(rank(payment, candidates), threshold) : null
    // A disputed payment waits for a person: nobody's balance should grow by money that may be returned.
    if (clear && !(await isDisputed(deps.db, payment)))
      await recordAttribution(deps, { id: payment.id, transactionId: clear.id, by: byService, score: clear.score })
    else await leaveToOperator(deps.db, payment)
  } catch (error) {
    deps.log.error(
      { err: error, suspenseId: payment.id },
      'an unattributed payment could not be checked or attributed, and will be checked again',
    )
  }
}
