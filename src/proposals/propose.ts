import type { ProposedAction } from '../audit/actions.ts'
import { type By, isSamePerson, recordAction } from '../audit/record.ts'
import type { Tx } from '../db/sql.ts'
import { type AppError, refusal } from '../lib/errors.ts'
import { canonicalJson } from '../lib/json.ts'
import { newUuid } from '../lib/secrets.ts'
import { insertProposal, lockOpenProposal, type ProposalRow, updateProposal } from './store.ts'

export type NewProposal = {
  kind: ProposedAction
  /** Null: the operator's own merchant. */
  merchantId: string | null
  recordId: string
  /** Everything that the approval carries out. */
  content: Record<string, unknown>
  by: By
  now: Date
}

/**
 * Stores an action that needs a second person until one approves it, and records who proposed it. A person's new
 * proposal replaces their earlier one; the same one again, as by a double click, changes nothing.
 *
 * @throws {AppError} `proposal_not_possible` while somebody else's proposal about the same record is open
 */
export async function propose(tx: Tx, proposal: NewProposal): Promise<ProposalRow> {
  const { kind, merchantId, recordId, content, by, now } = proposal
  const open = await lockOpenProposal(tx, { kind, recordId })
  if (open && !isSamePerson(open.proposed_by, by.actor)) throw alreadyOpen(open)
  if (open && canonicalJson(open.content) === canonicalJson(content)) return open
  if (open) await updateProposal(tx, open.id, { state: 'replaced', by: by.actor, now })
  const row = await insertProposal(tx, {
    id: newUuid(),
    kind,
    merchant_id: merchantId,
    record_id: recordId,
    content,
    proposed_by: by.actor,
    proposed_at: now,
  })
  // Another commit was first: its proposal is visible now.
  if (!row) return await propose(tx, proposal)
  await recordAction(tx, { by, action: `${kind}.propose`, merchantId, recordId, details: content, now })
  return row
}

function alreadyOpen(open: ProposalRow): AppError {
  const whose = ` by ${open.proposed_by.replace(/^\w+:/, '')} of ${open.proposed_at.toISOString()}`
  const detail = `Another proposal${whose} about the same is waiting. Approve or reject that one first.`
  return refusal('proposal_not_possible', 'other_proposal', detail, { field: 'proposal' })
}
