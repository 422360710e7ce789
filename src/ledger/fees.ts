import type { Db, Tx } from '../db/sql.ts'
import { type FeeOperation, type FeeRule, findFeeRule } from './store.ts'

/** The fee for an operation by the rule that counts at this moment, in cents; 0 where there is no rule. */
export async function feeFor(
  db: Db | Tx,
  { merchantId, operation, amount, now }: { merchantId: string; operation: FeeOperation; amount: number; now: Date },
): Promise<number> {
  const rule = await findFeeRule(db, merchantId, operation, now)
  return rule ? computeFee(rule, amount) : 0
}

/** Fixed part plus basis points of the amount, rounded half up to a cent, within minimum and maximum. */
export function computeFee(rule: FeeRule, amount: number): number {
  const share = Math.floor((amount * rule.basis_points + 5_000) / 10_000)
  const fee = Math.max(rule.minimum, rule.fixed + share)
  return rule.maximum === null ? fee : Math.min(rule.maximum, fee)
}
