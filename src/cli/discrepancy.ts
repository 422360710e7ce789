import { inReais } from '../lib/money.ts'
import type { DiscrepancyView } from '../operator/discrepancies.ts'
import type { Proposal, Side } from '../reconciliation/classes.ts'
import { discrepancyClassLabels } from '../reconciliation/discrepancy-class-labels.ts'

/** A discrepancy as a line of a table. */
export function toDiscrepancyLine(row: DiscrepancyView) {
  return {
    id: row.id,
    class: row.class,
    reference: row.reference,
    'at acquirer': sideInWords(row.atAcquirer, row.inLedger),
    'in ledger': sideInWords(row.inLedger, row.atAcquirer),
    proposal: proposalInWords(row.proposal, row.subject),
    state: row.state,
  }
}

/** All about one discrepancy. */
export function toShownDiscrepancy(row: DiscrepancyView) {
  const [, meaning] = discrepancyClassLabels.en[row.class]
  return {
    id: row.id,
    class: `${row.class}: ${meaning}`,
    acquirer: row.acquirer,
    reference: row.reference,
    at: row.at,
    'at acquirer': sideInWords(row.atAcquirer, null),
    'in ledger': sideInWords(row.inLedger, null),
    ...(row.atAcquirer?.raw !== undefined && { raw: row.atAcquirer.raw }),
    record: row.record?.id,
    client: row.client?.clientId,
    proposal: proposalInWords(row.proposal, row.subject),
    state: row.state,
    'found at': row.foundAt,
    ...(row.decidedAt && { 'decided at': row.decidedAt, by: row.decidedBy ?? 'Guichê', reason: row.reason }),
  }
}

/**
 * One side of a discrepancy. If its amount is that of `other`, it leaves the amount out where there is a fee, and shows
 * the time of posting where there is one.
 */
function sideInWords(side: Side | null, other: Side | null): string {
  if (!side) return 'nothing'
  const { amount, at, state, fee, postedAt, med, rawSha256 } = side
  if (rawSha256 !== undefined) return `unreadable ${toMinute(at)}`
  const isAlike = other !== null && other.amount === amount
  const parts = [
    isAlike && fee !== undefined ? '' : inReais(amount),
    state ?? '',
    fee === undefined ? '' : `fee ${inReais(fee)}`,
    med === undefined ? '' : `${inReais(med)} of it disputed (MED)`,
    postedAt !== undefined && isAlike ? `posted ${toMinute(postedAt)}` : toMinute(at),
  ]
  return parts.filter((part) => part !== '').join(' ')
}

function toMinute(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')}Z`
}

const accountNames = { merchant: 'the merchant', house: "the operator's own account" }

function proposalInWords(proposal: Proposal, subject: string): string {
  switch (proposal.action) {
    case 'none':
      return 'none: resolves over time'
    case 'investigate':
      return 'investigate, then dismiss'
    case 'settle':
      return subject === 'payment' ? 'settle it now' : 'query the acquirer and post the result'
    case 'suspend':
      return proposal.kind === 'duplicate' ? 'place it in suspense and return it' : 'place it in suspense'
    case 'correct':
      return `correct ${accountNames[proposal.account]} by ${inReais(proposal.cents)}`
  }
}
