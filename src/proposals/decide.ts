import type { ActionName, ProposedAction } from '../audit/actions.ts'
import { recordAction } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { findObstacle } from './second-person.ts'
import { findProposal, lockProposal, type ProposalRow, updateProposal } from './store.ts'

export type CarryOutDeps = { db: Db; clock: Clock; wakeDeliveries: () => void }

/** An action that one person proposes and another approves. */
export type ProposalKind = {
  /** The name of the action in the audit log. */
  name: ProposedAction
  /** The permission that both persons need. */
  permission: string
  /**
   * Does what was proposed. The first commit of `deps.db` carries the approval as well: it locks the proposal, checks
   * the second person, and writes the decision and its audit entry. An operation with several commits must move money
   * in the first.
   */
  carryOut(deps: CarryOutDeps, proposal: ProposalRow): Promise<unknown>
  /** Whether a commit has done it, for operations whose commits may do nothing: such a commit approves nothing. */
  isDone?(done: unknown): boolean
}

type Decision = { id: string; by: string }

/**
 * A second person approves: what was proposed is done in the same commit.
 *
 * @throws {AppError} `not_found`; `proposal_not_possible` when it is not open, or they are not a second person; and
 *   whatever carrying it out throws
 */
export async function approveProposal(
  deps: CarryOutDeps,
  kind: ProposalKind,
  { id, by }: Decision,
): Promise<ProposalRow> {
  const proposal = assertOpen(await findProposal(deps.db, id))
  assert(proposal.kind === kind.name, 'a proposal is approved under its own kind')
  let isApproved = false
  const approving: Db = {
    ...deps.db,
    async transaction(work, gate) {
      if (isApproved) return await deps.db.transaction(work, gate)
      const [done, isDone] = await deps.db.transaction(async (tx) => {
        const now = deps.clock.now()
        const locked = assertOpen(await lockProposal(tx, id))
        const obstacle = await findObstacle(
          tx,
          { requestedBy: locked.proposed_by },
          { by, now, command: `proposal approve ${id}` },
        )
        if (obstacle) throw refuse(`Approval ${obstacle.message}.`, obstacle.code)
        const done = await work(tx)
        if (kind.isDone && !kind.isDone(done)) return [done, false] as const
        await updateProposal(tx, id, { state: 'approved', by, now })
        await recordAction(tx, { ...toAction(locked, kind.name), actor: by, now })
        return [done, true] as const
      }, gate)
      isApproved = isDone
      return done
    },
  }
  await kind.carryOut({ ...deps, db: approving }, proposal)
  assert(isApproved, 'the commit that carries a proposal out approves it')
  return proposal
}

/**
 * Rejects a proposal: for anyone who could approve it, and for its proposer.
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
    await updateProposal(tx, id, { state: 'rejected', by, now })
    await recordAction(tx, { ...toAction(locked, `${kind.name}.reject`), actor: by, now })
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
    `The proposal is ${proposal.state} since ${proposal.decided_at?.toISOString()}: nothing is left to decide.`,
    'not_open',
  )
}

function refuse(detail: string, code: string): AppError {
  return new AppError('proposal_not_possible', { detail, fields: [{ field: 'approval', code, message: detail }] })
}
