import type { ProposedAction } from '../audit/actions.ts'
import { type By, isSamePerson, recordAction } from '../audit/record.ts'
import type { Tx } from '../db/sql.ts'
import { idempotencyKeyReused } from '../http/idempotency-key.ts'
import { type AppError, refusal } from '../lib/errors.ts'
import { canonicalJson, differingPaths } from '../lib/json.ts'
import { newUuid } from '../lib/secrets.ts'
import { findProposalAbout, insertProposal, lockOpenProposal, type ProposalRow, updateProposal } from './store.ts'

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

export type ProposedOnce = { proposal: ProposalRow; isReplay: boolean }

/**
 * Stores an action that needs a second person's approval, and records who proposed it. A person's new proposal replaces
 * their earlier one of the same kind about the same record. Proposing the same content again, as by a double click,
 * changes nothing.
 *
 * @throws {AppError} `proposal_not_possible` while somebody else's proposal of this kind about the record is open
 */
export async function propose(tx: Tx, proposal: NewProposal): Promise<ProposalRow> {
  const { kind, recordId, content, by, now } = proposal
  const open = await lockOpenProposal(tx, { kind, recordId })
  if (open && !isSamePerson(open.proposed_by, by.actor)) throw alreadyOpen(open)
  if (open && canonicalJson(open.content) === canonicalJson(content)) return open
  if (open) await updateProposal(tx, open.id, { state: 'replaced', by: by.actor, now })
  // Null: another transaction committed its proposal first. The second try sees that proposal.
  return (await insert(tx, proposal)) ?? (await propose(tx, proposal))
}

/**
 * Like {@link propose}, but once for each record, whose id stands for an idempotency key: the same proposal again
 * changes nothing, even after it was decided.
 *
 * @throws {AppError} `idempotency_key_reused` if the first proposal about the record had different content
 */
export async function proposeOnce(tx: Tx, proposal: NewProposal): Promise<ProposedOnce> {
  const { merchantId, content } = proposal
  const first = await findProposalAbout(tx, proposal)
  if (!first) {
    const row = await insert(tx, proposal)
    return row ? { proposal: row, isReplay: false } : await proposeOnce(tx, proposal)
  }
  const fields = differingPaths({ ...first.content, merchantId: first.merchant_id }, { ...content, merchantId })
  if (fields.length > 0) throw idempotencyKeyReused(fields, 'entry')
  return { proposal: first, isReplay: true }
}

/** Null when another proposal of this kind is open for the record. */
async function insert(tx: Tx, proposal: NewProposal): Promise<ProposalRow | null> {
  const { kind, merchantId, recordId, content, by, now } = proposal
  const row = await insertProposal(tx, {
    id: newUuid(),
    kind,
    merchant_id: merchantId,
    record_id: recordId,
    content,
    proposed_by: by.actor,
    proposed_at: now,
  })
  if (row) await recordAction(tx, { by, action: `${kind}.propose`, merchantId, recordId, details: content, now })
  return row
}

function alreadyOpen(open: ProposalRow): AppError {
  const made = `made by ${open.proposed_by.replace(/^\w+:/, '')} at ${open.proposed_at.toISOString()}`
  const detail = `Another proposal about the same record, ${made}, is waiting. Approve or reject it first.`
  return refusal('proposal_not_possible', 'other_proposal', detail, { field: 'proposal' })
}
