import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import {
  analysisEndsAt,
  type Decision,
  type Opening,
  recordDecision,
  recordDispute,
} from '../transactions/dispute/dispute.ts'
import { type DisputeOfClient, findDispute } from '../transactions/dispute/store.ts'

type Deps = { db: Db; clock: Clock; wakeDeliveries: () => void }

/** Under the Central Bank's MED the banks have 96 hours after the analysis to return the money. */
const returnMs = 96 * 60 * 60_000

/** Enters a dispute that the operator learned of. The errors are those of `recordDispute`. */
export async function enterDispute(deps: Deps, opening: Opening): Promise<DisputeView> {
  return await show(deps.db, await recordDispute(deps, opening))
}

/** Accepts or rejects a dispute. The errors are those of `recordDecision`. */
export async function decideDispute(deps: Deps, decision: Decision): Promise<DisputeView> {
  return await show(deps.db, await recordDecision(deps, decision))
}

async function show(db: Db, { id }: { id: string }): Promise<DisputeView> {
  const row = await findDispute(db, id)
  assert(row, 'a dispute that was changed exists')
  return toDisputeView(row)
}

export type DisputeView = ReturnType<typeof toDisputeView>

export function toDisputeView(row: DisputeOfClient) {
  const analysisEnds = analysisEndsAt(row)
  return {
    id: row.id,
    transactionId: row.transaction_id,
    clientId: row.client_id,
    clientName: row.client_name,
    amount: row.amount,
    /** Cents that are blocked for the dispute. */
    blocked: row.blocked_amount,
    /** Cents that were returned under the dispute. */
    returned: row.returned_amount,
    /** The acquirer's own status if Guichê does not know it: a person has to check. */
    unknownStatus: row.acquirer_state === 'unknown' ? (row.acquirer_status ?? '') : null,
    reason: row.reason,
    state: row.state,
    /** True if the acquirer reported it; otherwise an operator entered it manually. */
    isReportedByAcquirer: row.source !== 'operator' || row.acquirer_reference !== null,
    openedAt: row.opened_at.toISOString(),
    analysisEndsAt: analysisEnds.toISOString(),
    endsAt: new Date(analysisEnds.getTime() + returnMs).toISOString(),
    decidedAt: row.decided_at?.toISOString() ?? null,
    finishedAt: row.finished_at?.toISOString() ?? null,
  }
}
