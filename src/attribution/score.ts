import { toSearchText } from '../lib/text.ts'
import type { SuspenseRow } from '../suspense/store.ts'
import type { CandidateRow } from './store.ts'

/**
 * Points for each match between payment and charge. `alive` and `expired` exclude each other, so 100 is the maximum.
 * docs/suspense.md shows the same table.
 */
const points = {
  /** Without it a charge is no candidate. */
  amount: 30,
  document: 45,
  name: 10,
  /** The code was valid when it was paid. */
  alive: 15,
  /** The code had expired within the day before. */
  expired: 5,
}

/** The payer's bank may have started the payment before the code expired, and clocks differ. */
const graceMs = 5 * 60_000
const dayMs = 24 * 60 * 60_000

/** If the second candidate is closer to the best one than this, the case is unclear. */
const marginMin = 20

export const evidenceNames = Object.keys(points) as (keyof typeof points)[]

/** One match between payment and charge. */
export type Evidence = { what: keyof typeof points; points: number }

export const phrases: Record<Evidence['what'], string> = {
  amount: 'same amount',
  document: "payer's document is the customer's",
  name: "payer's name is the customer's",
  alive: 'code was valid when it was paid',
  expired: 'code had expired within the day before',
}

export type Candidate = CandidateRow & {
  /** 0 to 100. */
  score: number
  evidence: Evidence[]
}

/** The charges that an unattributed payment may belong to, the most likely first. */
export function rank(payment: SuspenseRow, rows: CandidateRow[]): Candidate[] {
  return rows
    .map((row) => score(payment, row))
    .toSorted((a, b) => b.score - a.score || b.created_at.getTime() - a.created_at.getTime())
}

/** The best candidate if it is likely enough and no other one is nearly as likely. */
export function findClear(candidates: Candidate[], threshold: number): Candidate | null {
  const [best, second] = candidates
  if (!best || best.score < threshold) return null
  return second && best.score - second.score < marginMin ? null : best
}

function score({ payer, paid_at: paidAt }: SuspenseRow, row: CandidateRow): Candidate {
  const found: Evidence['what'][] = ['amount']
  if (payer && row.customer_document !== null && toBare(payer.document) === toBare(row.customer_document))
    found.push('document')
  if (payer && row.customer_search_name !== null && toSearchText(payer.name) === row.customer_search_name)
    found.push('name')
  const lateMs = paidAt.getTime() - row.pix_expires_at.getTime()
  if (lateMs <= graceMs) found.push('alive')
  else if (lateMs <= dayMs) found.push('expired')
  return {
    ...row,
    score: found.reduce((sum, what) => sum + points[what], 0),
    evidence: found.map((what) => ({ what, points: points[what] })),
  }
}

function toBare(document: string): string {
  return document.replace(/[^\da-z]/gi, '').toUpperCase()
}
