import { byService } from '../audit/record.ts'
import { forEachConcurrent } from '../lib/concurrent.ts'
import { AppError } from '../lib/errors.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { confirmDiscrepancy } from './decide.ts'
import { type DiscrepancyRow, listSettleable } from './store.ts'

/** Each takes a few requests to the acquirer. The next run continues with the rest. */
const settledMax = 500

/**
 * Carries out the open proposals that post only what the acquirer confirms, since these need no decision: until they
 * are posted, money that went back can still be withdrawn, and money that arrived cannot. A person decides on
 * corrections. What the acquirer does not confirm stays open, and the next run tries it again.
 */
export async function settleOpen(
  deps: SettleDeps,
  { acquirer, stopping }: { acquirer: string; stopping: AbortSignal },
): Promise<void> {
  const open = await listSettleable(deps.db, { acquirer, limit: settledMax })
  await forEachConcurrent(open, stopping, async (difference) => await settleOne(deps, difference))
}

async function settleOne(deps: SettleDeps, difference: DiscrepancyRow): Promise<void> {
  const { id, acquirer, reference, proposal } = difference
  const about = { acquirer, differenceId: id, reference }
  try {
    await confirmDiscrepancy(deps, { id, by: byService })
    deps.log.info({ ...about, proposal: proposal.action }, 'a discrepancy was settled: the acquirer confirmed it')
  } catch (error) {
    // Somebody else has decided it, or a run has resolved it, since it was read.
    if (isDecided(error)) return
    if (error instanceof AppError)
      deps.log.warn({ ...about, reason: error.message }, 'a discrepancy could not be settled yet')
    else deps.log.error({ ...about, err: error }, 'a discrepancy could not be settled and will be tried again')
  }
}

function isDecided(error: unknown): boolean {
  return error instanceof AppError && (error.details.fields ?? []).some(({ code }) => code === 'not_open')
}
