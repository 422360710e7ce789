import { inReais } from '../lib/money.ts'
import { classes, type Proposal, type Side } from '../reconciliation/classes.ts'
import type { DifferenceRow } from '../reconciliation/store.ts'
import { toPlain } from './print.ts'

/** A discrepancy as `--json` prints it. */
export function toDifferenceView(row: DifferenceRow) {
  return {
    id: row.id,
    acquirer: row.acquirer,
    class: row.class,
    subject: row.subject,
    reference: row.reference,
    at: row.at,
    there: row.there,
    here: row.here,
    proposal: row.proposal,
    state: row.state,
    merchantId: row.merchant_id,
    recordId: row.record_id,
    foundAt: row.found_at,
    decidedAt: row.decided_at,
    decidedBy: row.decided_by,
    reason: row.reason,
  }
}

/** A discrepancy as a line of a table. */
export function toDifferenceLine(row: DifferenceRow) {
  return {
    id: row.id,
    class: row.class,
    reference: toPlain(row.reference),
    there: sideInWords(row.there, row.here),
    here: sideInWords(row.here, row.there),
    proposal: proposalInWords(row.proposal, row.subject),
    state: row.state,
  }
}

/** All about one discrepancy. */
export function toShownDifference(row: DifferenceRow) {
  return {
    id: row.id,
    class: `${row.class}: ${classes[row.class]}`,
    acquirer: row.acquirer,
    reference: toPlain(row.reference),
    at: row.at,
    there: sideInWords(row.there, null),
    here: sideInWords(row.here, null),
    ...(row.there?.raw !== undefined && { raw: toPlain(row.there.raw) }),
    record: row.record_id,
    merchant: row.merchant_id,
    proposal: proposalInWords(row.proposal, row.subject),
    state: row.state,
    'found at': row.found_at,
    ...(row.decided_at && { 'decided at': row.decided_at, by: row.decided_by ?? 'itself', reason: row.reason }),
  }
}

/** One side of a discrepancy. Of what both sides have, only the parts that differ. */
function sideInWords(side: Side | null, other: Side | null): string {
  if (!side) return 'nothing'
  const { amount, at, state, fee, bookedAt, med, raw } = side
  if (raw !== undefined) return `unreadable ${toMinute(at)}`
  const isAlike = other !== null && other.amount === amount
  const parts = [
    isAlike && fee !== undefined ? '' : inReais(amount),
    state ?? '',
    fee === undefined ? '' : `fee ${inReais(fee)}`,
    med === undefined ? '' : `${inReais(med)} of it disputed (MED)`,
    bookedAt !== undefined && isAlike ? `posted ${toMinute(bookedAt)}` : toMinute(at),
  ]
  return parts.filter((part) => part !== '').join(' ')
}

function toMinute(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')}Z`
}

function proposalInWords(proposal: Proposal, subject: string): string {
  switch (proposal.action) {
    case 'none':
      return 'none: resolves over time'
    case 'look':
      return 'investigate, then dismiss'
    case 'settle':
      return subject === 'payment' ? 'settle it now' : 'query the acquirer and post the result'
    case 'hold':
      return proposal.kind === 'surplus' ? 'place it in suspense and return it' : 'place it in suspense'
    case 'correct':
      return `correct the ${proposal.account} by ${inReais(proposal.cents)}`
  }
}
