import type { ListedEntry } from '../entries/store.ts'

export type EntryView = ReturnType<typeof toEntryView>

/** An entry of the operator's own money. */
export function toEntryView(row: ListedEntry) {
  return {
    id: row.id,
    type: row.type,
    clientId: row.client_id,
    clientName: row.client_name,
    acquirer: row.acquirer,
    amount: row.amount,
    debit: row.debit,
    credit: row.credit,
    reference: row.reference,
    description: row.description,
    createdBy: row.created_by,
    // Posted from a proposal, which a second person has approved. Other entries needed no approval.
    isApproved: row.proposal_id !== null,
    createdAt: row.created_at.toISOString(),
  }
}
