import type { Clock } from '../lib/clock.ts'
import { forEachConcurrent } from '../lib/concurrent.ts'
import type { Claim } from './claim.ts'

const pauseMs = { minMs: 5_000, maxMs: 5 * 60_000 }

/**
 * When a payment, refund or payout whose outcome is unknown is checked next. The pause is a tenth of the time that it
 * has been open, within bounds: most unknown outcomes are known seconds later.
 */
export function nextCheckAt(openSince: Date, now: Date, bounds: Partial<typeof pauseMs> = {}): Date {
  const { minMs, maxMs } = { ...pauseMs, ...bounds }
  const openMs = now.getTime() - openSince.getTime()
  return new Date(now.getTime() + Math.min(maxMs, Math.max(minMs, openMs / 10)))
}

type DueChecks<Row> = {
  /** A check writes another `check_at`, or null. */
  claim: (claim: Claim) => Promise<Row[]>
  /**
   * How many rows are claimed at once: few enough to check within the lease even if every request to an acquirer takes
   * the default time-out of ten seconds. With a longer `timeoutMs` the lease may end first. That does no harm: one
   * process at a time runs the job, so rows are checked twice only after a crash.
   */
  claimedMax: number
  leaseMs: number
  /** Handles its own errors: one that it throws ends the run. */
  check: (row: Row) => Promise<void>
  /** Checks in progress at once. */
  concurrency?: number
}

/** Checks every row whose check is due. Runs until none is due. */
export async function runDueChecks<Row>(
  clock: Clock,
  stopping: AbortSignal,
  { claim, claimedMax, leaseMs, check, concurrency }: DueChecks<Row>,
): Promise<void> {
  while (!stopping.aborted) {
    const now = clock.now()
    const rows = await claim({ now, leaseUntil: new Date(now.getTime() + leaseMs), limit: claimedMax })
    await forEachConcurrent(rows, stopping, check, concurrency)
    if (rows.length < claimedMax) return
  }
}
