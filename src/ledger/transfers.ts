import type { Balances } from './accounts.ts'
import { type Transfer, upTo } from './post.ts'

/**
 * The transfers of each business event: all movements of money are defined here. docs/ledger.md shows the same table.
 * Each is a function of the balances under the lock, because some parts depend on them.
 */

/**
 * A payment was received: it is the merchant's, minus the fee; a debt is repaid first. The fee is never more than the
 * payment.
 */
export function paid(amount: number, fee: number) {
  return (balances: Balances): Transfer[] => [
    { kind: 'payment', debit: 'acquirer', credit: 'available', amount },
    { kind: 'fee', debit: 'available', credit: 'fees', amount: fee },
    repayDebt(balances, amount - fee),
  ]
}

/** Money is about to be sent: amount and fee are reserved at once. */
export function reserved(kind: 'refund_reserved' | 'withdrawal_reserved', amount: number, fee: number) {
  return (): Transfer[] => [{ kind, debit: 'available', credit: 'reserved', amount: amount + fee }]
}

/**
 * A refund is about to be sent, and the payment's fee is returned with it: first from the fees that the merchant has
 * paid. If the operator has drawn those, the rest comes from the operator’s other money, and `onRest` gets that amount
 * ({@link feeReturnedByOperator}).
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

/**
 * The part of a returned fee that the operator's own merchant pays: from its fees, and anything beyond them is its
 * loss.
 */
export function feeReturnedByOperator(amount: () => number) {
  return ({ fees }: Balances): Transfer[] => {
    const own = upTo(fees, amount())
    return [
      { kind: 'fee_returned', debit: 'fees', credit: 'acquirer', amount: own },
      { kind: 'fee_returned', debit: 'debt', credit: 'acquirer', amount: amount() - own },
    ]
  }
}

/** The money was certainly sent. */
export function sent(kind: 'refund_sent' | 'withdrawal_sent', amount: number, fee: number) {
  return (): Transfer[] => [
    { kind, debit: 'reserved', credit: 'acquirer', amount },
    { kind: 'fee', debit: 'reserved', credit: 'fees', amount: fee },
  ]
}

/**
 * Certainly nothing was sent: amount and fee are released, and the payment's fee that was returned with a refund is
 * charged again; a debt of the merchant is repaid first.
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

/** The receiver of a withdrawal sent it back. The fee stays charged. */
export function returned(amount: number) {
  return (balances: Balances): Transfer[] => [
    { kind: 'withdrawal_returned', debit: 'acquirer', credit: 'available', amount },
    repayDebt(balances, amount),
  ]
}

/** A payment is disputed: the available part is blocked, the rest becomes a debt. */
export function disputed(amount: number) {
  return (balances: Balances): Transfer[] => {
    const fromAvailable = upTo(balances.available, amount)
    return [
      { kind: 'infraction_blocked', debit: 'available', credit: 'blocked', amount: fromAvailable },
      { kind: 'infraction_blocked', debit: 'debt', credit: 'blocked', amount: amount - fromAvailable },
    ]
  }
}

/** The dispute was accepted and the money was returned to the payer. */
export function disputeReturned(amount: number) {
  return (): Transfer[] => [{ kind: 'infraction_returned', debit: 'blocked', credit: 'acquirer', amount }]
}

/** The dispute was rejected or canceled: a debt of the merchant is repaid first, and the rest is available again. */
export function disputeReleased(amount: number) {
  return (balances: Balances): Transfer[] => {
    const owed = upTo(-balances.debt, amount)
    return [
      { kind: 'infraction_released', debit: 'blocked', credit: 'debt', amount: owed },
      { kind: 'infraction_released', debit: 'blocked', credit: 'available', amount: amount - owed },
    ]
  }
}

/**
 * The acquirer returned a payment under MED without announcing it: it is taken from the available balance, or becomes
 * a debt.
 */
export function returnedUnannounced(amount: number) {
  return (balances: Balances): Transfer[] => {
    const fromAvailable = upTo(balances.available, amount)
    return [
      { kind: 'infraction_returned', debit: 'available', credit: 'acquirer', amount: fromAvailable },
      { kind: 'infraction_returned', debit: 'debt', credit: 'acquirer', amount: amount - fromAvailable },
    ]
  }
}

/** A payment was received and cannot be attributed. */
export function placedInSuspense(amount: number) {
  return (): Transfer[] => [{ kind: 'payment_held', debit: 'acquirer', credit: 'suspense', amount }]
}

/** An unattributed payment was sent back to its payer. */
export function returnedFromSuspense(amount: number) {
  return (): Transfer[] => [{ kind: 'held_returned', debit: 'suspense', credit: 'acquirer', amount }]
}

/** An unattributed payment is attributed: in the same commit it is posted for its transaction ({@link paid}). */
export function attributed(amount: number) {
  return (): Transfer[] => [{ kind: 'held_matched', debit: 'suspense', credit: 'acquirer', amount }]
}

/**
 * The attribution was wrong: the payment is in suspense again, and {@link paymentReversed} takes it from its
 * transaction.
 */
export function attributionReversed(amount: number) {
  return (): Transfer[] => [{ kind: 'match_undone', debit: 'acquirer', credit: 'suspense', amount }]
}

/**
 * The payment was not for this transaction: the fee is returned, as in {@link refundReserved}, and the amount is
 * taken from the available balance or becomes a debt.
 */
export function paymentReversed(amount: number, fee: number, onRest: (rest: number) => void) {
  return (balances: Balances): Transfer[] => {
    const own = upTo(balances.fees, fee)
    onRest(fee - own)
    const fromAvailable = upTo(balances.available + fee, amount)
    return [
      { kind: 'match_undone', debit: 'fees', credit: 'available', amount: own },
      { kind: 'fee_returned', debit: 'acquirer', credit: 'available', amount: fee - own },
      { kind: 'match_undone', debit: 'available', credit: 'acquirer', amount: fromAvailable },
      { kind: 'match_undone', debit: 'debt', credit: 'acquirer', amount: amount - fromAvailable },
    ]
  }
}

/** The acquirer holds more or less of a merchant than the ledger says: a discrepancy that an operator has confirmed. */
export function corrected(change: number) {
  return (balances: Balances): Transfer[] => {
    if (change > 0)
      return [
        { kind: 'correction', debit: 'acquirer', credit: 'available', amount: change },
        repayDebt(balances, change),
      ]
    const fromAvailable = upTo(balances.available, -change)
    return [
      { kind: 'correction', debit: 'available', credit: 'acquirer', amount: fromAvailable },
      { kind: 'correction', debit: 'debt', credit: 'acquirer', amount: -change - fromAvailable },
    ]
  }
}

/**
 * The same for the operator's own gain or loss: it changes the fees of the operator's own merchant, and a loss beyond
 * them becomes a debt.
 */
export function correctedOfOperator(change: number) {
  return ({ fees, debt }: Balances): Transfer[] => {
    const owed = change > 0 ? upTo(-debt, change) : -change - upTo(fees, -change)
    const correction = (account: 'debt' | 'fees', amount: number): Transfer =>
      change > 0
        ? { kind: 'correction', debit: 'acquirer', credit: account, amount }
        : { kind: 'correction', debit: account, credit: 'acquirer', amount }
    return [correction('debt', owed), correction('fees', Math.abs(change) - owed)]
  }
}

/** Money paid in from outside, without a fee: a debt of the merchant is repaid first. */
export function paidIn(amount: number) {
  return (balances: Balances): Transfer[] => [
    { kind: 'pay_in', debit: 'acquirer', credit: 'available', amount },
    repayDebt(balances, amount),
  ]
}

/**
 * The same for the operator's own money: a loss of the operator's own merchant is covered first, the rest is added to
 * its fees.
 */
export function paidInByOperator(amount: number) {
  return ({ debt }: Balances): Transfer[] => {
    const owed = upTo(-debt, amount)
    return [
      { kind: 'pay_in', debit: 'acquirer', credit: 'debt', amount: owed },
      { kind: 'pay_in', debit: 'acquirer', credit: 'fees', amount: amount - owed },
    ]
  }
}

/** A merchant's balance leaves for another cell: the operator moves the money between the accounts at the PSPs. */
export function movedOut(amount: number) {
  return (): Transfer[] => [{ kind: 'moved_out', debit: 'available', credit: 'acquirer', amount }]
}

/** A merchant's balance comes from another cell: a debt in this one is repaid first. */
export function movedIn(amount: number) {
  return (balances: Balances): Transfer[] => [
    { kind: 'moved_in', debit: 'acquirer', credit: 'available', amount },
    repayDebt(balances, amount),
  ]
}

/**
 * A debt of a merchant is written off: from the fees that it has paid, and `rest` from the operator's other money,
 * which is paid in for it.
 */
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
