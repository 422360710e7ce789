import type { Logger } from 'pino'
import { recordedDb } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import type { Clock } from '../lib/clock.ts'
import { isDisputed } from '../suspense/dispute-store.ts'
import { claimDueSuspense, type SuspenseRow } from '../suspense/store.ts'
import { createSettlement } from '../transactions/settle.ts'
import { hasMatched, matchPayment } from './match.ts'
import { findClear, rank } from './score.ts'
import { leaveToOperator, listCandidates } from './store.ts'

export type OrphanDeps = {
  db: Db
  clock: Clock
  log: Logger
  /** The score from which an orphan is matched by itself; null: never. */
  orphanMatchThreshold: number | null
  wakeDeliveries: () => void
}

/** Each is a search through the charges of three days. */
const claimedMax = 20
/** Nobody else takes an orphan that is being looked at; one whose look failed is looked at again. */
const leaseMs = 60_000

/** Looks once at each orphan: one that is clear is matched, any other is left to the operator. */
export function matchJobs(deps: OrphanDeps): Record<string, Job> {
  return {
    'orphans.match': async (_, stopping) => {
      const { db, clock, orphanMatchThreshold: threshold } = deps
      if (threshold === null) return
      while (!stopping.aborted) {
        const now = clock.now()
        const leaseUntil = new Date(now.getTime() + leaseMs)
        const orphans = await claimDueSuspense(db, 'held', { now, leaseUntil, limit: claimedMax })
        for (const orphan of orphans) {
          if (stopping.aborted) return
          await matchIfClear(deps, orphan, threshold)
        }
        if (orphans.length < claimedMax) return
      }
    },
  }
}

export const matchSchedules: Record<string, JobSchedule> = { 'orphans.match': { everySeconds: 30 } }

async function matchIfClear(deps: OrphanDeps, orphan: SuspenseRow, threshold: number): Promise<void> {
  try {
    const clear = findClear(rank(orphan, await listCandidates(deps.db, orphan, null)), threshold)
    // A disputed one waits for a person: nobody's balance is to grow by what may go back.
    if (clear && !(await isDisputed(deps.db, orphan))) await match(deps, orphan, clear)
    else await leaveToOperator(deps.db, orphan)
  } catch (error) {
    deps.log.error({ err: error, suspenseId: orphan.id }, 'an orphan could not be matched and will be looked at again')
  }
}

async function match(
  { db, clock, wakeDeliveries }: OrphanDeps,
  orphan: SuspenseRow,
  { merchant_id: merchantId, id: transactionId, score }: { merchant_id: string; id: string; score: number },
): Promise<void> {
  const details = { transactionId, score }
  const action = {
    actor: 'service',
    action: 'orphan.match' as const,
    merchantId,
    recordId: orphan.id,
    details,
    now: clock.now(),
  }
  const recorded = recordedDb(db, (done) => (hasMatched(done) ? action : null))
  const settlement = createSettlement({ db: recorded, clock })
  await matchPayment({ db: recorded, settlement, wakeDeliveries }, { id: orphan.id, transactionId })
}
