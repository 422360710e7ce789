import type { By } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { computeFee, setFeeRule } from '../ledger/fees.ts'
import { type ListedFeeRule, listFeeRules } from '../ledger/operator-store.ts'
import type { FeeOperation } from '../ledger/store.ts'
import type { Clock } from '../lib/clock.ts'
import { invalidField } from '../lib/errors.ts'

/** The amounts for which a fee is shown as an example, in cents. */
const examples = [1_000, 10_000, 100_000]

type Deps = { db: Db; clock: Clock }
type Fee = { fixed: number; basisPoints: number; minimum: number; maximum: number | null; returnsPaymentFee?: boolean }

/** The fee rules of all merchants or of one: those in force, or all that ever were. */
export async function listFees(
  { db, clock }: Deps,
  which: { merchantId: string | null; isAll: boolean },
): Promise<FeeView[]> {
  return (await listFeeRules(db, { ...which, now: clock.now() })).map(toFeeView)
}

/**
 * Sets a merchant's rule for one operation from now on. Returns its rules in force.
 *
 * @param validFrom that of the rule that the person has read, as in `setFeeRule`
 * @throws {AppError} `validation_failed`; `change_not_possible` as `setFeeRule`
 */
export async function setFee(
  deps: Deps,
  {
    merchantId,
    operation,
    validFrom,
    by,
    ...fee
  }: Fee & { merchantId: string; operation: FeeOperation; validFrom?: string | null; by: By },
): Promise<FeeView[]> {
  const { fixed, basisPoints, minimum, maximum, returnsPaymentFee = false } = fee
  if (returnsPaymentFee && operation !== 'refund')
    throw invalidField('returnsPaymentFee', 'invalid', 'applies to the fee of refunds only')
  if (maximum !== null && maximum < minimum) throw invalidField('maximum', 'invalid', 'must not be below the minimum')
  const rule = { fixed, basis_points: basisPoints, minimum, maximum, returns_payment_fee: returnsPaymentFee }
  await setFeeRule(deps, { merchantId, operation, rule, validFrom, by })
  return await listFees(deps, { merchantId, isAll: false })
}

export type FeeView = ReturnType<typeof toFeeView>

function toFeeView(rule: ListedFeeRule) {
  return {
    clientId: rule.client_id,
    operation: rule.operation,
    fixed: rule.fixed,
    basisPoints: rule.basis_points,
    minimum: rule.minimum,
    maximum: rule.maximum,
    returnsPaymentFee: rule.returns_payment_fee,
    validFrom: rule.valid_from.toISOString(),
    isInForce: rule.in_force,
    examples: examples.map((amount) => ({ amount, fee: computeFee(rule, amount) })),
  }
}
