import type { ActionName, ProposedAction } from '../audit/actions.ts'
import { type By, recordAction } from '../audit/record.ts'
import type { AdvisoryLock, Db, Tx } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type FieldErrorCode, refusal } from '../lib/errors.ts'
import { findObstacle } from './second-person.ts'
import { lockProposal, type ProposalRow, updateProposal } from './store.ts'

/** An action that one person proposes and another approves. */
export type ProposalKind = {
  /** The name of the action in the audit log. */
  name: ProposedAction
  /** The permission that both persons need. */
  permission: string
  /** The advisory lock under which it is carried out. */
  lock?: AdvisoryLock
  /** Does what was proposed, in the commit of the approval: throws if it is not possible. */
  carryOut(tx: Tx, proposal: ProposalRow, now: Date): Promise<unknown>
}

type Decision = { id: string; by: By }

/**
 * A second person approves: what was proposed is done in the same commit.
 *
 * @throws {AppError} `not_found`; `proposal_not_possible` when it is not open, or they are not a second person; and
 *   whatever carrying it out throws
 */
export async function approveProposal(
  { db, clock, wakeDeliveries }: { db: Db; clock: Clock; wakeDeliveries: () => void },
  kind: ProposalKind,
  { id, by }: Decision,
): Promise<ProposalRow> {
  const approved = await db.transaction(async (tx) => {
    const now = clock.now()
    const locked = assertOpen(await lockProposal(tx, id))
    assert(locked.kind === kind.name, 'a proposal is approved under its own kind')
    const second = { by: by.actor, now, command: `proposal approve ${id}` }
    const obstacle = await findObstacle(tx, { requestedBy: locked.proposed_by }, second)
    if (obstacle) throw refuse(obstacle.code, `Approval ${obstacle.message}.`)
    await kind.carryOut(tx, locked, now)
    await updateProposal(tx, id, { state: 'approved', by: by.actor, now })
    await recordAction(tx, { ...toAction(locked, kind.name), by, now })
    return locked
  }, kind.lock)
  wakeDeliveries()
  return approved
}

/**
 * Rejects a proposal: for everyone with the permission of its kind, even if they could not approve it.
 *
 * @throws {AppError} `not_found`, `proposal_not_possible`
 */
export async function rejectProposal(
  { db, clock }: { db: Db; clock: Clock },
  kind: ProposalKind,
  { id, by }: Decision,
): Promise<ProposalRow> {
  return await db.transaction(async (tx) => {
    const now = clock.now()
    const locked = assertOpen(await lockProposal(tx, id))
    await updateProposal(tx, id, { state: 'rejected', by: by.actor, now })
    await recordAction(tx, { ...toAction(locked, `${kind.name}.reject`), by, now })
    return locked
  })
}

/** The audit entry of a decision: everything that was proposed, and by whom. */
function toAction(
  { id, merchant_id: merchantId, record_id: recordId, content, proposed_by: proposedBy }: ProposalRow,
  action: ActionName,
) {
  return { action, merchantId, recordId, details: { ...content, proposalId: id, proposedBy } }
}

function assertOpen(proposal: ProposalRow | null): ProposalRow {
  if (!proposal) throw new AppError('not_found', { detail: 'There is no proposal with this id.' })
  if (proposal.state === 'open') return proposal
  throw refuse(
    'not_open',
    `The proposal is ${proposal.state} since ${proposal.decided_at?.toISOString()}: nothing is left to decide.`,
  )
}

function refuse(code: FieldErrorCode, detail: string): AppError {
  return refusal('proposal_not_possible', code, detail, { field: 'approval' })
}
