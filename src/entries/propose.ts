import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { newUuid } from '../lib/secrets.ts'
import type { ProposalKind } from '../proposals/decide.ts'
import { propose } from '../proposals/propose.ts'
import type { ProposalRow } from '../proposals/store.ts'
import { bookEntry, refuse } from './book.ts'

/** The others are held against records: an entry by hand would not agree with them. */
export const manualAccounts = ['available', 'fees', 'debt', 'acquirer'] as const

export type ManualAccount = (typeof manualAccounts)[number]

type ManualEntry = {
  acquirer: string
  amount: number
  debit: ManualAccount
  credit: ManualAccount
  description: string
}

/** A transfer between two accounts that no event explains: one person proposes it, another approves it. */
export const manualEntryProposal: ProposalKind = {
  name: 'entry.manual',
  permission: 'reconciliation.decide',
  carryOut: async (deps, { id: proposalId, merchant_id: merchantId, content, proposed_by: by }) => {
    const { acquirer, amount, debit, credit, description } = content as ManualEntry
    const manual = { debit, credit, proposalId }
    const about = { merchantId, acquirer, amount, description, by }
    return await bookEntry(deps, { type: 'manual_entry', idempotencyKey: `proposal:${proposalId}`, ...about, manual })
  },
}

/** @throws {AppError} `entry_not_possible` */
export async function proposeEntry(
  { db, clock }: { db: Db; clock: Clock },
  { merchantId, by, ...content }: ManualEntry & { merchantId: string | null; by: string },
): Promise<ProposalRow> {
  if (content.debit === content.credit)
    throw refuse('An entry has two accounts: one that gives and another one that gets.')
  return await db.transaction(
    async (tx) =>
      await propose(tx, {
        kind: manualEntryProposal.name,
        merchantId,
        recordId: newUuid(),
        content,
        by,
        now: clock.now(),
      }),
  )
}
