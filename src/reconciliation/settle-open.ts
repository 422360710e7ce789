import { AcquirerUnavailable } from '../acquirers/acquirer.ts'
import { recordedDb } from '../audit/record.ts'
import { eachAtOnce } from '../lib/at-once.ts'
import { AppError } from '../lib/errors.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { confirmDifference } from './decide.ts'
import { type DifferenceRow, listSettleable } from './store.ts'

/** Each costs a question to the acquirer or two. What one run leaves the next one does. */
const settledMax = 500

/**
 * Carries out the open proposals that only ask the acquirer and book what it confirms, for nobody needs to decide about these: until they are
 * booked, money that went back is available to withdraw, and money that came in is not. A correction stays with a person. One that the
 * acquirer does not confirm stays open, and is tried again by the next run.
 */
export async function settleOpen(
  deps: SettleDeps,
  { acquirer, stopping }: { acquirer: string; stopping: AbortSignal },
): Promise<void> {
  const open = await listSettleable(deps.db, { acquirer, limit: settledMax })
  await eachAtOnce(open, stopping, async (difference) => await settleOne(deps, difference))
}

async function settleOne(deps: SettleDeps, difference: DifferenceRow): Promise<void> {
  const { id, acquirer, reference, proposal, merchant_id: merchantId } = difference
  const about = { acquirer, differenceId: id, reference }
  const details = { class: difference.class, reference, proposal: proposal.action }
  const action = { actor: 'service', action: 'reconcile.confirm', merchantId, recordId: id, details } as const
  try {
    const records = recordedDb(deps.db, { ...action, now: deps.clock.now() })
    await confirmDifference(deps, { id, by: action.actor, records })
    deps.log.info({ ...about, proposal: proposal.action }, 'a difference was settled: the acquirer confirmed it')
  } catch (error) {
    const isExpected = error instanceof AcquirerUnavailable || error instanceof AppError
    if (isExpected) deps.log.warn({ ...about, reason: error.message }, 'a difference could not be settled yet')
    else deps.log.error({ ...about, err: error }, 'a difference could not be settled and will be tried again')
  }
}
