import type { TransferKind } from '../ledger/accounts.ts'
import type { Window } from '../lib/brasilia.ts'
import { brasilia } from '../lib/brasilia.ts'
import { type Proposal, type Side, withoutRaw } from './classes.ts'
import type { DatedPayments, Moved, TransfersHash } from './close-store.ts'
import type { Listing } from './pairs-store.ts'
import type { DiscrepancyRow } from './store.ts'

export type Amount = { count: number; sum: number }

/** The day of an acquirer in the ledger, by the time of posting. In cents. */
export type LedgerSide = {
  opening: number
  in: Amount
  returned: Amount
  paidOut: Amount
  /** Payouts that their receivers sent back. */
  payoutsReturned: Amount
  corrections: Amount
  closing: number
}

/** The same in the acquirer's lists, by its own time. `fees` is null where it does not report them. */
export type AcquirerSide = {
  opening: number
  in: Amount
  returned: Amount
  paidOut: Amount
  fees: number | null
  closing: number
}

export type StatementDiscrepancy = {
  id: string
  class: string
  reference: string
  at: string
  atAcquirer: Side | null
  inLedger: Side | null
  proposal: Proposal
  state: string
  decidedBy: string | null
  reason: string | null
}

/** The signed content about a day. */
export type Content = {
  type: 'guiche-day-statement'
  acquirer: string
  day: string
  timeZone: string
  from: string
  to: string
  ledgerSide: LedgerSide
  acquirerSide: AcquirerSide
  /** Payments that the acquirer dates on this day and the ledger has by now, whenever they were posted. */
  dated: Amount
  /**
   * Over all the ledger's transfers of the day, of all merchants and acquirers. Null: it was closed too soon after the
   * day's end.
   */
  transfers: TransfersHash | null
  differences: StatementDiscrepancy[]
}

export type Statement = Content & {
  version: number
  signedAt: string
  /** The previous version, and the statement of the previous day, by the SHA-256 of their JWS. */
  former: { version: number; sha256: string } | null
  dayBefore: { day: string; version: number; sha256: string } | null
  /** The changes since the previous version; null in the first. */
  changes: Changes | null
  /**
   * The newest entry of the audit log at the signing: its number, and the hash over it and all before it. Null: there
   * was none.
   */
  audit: { position: number; sha256: string } | null
}

export type Changes = {
  /** Payments of the day that were posted since. */
  postedSince: Amount
  totals: { name: string; before: number | null; after: number | null }[]
  differences: { id: string; class: string; reference: string; before: string | null; after: string | null }[]
}

type Input = {
  acquirer: string
  day: string
  window: Window
  moved: Moved[]
  /** By the ledger and by the acquirer, before the day. */
  opening: { ledger: number; acquirer: number }
  totals: Listing[]
  dated: DatedPayments
  transfers: TransfersHash | null
  differences: DiscrepancyRow[]
}

export function toContent({
  acquirer,
  day,
  window,
  moved,
  opening,
  totals,
  dated,
  transfers,
  differences,
}: Input): Content {
  return {
    type: 'guiche-day-statement',
    acquirer,
    day,
    timeZone: brasilia,
    from: window.from.toISOString(),
    to: window.to.toISOString(),
    ledgerSide: toLedgerSide(moved, opening.ledger),
    acquirerSide: toAcquirerSide(totals, opening.acquirer),
    dated: { count: dated.count, sum: dated.sum },
    transfers,
    differences: differences.map(toStatementDiscrepancy),
  }
}

/**
 * The part of a statement that each kind of transfer counts in; null for those that do not change the account
 * `acquirer`.
 */
const partOf: Record<TransferKind, 'in' | 'returned' | 'paidOut' | 'payoutsReturned' | 'corrections' | null> = {
  payment: 'in',
  payment_held: 'in',
  held_matched: 'in',
  match_undone: 'in',
  refund_sent: 'returned',
  infraction_returned: 'returned',
  held_returned: 'returned',
  withdrawal_sent: 'paidOut',
  fees_drawn: 'paidOut',
  moved_out: 'paidOut',
  withdrawal_returned: 'payoutsReturned',
  correction: 'corrections',
  // The operator's entries, and returned fees that the operator pays: they have no other side in the acquirer's lists.
  pay_in: 'corrections',
  debt_written_off: 'corrections',
  fee_returned: 'corrections',
  psp_fee: 'corrections',
  manual: 'corrections',
  moved_in: 'corrections',
  fee: null,
  fee_return_reversed: null,
  debt_repaid: null,
  refund_reserved: null,
  refund_released: null,
  infraction_blocked: null,
  infraction_released: null,
  withdrawal_reserved: null,
  withdrawal_released: null,
}
/**
 * An attribution has two transfers, out of suspense and in as a payment, and so has its reversal. The payment arrived
 * once.
 */
const countedAs: Partial<Record<TransferKind, number>> = { held_matched: -1, match_undone: 0 }

/** The transfers of the account `acquirer`, as a statement names them. */
function toLedgerSide(moved: Moved[], opening: number): LedgerSide {
  const amountOf = (part: (typeof partOf)[TransferKind]): Amount => {
    const some = moved.filter(({ kind }) => partOf[kind] === part)
    return {
      count: sum(some.map(({ kind, count }) => count * (countedAs[kind] ?? 1))),
      sum: sum(some.map(({ change }) => change)),
    }
  }
  return {
    opening,
    in: amountOf('in'),
    returned: negated(amountOf('returned')),
    paidOut: negated(amountOf('paidOut')),
    payoutsReturned: amountOf('payoutsReturned'),
    corrections: amountOf('corrections'),
    closing: opening + sum(moved.map(({ change }) => change)),
  }
}

function toAcquirerSide(totals: Listing[], opening: number): AcquirerSide {
  const amountOf = (subject: string): Amount => {
    const found = totals.find((one) => one.subject === subject)
    return { count: found?.count ?? 0, sum: found?.sum ?? 0 }
  }
  const reported = totals.flatMap(({ fees }) => (fees === null ? [] : [fees]))
  const fees = reported.length === 0 ? null : sum(reported)
  const [arrived, returned, paidOut] = [amountOf('payment'), amountOf('return'), amountOf('payout')]
  const closing = opening + arrived.sum - returned.sum - paidOut.sum - (fees ?? 0)
  return { opening, in: arrived, returned, paidOut, fees, closing }
}

function toStatementDiscrepancy(row: DiscrepancyRow): StatementDiscrepancy {
  return {
    id: row.id,
    class: row.class,
    reference: row.reference,
    at: row.at.toISOString(),
    atAcquirer: withoutRaw(row.at_acquirer),
    inLedger: row.in_ledger,
    proposal: row.proposal,
    state: row.state,
    decidedBy: row.decided_by,
    reason: row.reason,
  }
}

/** The changes since a signed version. */
export function changesSince(former: Content, now: Content, postedSince: Amount): Changes {
  const before = new Map(former.differences.map((one) => [one.id, one]))
  const after = new Map(now.differences.map((one) => [one.id, one]))
  const ids = [...new Set([...before.keys(), ...after.keys()])]
  return {
    postedSince,
    totals: differingTotals(former, now),
    differences: ids.flatMap((id) => {
      const [then, one] = [before.get(id), after.get(id)]
      const named = one ?? then
      if (!named || then?.state === one?.state) return []
      const { class: name, reference } = named
      return [{ id, class: name, reference, before: then?.state ?? null, after: one?.state ?? null }]
    }),
  }
}

function differingTotals(former: Content, now: Content): Changes['totals'] {
  const before = new Map(totalsOf(former))
  return totalsOf(now).flatMap(([name, after]) => {
    const then = before.get(name) ?? null
    return then === after ? [] : [{ name, before: then, after }]
  })
}

function totalsOf({ ledgerSide, acquirerSide, dated }: Content): [string, number | null][] {
  return [
    ...flatten('ledger', ledgerSide),
    ...flatten('acquirer', acquirerSide),
    ['dated.count', dated.count],
    ['dated.sum', dated.sum],
  ]
}

function flatten(prefix: string, side: Record<string, Amount | number | null>): [string, number | null][] {
  return Object.entries(side).flatMap(([name, value]): [string, number | null][] =>
    typeof value === 'object' && value !== null
      ? [
          [`${prefix}.${name}.count`, value.count],
          [`${prefix}.${name}.sum`, value.sum],
        ]
      : [[`${prefix}.${name}`, value]],
  )
}

function negated({ count, sum: change }: Amount): Amount {
  return { count, sum: change === 0 ? 0 : -change }
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
