import type { Db, Tx } from '../db/sql.ts'
import { type FeeOperation, type FeeRule, findFeeRules } from './store.ts'

type Charged = { merchantId: string; amount: number }

/** The fee for an operation by the rule that counts at this moment, in cents; 0 where there is no rule. */
export async function feeFor(
  db: Db | Tx,
  { operation, now, ...charged }: Charged & { operation: FeeOperation; now: Date },
): Promise<number> {
  const [fee = 0] = await feesFor(db, { operation, now, charged: [charged] })
  return fee
}

/** The same for many, each by its merchant's rule, in their order. */
export async function feesFor(
  db: Db | Tx,
  { operation, now, charged }: { operation: FeeOperation; now: Date; charged: Charged[] },
): Promise<number[]> {
  const merchantIds = [...new Set(charged.map(({ merchantId }) => merchantId))]
  const rules = await findFeeRules(db, merchantIds, operation, now)
  return charged.map(({ merchantId, amount }) => {
    const rule = rules.get(merchantId)
    return rule ? computeFee(rule, amount) : 0
  })
}

/** Fixed part plus basis points of the amount, rounded half up to a cent, within minimum and maximum. */
export function computeFee(rule: FeeRule, amount: number): number {
  const share = Math.floor((amount * rule.basis_points + 5_000) / 10_000)
  const fee = Math.max(rule.minimum, rule.fixed + share)
  return rule.maximum === null ? fee : Math.min(rule.maximum, fee)
}
