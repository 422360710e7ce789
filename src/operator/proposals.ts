import { type By, isSamePerson } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { proposalKinds } from '../proposal-kinds.ts'
import { approveProposal, type ProposalKind, rejectProposal } from '../proposals/decide.ts'
import { findObstacle, type Obstacle } from '../proposals/second-person.ts'
import { findProposal, type ListedProposal, listOpenProposals, type ProposalRow } from '../proposals/store.ts'

/** The most proposals that are listed. They wait for days, not weeks, and nobody reads through more. */
const shownMax = 100

export type ProposalView = ReturnType<typeof toView> & {
  isOwn: boolean
  /** Why `actor` cannot approve the proposal; null if they can. */
  obstacle: Obstacle['code'] | null
}

/** Open proposals, as the person `actor` sees them. */
export async function listProposals(
  { db, clock }: { db: Db; clock: Clock },
  actor: string,
  filter: { kinds?: string[]; merchantId?: string; recordId?: string } = {},
): Promise<ProposalView[]> {
  const kinds = filter.kinds ?? proposalKinds.map(({ name }) => name)
  const rows = await listOpenProposals(db, { ...filter, kinds, limit: shownMax })
  return await Promise.all(
    rows.map(async (row) => {
      const second = { by: actor, now: clock.now(), command: `proposal approve ${row.id}` }
      const obstacle = await findObstacle(db, { requestedBy: row.proposed_by }, second)
      return { ...toView(row), isOwn: isSamePerson(row.proposed_by, actor), obstacle: obstacle?.code ?? null }
    }),
  )
}

/**
 * Approves or rejects a proposal. Only a second person may approve it, and the approval carries it out; everyone who
 * may decide on its kind may reject it. Throws `not_found`, and what `approveProposal` and `rejectProposal` throw.
 *
 * @param assertMay throws when this person may not decide on proposals of this kind
 */
export async function decideProposal(
  deps: { db: Db; clock: Clock; wakeDeliveries: () => void },
  { id, decision, by }: { id: string; decision: 'approve' | 'reject'; by: By },
  assertMay: (kind: ProposalKind) => void = () => {},
): Promise<{ id: string; state: 'approved' | 'rejected' }> {
  const { proposal, kind } = await findWithKind(deps.db, id)
  assertMay(kind)
  const decide = decision === 'approve' ? approveProposal : rejectProposal
  await decide(deps, kind, { id: proposal.id, by })
  return { id: proposal.id, state: decision === 'approve' ? 'approved' : 'rejected' }
}

async function findWithKind(db: Db, id: string): Promise<{ proposal: ProposalRow; kind: ProposalKind }> {
  const proposal = await findProposal(db, id)
  const kind = proposalKinds.find(({ name }) => name === proposal?.kind)
  if (proposal && kind) return { proposal, kind }
  throw new AppError('not_found', {
    detail: `There is no proposal ${id}. \`npx guiche proposal list\` lists the open ones.`,
  })
}

function toView(row: ListedProposal) {
  return {
    id: row.id,
    kind: row.kind,
    clientId: row.client_id,
    clientName: row.client_name,
    recordId: row.record_id,
    content: row.content,
    proposedBy: row.proposed_by,
    proposedAt: row.proposed_at.toISOString(),
  }
}
