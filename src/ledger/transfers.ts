import type { Balances } from './accounts.ts'
import { type Transfer, upTo } from './post.ts'

/**
 * The transfers of each business event: the one table of what money does. docs/ledger.md shows the same for people.
 * Each is a function of the balances under the lock, where a part depends on what is there.
 */

/** A payment arrived: the merchant's, less the fee; what it owes is filled first. The fee is never more than the payment. */
export function paid(amount: number, fee: number) {
  return (balances: Balances): Transfer[] => [
    { kind: 'payment', debit: 'acquirer', credit: 'available', amount },
    { kind: 'fee', debit: 'available', credit: 'fees', amount: fee },
    repayDebt(balances, amount - fee),
  ]
}

/** Something is to leave: amount and fee are set aside at once. */
export function reserved(kind: 'refund_reserved' | 'withdrawal_reserved', amount: number, fee: number) {
  return (): Transfer[] => [{ kind, debit: 'available', credit: 'reserved', amount: amount + fee }]
}

/**
 * A refund is to leave, and the payment's fee comes back with it: from the fees that the merchant has paid, and `rest`, where those were drawn, from the
 * operator's other money ({@link feeReturnedByHouse}).
 */
export function refundReserved(amount: number, fee: number, feeReturned: number, onRest: (rest: number) => void) {
  return ({ fees }: Balances): Transfer[] => {
    const own = upTo(fees, feeReturned)
    onRest(feeReturned - own)
    return [
      { kind: 'fee_returned', debit: 'fees', credit: 'available', amount: own },
      { kind: 'fee_returned', debit: 'acquirer', credit: 'available', amount: feeReturned - own },
      ...reserved('refund_reserved', amount, fee)(),
    ]
  }
}

/** What of a returned fee the operator's own merchant pays: from its fees, and what is beyond them is its loss. */
export function feeReturnedByHouse(amount: () => number) {
  return ({ fees }: Balances): Transfer[] => {
    const own = upTo(fees, amount())
    return [
      { kind: 'fee_returned', debit: 'fees', credit: 'acquirer', amount: own },
      { kind: 'fee_returned', debit: 'debt', credit: 'acquirer', amount: amount() - own },
    ]
  }
}

/** It has left for certain. */
export function sent(kind: 'refund_sent' | 'withdrawal_sent', amount: number, fee: number) {
  return (): Transfer[] => [
    { kind, debit: 'reserved', credit: 'acquirer', amount },
    { kind: 'fee', debit: 'reserved', credit: 'fees', amount: fee },
  ]
}

/**
 * It is certain that nothing left: amount and fee are given back, and the payment's fee that came back with a refund is taken again; what the merchant owes
 * is filled first.
 */
export function released(
  kind: 'refund_released' | 'withdrawal_released',
  amount: number,
  fee: number,
  feeReturned: number = 0,
) {
  return (balances: Balances): Transfer[] => [
    { kind, debit: 'reserved', credit: 'available', amount: amount + fee },
    { kind: 'fee_return_reversed', debit: 'available', credit: 'fees', amount: feeReturned },
    repayDebt(balances, amount + fee - feeReturned),
  ]
}

/** The receiver of a withdrawal sent it back. The fee stays. */
export function returned(amount: number) {
  return (balances: Balances): Transfer[] => [
    { kind: 'withdrawal_returned', debit: 'acquirer', credit: 'available', amount },
    repayDebt(balances, amount),
  ]
}

/** A payment is contested: as much as is there is blocked, the rest is a debt. */
export function contested(amount: number) {
  return (balances: Balances): Transfer[] => {
    const there = upTo(balances.available, amount)
    return [
      { kind: 'infraction_blocked', debit: 'available', credit: 'blocked', amount: there },
      { kind: 'infraction_blocked', debit: 'debt', credit: 'blocked', amount: amount - there },
    ]
  }
}

/** The contest was accepted and the money went back to the payer. */
export function infractionReturned(amount: number) {
  return (): Transfer[] => [{ kind: 'infraction_returned', debit: 'blocked', credit: 'acquirer', amount }]
}

/** The contest was rejected or withdrawn: what was a debt is none any more, the rest is the merchant's again. */
export function infractionReleased(amount: number) {
  return (balances: Balances): Transfer[] => {
    const owed = upTo(-balances.debt, amount)
    return [
      { kind: 'infraction_released', debit: 'blocked', credit: 'debt', amount: owed },
      { kind: 'infraction_released', debit: 'blocked', credit: 'available', amount: amount - owed },
    ]
  }
}

/** The acquirer returned a payment under MED without a word before: it is gone, from what is there or as a debt. */
export function returnedUnannounced(amount: number) {
  return (balances: Balances): Transfer[] => {
    const there = upTo(balances.available, amount)
    return [
      { kind: 'infraction_returned', debit: 'available', credit: 'acquirer', amount: there },
      { kind: 'infraction_returned', debit: 'debt', credit: 'acquirer', amount: amount - there },
    ]
  }
}

/** A payment arrived and is not known for what. */
export function held(amount: number) {
  return (): Transfer[] => [{ kind: 'payment_held', debit: 'acquirer', credit: 'suspense', amount }]
}

/** What was held went back to the payer. */
export function heldReturned(amount: number) {
  return (): Transfer[] => [{ kind: 'held_returned', debit: 'suspense', credit: 'acquirer', amount }]
}

/** It is known now what it was for: in the same commit it arrives there ({@link paid}). */
export function heldMatched(amount: number) {
  return (): Transfer[] => [{ kind: 'held_matched', debit: 'suspense', credit: 'acquirer', amount }]
}

/** The match was wrong: it is held again, and {@link paidUndone} takes it from where it was. */
export function heldAgain(amount: number) {
  return (): Transfer[] => [{ kind: 'match_undone', debit: 'acquirer', credit: 'suspense', amount }]
}

/**
 * The payment was not for this transaction: the fee comes back, as in {@link refundReserved}, and the amount goes from what is available or as a
 * debt.
 */
export function paidUndone(amount: number, fee: number, onRest: (rest: number) => void) {
  return (balances: Balances): Transfer[] => {
    const own = upTo(balances.fees, fee)
    onRest(fee - own)
    const there = upTo(balances.available + fee, amount)
    return [
      { kind: 'match_undone', debit: 'fees', credit: 'available', amount: own },
      { kind: 'fee_returned', debit: 'acquirer', credit: 'available', amount: fee - own },
      { kind: 'match_undone', debit: 'available', credit: 'acquirer', amount: there },
      { kind: 'match_undone', debit: 'debt', credit: 'acquirer', amount: amount - there },
    ]
  }
}

/** What the acquirer holds of a merchant is more than was booked, or less: a difference that an operator has confirmed. */
export function corrected(change: number) {
  return (balances: Balances): Transfer[] => {
    if (change > 0)
      return [
        { kind: 'correction', debit: 'acquirer', credit: 'available', amount: change },
        repayDebt(balances, change),
      ]
    const there = upTo(balances.available, -change)
    return [
      { kind: 'correction', debit: 'available', credit: 'acquirer', amount: there },
      { kind: 'correction', debit: 'debt', credit: 'acquirer', amount: -change - there },
    ]
  }
}

/** The same where it is the operator's own gain or loss: of what the house has earned, and a loss beyond that is owed. */
export function correctedOfHouse(change: number) {
  return ({ fees, debt }: Balances): Transfer[] => {
    const owed = change > 0 ? upTo(-debt, change) : -change - upTo(fees, -change)
    const correction = (account: 'debt' | 'fees', amount: number): Transfer =>
      change > 0
        ? { kind: 'correction', debit: 'acquirer', credit: account, amount }
        : { kind: 'correction', debit: account, credit: 'acquirer', amount }
    return [correction('debt', owed), correction('fees', Math.abs(change) - owed)]
  }
}

/** Money that was paid in from outside, without a fee: what the merchant owes is filled first. */
export function paidIn(amount: number) {
  return (balances: Balances): Transfer[] => [
    { kind: 'pay_in', debit: 'acquirer', credit: 'available', amount },
    repayDebt(balances, amount),
  ]
}

/** The same where it is the operator's own money: a loss of the house is filled first, the rest is with its fees. */
export function paidInByHouse(amount: number) {
  return ({ debt }: Balances): Transfer[] => {
    const owed = upTo(-debt, amount)
    return [
      { kind: 'pay_in', debit: 'acquirer', credit: 'debt', amount: owed },
      { kind: 'pay_in', debit: 'acquirer', credit: 'fees', amount: amount - owed },
    ]
  }
}

/** What a merchant owes is forgiven: from the fees that it has paid, and `rest` from the operator's other money, which is paid in for it. */
export function writtenOff(amount: number, onRest: (rest: number) => void) {
  return ({ fees }: Balances): Transfer[] => {
    const own = upTo(fees, amount)
    onRest(amount - own)
    return [
      { kind: 'debt_written_off', debit: 'fees', credit: 'debt', amount: own },
      { kind: 'debt_written_off', debit: 'acquirer', credit: 'debt', amount: amount - own },
    ]
  }
}

function repayDebt(balances: Balances, amount: number): Transfer {
  return { kind: 'debt_repaid', debit: 'available', credit: 'debt', amount: upTo(-balances.debt, amount) }
}
