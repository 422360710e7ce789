import { toSearchText } from '../lib/text.ts'
import type { SuspenseRow } from '../suspense/store.ts'
import type { CandidateRow } from './store.ts'

/** What speaks for a charge, in points; all of it together is 100. docs/suspense.md shows the same for people. */
const points = {
  /** Without it a charge is no candidate. */
  amount: 30,
  document: 45,
  name: 10,
  /** Its code was good when it was paid. */
  alive: 15,
  /** Its code had expired within the day before. */
  expired: 5,
}

/** A payer's bank may have begun before the code expired, and clocks differ. */
const graceMs = 5 * 60_000
const dayMs = 24 * 60 * 60_000

/** A second candidate that is nearer to the best one than this makes the case unclear. */
const marginMin = 20

export type Candidate = CandidateRow & {
  /** 0 to 100. */
  score: number
  /** What the score is made of, each a phrase with its points. */
  reasons: string[]
}

/** The charges that an orphan may have been meant for, the likeliest first. */
export function rank(orphan: SuspenseRow, rows: CandidateRow[]): Candidate[] {
  return rows
    .map((row) => score(orphan, row))
    .toSorted((a, b) => b.score - a.score || b.created_at.getTime() - a.created_at.getTime())
}

/** The one that is likely enough, unless another one is nearly as likely. */
export function findClear(candidates: Candidate[], threshold: number): Candidate | null {
  const [best, second] = candidates
  if (!best || best.score < threshold) return null
  return second && best.score - second.score < marginMin ? null : best
}

function score({ payer, paid_at: paidAt }: SuspenseRow, row: CandidateRow): Candidate {
  const evidence: [points: number, reason: string][] = [[points.amount, 'same amount']]
  if (payer && row.customer_document !== null && toBare(payer.document) === toBare(row.customer_document))
    evidence.push([points.document, "payer's document is the customer's"])
  if (payer && row.customer_search_name !== null && toSearchText(payer.name) === row.customer_search_name)
    evidence.push([points.name, "payer's name is the customer's"])
  const lateMs = paidAt.getTime() - row.pix_expires_at.getTime()
  if (lateMs <= graceMs) evidence.push([points.alive, 'code was good when it was paid'])
  else if (lateMs <= dayMs) evidence.push([points.expired, 'code had expired within the day before'])
  return {
    ...row,
    score: evidence.reduce((sum, [worth]) => sum + worth, 0),
    reasons: evidence.map(([worth, reason]) => `${reason} (${worth})`),
  }
}

function toBare(document: string): string {
  return document.replace(/[^\da-z]/gi, '').toUpperCase()
}
