import type { RefundInput } from '../../src/transactions/refund/schema.ts'
import type { CreateTransactionInput } from '../../src/transactions/schema.ts'
import type { CreateWithdrawalInput } from '../../src/withdrawals/schema.ts'

/** A request under an idempotency key, stored so that it can be sent again. */
export type Requested = { merchantId: string; id: string | null } & (
  | { kind: 'transaction'; input: CreateTransactionInput }
  | { kind: 'refund'; transactionId: string; input: RefundInput }
  | { kind: 'withdrawal'; input: CreateWithdrawalInput }
)

export type Operation = 'transaction' | 'refund' | 'withdrawal'
export type Rule = {
  merchantId: string
  operation: Operation
  from: Date
  fixed: number
  points: number
  minimum: number
  maximum: number
  /** Of refunds: true if the payment's fee is returned with them. */
  returns: boolean
}

/**
 * How one manual entry of the operator (src/entries) changes the accounts of a merchant or of the operator. `clearing`
 * is the money at the bank, `debt` what the merchant owes. Only manual entries are recorded here.
 */
export type Entered = { merchantId: string; clearing: number; fees: number; debt: number }

/** What the model knows itself. Nothing of it is read from the service's tables. */
export type Memory = {
  requested: Requested[]
  rules: Rule[]
  /** Withdrawals that are not pending review, according to the model: only these may be at the bank. */
  mayBeSent: Set<string>
  isFrozen: boolean
  /** How many payouts and refunds the bank had accepted when payouts were frozen. */
  sentBeforeFreeze: number
  /** The changes by all of the operator's entries so far. */
  entered: Entered[]
  /** Each history as it was when last read. */
  histories: Map<string, string[]>
  /**
   * How many times each step found something to do, by its name. Steps that ran concurrently with others do not count.
   */
  effectiveRuns: Map<string, number>
  /** What was done, in order. */
  trail: string[]
}

export function createMemory(): Memory {
  return {
    requested: [],
    rules: [],
    mayBeSent: new Set(),
    isFrozen: false,
    sentBeforeFreeze: 0,
    entered: [],
    histories: new Map(),
    effectiveRuns: new Map(),
    trail: [],
  }
}

/** The fee by the model's own rules at a time: fixed part and share, rounded half up, within minimum and maximum. */
export function feeBy(rules: Rule[], merchantId: string, operation: Operation, amount: number, at: Date): number {
  const rule = ruleAt(rules, merchantId, operation, at)
  if (!rule) return 0
  const share = (BigInt(amount) * BigInt(rule.points) * 2n + 10_000n) / 20_000n
  return Math.min(rule.maximum, Math.max(rule.minimum, rule.fixed + Number(share)))
}

/**
 * The part of a payment's fee that a refund returns. The part that all refunds so far return is rounded down to whole
 * cents; this refund returns the difference to the refunds before it.
 */
export function feeReturnedBy(
  rules: Rule[],
  payment: { merchant_id: string; amount_paid: number | null; fee_amount: number | null },
  { amount, before, at }: { amount: number; before: number; at: Date },
): number {
  if (ruleAt(rules, payment.merchant_id, 'refund', at)?.returns !== true || !payment.amount_paid) return 0
  const [whole, fee] = [BigInt(payment.amount_paid), BigInt(payment.fee_amount ?? 0)]
  return Number((fee * BigInt(before + amount)) / whole - (fee * BigInt(before)) / whole)
}

function ruleAt(rules: Rule[], merchantId: string, operation: Operation, at: Date): Rule | undefined {
  return rules.filter((one) => one.merchantId === merchantId && one.operation === operation && one.from <= at).at(-1)
}
