import { createHash } from 'node:crypto'
import type { ProposedAction } from '../audit/actions.ts'
import type { By } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { newUuid } from '../lib/secrets.ts'
import type { ProposalKind } from '../proposals/decide.ts'
import { type ProposedOnce, propose, proposeOnce } from '../proposals/propose.ts'
import type { ProposalRow } from '../proposals/store.ts'
import { post, refuse } from './post.ts'

/** The other accounts are verified against records, which a manual entry would contradict. */
export const manualAccounts = ['available', 'fees', 'debt', 'acquirer'] as const

export type ManualAccount = (typeof manualAccounts)[number]

type Amount = { acquirer: string; amount: number; description: string }
type ManualEntry = Amount & { debit: ManualAccount; credit: ManualAccount }
type CreditContent = Amount & { reference: string | null }

/** Both give a merchant money without a payment: a pay-in adds to its balance, a write-off reduces its debt. */
export const creditTypes = ['pay_in', 'write_off'] as const

type CreditType = (typeof creditTypes)[number]

/** Needed to propose and to approve. */
const permission = 'reconciliation.decide'

/** A transfer between two accounts that no event explains: one person proposes it, another approves it. */
export const manualEntryProposal: ProposalKind = {
  name: 'entry.manual',
  permission,
  carryOut: async (tx, proposal, now) => {
    const { debit, credit, ...rest } = proposal.content as ManualEntry
    return await post(tx, { ...toEntry(proposal, rest), type: 'manual_entry', manual: { debit, credit } }, now)
  },
}

/** Entries for a merchant above a threshold, requested in the dashboard. */
export const creditProposals: readonly ProposalKind[] = creditTypes.map((type) => ({
  name: `entry.${type}`,
  permission,
  carryOut: async (tx, proposal, now) =>
    await post(tx, { ...toEntry(proposal, proposal.content as CreditContent), type }, now),
}))

type MoveContent = Amount & { otherCell: string; otherClientId: string }

/** The two halves of a move between cells. The id of the move is the record id of both proposals. */
export const cellMoveProposals: readonly ProposalKind[] = (['move_out', 'move_in'] as const).map((type) => ({
  name: `entry.${type}`,
  permission,
  carryOut: async (tx, proposal, now) => {
    const { otherCell: _, otherClientId: _client, ...content } = proposal.content as MoveContent
    const id = proposal.record_id
    return await post(tx, { ...toEntry(proposal, content), id, idempotencyKey: `move:${id}`, type }, now)
  },
}))

/** Proposes one half of a move. The other half is proposed in the other cell (operator/moves.ts). */
export async function proposeMove(
  deps: { db: Db; clock: Clock },
  { type, merchantId, by, recordId, ...content }: MoveContent & Required<Proposed> & { type: 'move_out' | 'move_in' },
): Promise<ProposalRow> {
  return await createProposal(deps, `entry.${type}`, content, { merchantId, by, recordId })
}

/**
 * Keyed by the record and not by the proposal: a form that was sent twice is posted once, whichever of its proposals
 * is approved.
 */
export function keyOfProposed(recordId: string): string {
  return `proposal:${recordId}`
}

function toEntry(
  { id, record_id: recordId, merchant_id: merchantId, proposed_by: actor }: ProposalRow,
  content: Amount,
) {
  return { ...content, idempotencyKey: keyOfProposed(recordId), merchantId, by: { actor }, proposalId: id }
}

type Proposed = { merchantId: string | null; by: By; recordId?: string }

/** @throws {AppError} `entry_not_possible` */
export async function proposeEntry(
  deps: { db: Db; clock: Clock },
  { merchantId, by, recordId, ...content }: ManualEntry & Proposed,
): Promise<ProposalRow> {
  assertTwoAccounts(content)
  return await createProposal(deps, manualEntryProposal.name, content, { merchantId, by, recordId })
}

/**
 * Like {@link proposeEntry}, but once for each key: the key again returns the first proposal, even if it was decided.
 *
 * @throws {AppError} `entry_not_possible`; `idempotency_key_reused` if the content differs
 */
export async function proposeEntryOnce(
  { db, clock }: { db: Db; clock: Clock },
  { merchantId, by, key, ...content }: ManualEntry & { merchantId: string | null; by: By; key: string },
): Promise<ProposedOnce> {
  assertTwoAccounts(content)
  const recordId = newUuid(createHash('sha256').update(`manual entry ${key}`).digest())
  const proposal = { kind: manualEntryProposal.name, merchantId, recordId, content, by }
  return await db.transaction(async (tx) => await proposeOnce(tx, { ...proposal, now: clock.now() }))
}

export async function proposeCredit(
  deps: { db: Db; clock: Clock },
  { type, merchantId, by, recordId, ...content }: CreditContent & Proposed & { type: CreditType },
): Promise<ProposalRow> {
  return await createProposal(deps, `entry.${type}`, content, { merchantId, by, recordId })
}

/** @throws {AppError} `entry_not_possible` */
export function assertTwoAccounts({ debit, credit }: Pick<ManualEntry, 'debit' | 'credit'>): void {
  if (debit !== credit) return
  throw refuse('An entry needs two different accounts: one to debit and one to credit.', {
    field: 'credit',
    code: 'same_account',
  })
}

async function createProposal(
  { db, clock }: { db: Db; clock: Clock },
  kind: ProposedAction,
  content: Amount,
  { merchantId, by, recordId = newUuid() }: Proposed,
): Promise<ProposalRow> {
  return await db.transaction(
    async (tx) => await propose(tx, { kind, merchantId, recordId, content, by, now: clock.now() }),
  )
}
