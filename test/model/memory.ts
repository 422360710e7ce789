import type { RefundInput } from '../../src/transactions/refund-schema.ts'
import type { CreateTransactionInput } from '../../src/transactions/schema.ts'
import type { CreateWithdrawalInput } from '../../src/withdrawals/schema.ts'

/** A request under an idempotency key, as it may be sent again. */
export type Asked = { merchantId: string; id: string | null } & (
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
  /** Of refunds: the fee of the payment comes back with them. */
  returns: boolean
}

/** What an entry of the operator changes in the accounts of a merchant: what the bank holds, fees, and of the operator's own what it owes. */
export type Entered = { merchantId: string; held: number; fees: number; debt: number }

/** What the model knows by itself: nothing of it is read from the service's tables. */
export type Memory = {
  asked: Asked[]
  rules: Rule[]
  /** Withdrawals that nothing holds, by what the model did: only these may be at the bank. */
  free: Set<string>
  isStopped: boolean
  /** How much had left the bank when money was stopped. */
  leftWhenStopped: number
  entered: Entered[]
  /** How far each history was when it was last seen. */
  histories: Map<string, string[]>
  /** How often each step was taken alone and found something to do. */
  taken: Map<string, number>
  /** What was done, the last at the end. */
  trail: string[]
}

export function createMemory(): Memory {
  return {
    asked: [],
    rules: [],
    free: new Set(),
    isStopped: false,
    leftWhenStopped: 0,
    entered: [],
    histories: new Map(),
    taken: new Map(),
    trail: [],
  }
}

/** The fee by the rules that the model has set, at a moment: fixed part and share, rounded half up, within minimum and maximum. */
export function feeBy(rules: Rule[], merchantId: string, operation: Operation, amount: number, at: Date): number {
  const rule = ruleAt(rules, merchantId, operation, at)
  if (!rule) return 0
  const share = (BigInt(amount) * BigInt(rule.points) * 2n + 10_000n) / 20_000n
  return Math.min(rule.maximum, Math.max(rule.minimum, rule.fixed + Number(share)))
}

/** What of a payment's fee comes back with a refund, by the same rules: cents that are whole only of the sum of all parts. */
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
